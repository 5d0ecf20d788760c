// Whole-graph training on a vertex cut whose sums arrive r epochs late. Each rank computes every
// vertex that it holds, its own ones and its mirrors, from its own entries of A. In epoch e the
// vertices v with v mod r = e mod r exchange: mirrors send what they have summed up, which their
// owners add in epoch e + r; owners send the total, which replaces the sum of each mirror in epoch
// e + r. All other vertices have the sum of their rank alone, scaled up to the weight of their
// whole row. Gradients stay on their rank, except those of weights.
//
// Received in an epoch, forward only, per layer of width f: f for each travelling mirror of the
// rank's own vertices, and, except in the last layer, f for each of its own travelling mirrors. So
// over r epochs (2·layers − 1)·(RF − 1)·n·f over all ranks, RF the mean number of ranks that have a
// vertex. Memory: 8·f bytes for each mirror and each mirror of an own vertex and layer (half in the
// last one) for what is under way, and 4·(3r + 2) bytes for each vertex that the rank holds.
//
// Source    DistGNN (Md et al. 2021), cd-r: its algorithm as its public code has it (drpa_sym.py
//           of DGL): partial sums leave in an epoch and are added r epochs later, totals arrive
//           after 2r, and the backward pass uses local entries only
// Departs   shares go by vertex, where its code cuts the list of each rank's copies into r pieces,
//           so that the copies of a vertex may be in different ones; totals leave from the first
//           epoch on, though none is used before epoch 2r; the last layer has no totals, because
//           only owners have a loss; evaluation, and what is computed once for all epochs, is exact
#include "core/strategy/vertex_cut_delayed.hpp"

#include <array>
#include <numeric>
#include <optional>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/strategy/product/halo_product.hpp"
#include "core/strategy/product/local_matrix.hpp"
#include "core/strategy/product/rows_products.hpp"

namespace orrery {
namespace {

/// A matrix with ones on its diagonal alone: its values are the factors of rows.
Pattern diagonal(std::int64_t rows, bool counted) {
  if (counted) return Counts{rows, rows, rows, 1};
  auto pattern = std::make_shared<Csr>();
  pattern->rows = pattern->cols = rows;
  pattern->offsets.resize(at(rows + 1));
  pattern->columns.resize(at(rows));
  std::iota(pattern->offsets.begin(), pattern->offsets.end(), 0);
  std::iota(pattern->columns.begin(), pattern->columns.end(), 0);
  return pattern;
}

/// What rows are multiplied by in the epochs of a share, for every row that a rank holds.
class RowFactors {
 public:
  /// Which sums of a share have arrived: none; owners have theirs; mirrors have totals, too. A
  /// mirror's own sum counts for nothing beside the total, but its gradient is that of the total.
  enum class Arrived : std::uint8_t { none, sums, totals, gradients };

  RowFactors(Runtime& rt, const DelayedPart& part)
      : rows_(part.held.size()),
        shares_(static_cast<int>(part.shares.size())),
        values_(rt, {rows_ * (3 * shares_ + 1), 1}, DType::f32, "graph/factors of rows") {
    rt.submit(Lane::copy,
              Load{part.alone ? Source(FloatArray{written(part)}) : Source(Unknown{"values"}),
                   values_.tensor()});
    rt.wait(Lane::compute, rt.record(Lane::copy));
  }
  Tensor of(Arrived arrived, int share) const {
    const int block =
        arrived == Arrived::none ? 0 : 1 + (static_cast<int>(arrived) - 1) * shares_ + share;
    return values_.tensor().rows_at(block * rows_, rows_);
  }

 private:
  /// One block of rows for `none`, then one for each other case and share.
  static std::shared_ptr<const std::vector<float>> written(const DelayedPart& part) {
    auto all = std::make_shared<std::vector<float>>(*part.alone);
    const std::int64_t own = part.part.blocks.own.rows();
    for (const Arrived arrived : {Arrived::sums, Arrived::totals, Arrived::gradients})
      for (const DelayShare& share : part.shares) {
        std::vector<float> factors = *part.alone;
        for (const Vertex row : *share.send_rows.numbers()) factors[at(row)] = 1;
        if (arrived != Arrived::sums)
          for (const Vertex row : *share.mirror_rows.numbers())
            factors[at(own + row)] = arrived == Arrived::totals ? 0.0F : 1.0F;
        all->insert(all->end(), factors.begin(), factors.end());
      }
    return all;
  }
  std::int64_t rows_;
  int shares_;
  Buffer values_;
};

class DelayedProducts final : public RowsProducts {
 public:
  DelayedProducts(Runtime& rt, const DelayedPart& part, bool symmetric, int layers,
                  const StrategyConfig& config)
      : RowsProducts(rt, part.data, part.held),
        part_(part),
        layers_(layers),
        overlap_(config.overlap),
        forward_(rt, part.part.blocks, config.column_tiles, ""),
        diagonals_{SparseBuffer(rt, Lane::copy, diagonal(own(), !part.alone), "graph/own rows"),
                   SparseBuffer(rt, Lane::copy, diagonal(held(), !part.alone), "graph/rows")},
        factors_(rt, part),
        send_index_(loaded(part.part.send_rows, "indices/rows to send")) {
    if (!symmetric)
      adjoint_.emplace(rt, transpose(part.part.blocks), config.column_tiles, " transposed");
    for (const DelayShare& share : part.shares)
      indices_.push_back({loaded(share.send_rows, "indices/rows of a share to send"),
                          loaded(share.mirror_rows, "indices/mirrors of a share")});
  }

  std::int64_t rows(int level) const override { return level < layers_ ? held() : own(); }
  Halo halo(int) const override {
    const std::int64_t both = part_.part.received() + part_.part.sent();
    return {both, both};
  }
  /// It must not wait for what is under way for a later epoch.
  Lane metrics_lane() const override { return Lane::comm2; }
  void prepare(std::int64_t widest_aggregate, std::int64_t) override {
    width_ = widest_aggregate;
    sums_ = Buffer(rt_, {held(), width_}, DType::f32, "halo/sums of copies");
  }
  void begin(Stage stage, int epoch) override {
    trains_ = stage == Stage::forward;
    epoch_ = epoch;
  }

  void aggregate(int layer, const Tensor& x, const Tensor& y, float beta) override {
    const std::int64_t width = x.cols();
    const Tensor sums = sums_.view(held(), width);
    rt_.begin_product(width);
    multiply(forward_, x, own_rows(sums), mirrors(sums), 0);
    if (trains_)
      exchange_late(in_flight(layer, width), sums, y, beta, layer == layers_);
    else
      exchange_now(sums, y, beta, layer == layers_);
    rt_.end_product();
  }
  /// Of local entries: gradients of copies do not travel.
  void aggregate_adjoint(int layer, const Tensor& dy, const Tensor& dx, float beta) override {
    const Tensor scaled = sums_.view(dy.rows(), dy.cols());
    scale(after(2) ? RowFactors::Arrived::gradients : arrived(), dy, scaled, 0);
    const DeviceBlocks& a = adjoint_ ? *adjoint_ : forward_;
    rt_.begin_product(dx.cols());
    a.own.multiply(rt_, own_rows(scaled), own_rows(dx), beta);
    a.mirrors_from_own.multiply(rt_, own_rows(scaled), mirrors(dx), beta);
    if (layer < layers_) {
      a.own_from_mirrors.multiply(rt_, mirrors(scaled), own_rows(dx), 1);
      a.mirrors.multiply(rt_, mirrors(scaled), mirrors(dx), 1);
    }
    rt_.end_product();
  }

 private:
  struct Index {
    Buffer send_rows, mirror_rows;
  };
  /// What travels for a layer and a share. Ready-made rows leave, and others arrive.
  struct Travelling {
    HaloBuffers sums;    ///< sent by mirrors, received by owners
    HaloBuffers totals;  ///< sent by owners, received by mirrors; none in the last layer
    std::optional<Event> sums_arrived, totals_arrived;
  };

  std::int64_t own() const { return part_.part.blocks.own.rows(); }
  std::int64_t held() const { return part_.held.size(); }
  Tensor own_rows(const Tensor& x) const { return x.rows_at(0, own()); }
  Tensor mirrors(const Tensor& x) const { return x.rows_at(own(), held() - own()); }
  int delay() const { return static_cast<int>(part_.shares.size()); }
  int share() const { return epoch_ % delay(); }
  /// Whether so many delays have passed since the first epoch.
  bool after(int delays) const { return epoch_ >= delays * delay(); }
  RowFactors::Arrived arrived() const {
    if (!after(1)) return RowFactors::Arrived::none;
    return after(2) ? RowFactors::Arrived::totals : RowFactors::Arrived::sums;
  }
  Buffer loaded(const IndexList& list, const char* name) const {
    Buffer index(rt_, {list.size(), 1}, DType::i32, name);
    rt_.submit(Lane::copy, Load{list.source(), index.tensor()});
    rt_.wait(Lane::compute, rt_.record(Lane::copy));
    return index;
  }

  void multiply(const DeviceBlocks& a, const Tensor& x, const Tensor& own_y,
                const Tensor& mirrors_y, float beta) {
    a.own.multiply(rt_, own_rows(x), own_y, beta);
    a.own_from_mirrors.multiply(rt_, mirrors(x), own_y, 1);
    a.mirrors_from_own.multiply(rt_, own_rows(x), mirrors_y, beta);
    a.mirrors.multiply(rt_, mirrors(x), mirrors_y, 1);
  }
  /// y ← factors of rows · x + beta·y, on as many rows as y has.
  void scale(RowFactors::Arrived arrived, const Tensor& x, const Tensor& y, float beta) {
    const bool all = y.rows() != own();
    rt_.submit(Lane::compute, SpMM{diagonals_[all ? 1 : 0].sparse(),
                                   factors_.of(arrived, share()).rows_at(0, y.rows()),
                                   x.rows_at(0, y.rows()), y, beta});
  }

  /// Uses what was sent `delay` epochs ago, and sends what there is now.
  void exchange_late(Travelling& f, const Tensor& sums, const Tensor& y, float beta, bool last) {
    const DelayShare& share = part_.shares[at(this->share())];
    const Index& index = indices_[at(this->share())];
    const std::int64_t width = sums.cols(), to = share.mirror_rows.size(),
                       from = share.send_rows.size();
    const Tensor sums_out = f.sums.sent(to, width), sums_in = f.sums.received(from, width);
    if (after(1)) {
      rt_.wait(Lane::compute, *f.sums_arrived);
      rt_.submit(Lane::compute, ScatterAddRows{sums_in, index.send_rows.tensor(), own_rows(sums)});
    }
    rt_.submit(Lane::compute, GatherRows{mirrors(sums), index.mirror_rows.tensor(), sums_out});
    f.sums_arrived = exchange(sums_out, sums_in, share.mirrors, share.mirrored);
    scale(arrived(), sums, y, beta);
    if (last) return;
    const Tensor totals_out = f.totals.sent(from, width), totals_in = f.totals.received(to, width);
    if (after(1)) rt_.wait(Lane::compute, *f.totals_arrived);  // its buffers are free again
    if (after(2))
      rt_.submit(Lane::compute, ScatterAddRows{totals_in, index.mirror_rows.tensor(), mirrors(y)});
    rt_.submit(Lane::compute, GatherRows{own_rows(sums), index.send_rows.tensor(), totals_out});
    f.totals_arrived = exchange(totals_out, totals_in, share.mirrored, share.mirrors);
  }
  /// The sums of the whole graph, on every copy.
  void exchange_now(const Tensor& sums, const Tensor& y, float beta, bool last) {
    if (!exact_) exact_ = Buffer(rt_, {part_.part.sent(), width_}, DType::f32, "halo/sums sent");
    const Tensor at_owners = exact_.view(part_.part.sent(), sums.cols());
    rt_.wait(Lane::compute,
             exchange(mirrors(sums), at_owners, part_.part.mirrors, part_.part.mirrored));
    rt_.submit(Lane::compute, ScatterAddRows{at_owners, send_index_.tensor(), own_rows(sums)});
    if (!last) {
      rt_.submit(Lane::compute, GatherRows{own_rows(sums), send_index_.tensor(), at_owners});
      rt_.wait(Lane::compute,
               exchange(at_owners, mirrors(sums), part_.part.mirrored, part_.part.mirrors));
    }
    ORRERY_ASSERT(beta == 0 || beta == 1);
    rt_.submit(Lane::compute, Copy{sums.rows_at(0, y.rows()), y, 1, beta == 1});
  }
  Event exchange(const Tensor& from, const Tensor& to, const HaloStructure::RowCounts& out,
                 const HaloStructure::RowCounts& in) {
    rt_.wait(Lane::comm, rt_.record(Lane::compute));
    rt_.submit(Lane::comm, AllToAllV{from, to, out, in, world_group(rt_.size())});
    const Event arrived = rt_.record(Lane::comm);
    if (!overlap_) rt_.wait(Lane::compute, arrived);
    return arrived;
  }
  Travelling& in_flight(int layer, std::int64_t width) {
    const std::size_t which = at(layer * delay() + share());
    if (in_flight_.size() <= which) in_flight_.resize(which + 1);
    Travelling& f = in_flight_[which];
    if (f.sums) return f;
    const DelayShare& share = part_.shares[at(this->share())];
    f.sums = HaloBuffers(rt_, share.mirror_rows.size(), share.send_rows.size(), width);
    if (layer < layers_)
      f.totals = HaloBuffers(rt_, share.send_rows.size(), share.mirror_rows.size(), width);
    return f;
  }

  const DelayedPart& part_;
  int layers_;
  bool overlap_;
  DeviceBlocks forward_;
  std::optional<DeviceBlocks> adjoint_;  ///< only if A ≠ Aᵀ
  std::array<SparseBuffer, 2> diagonals_;
  RowFactors factors_;
  Buffer send_index_;
  std::vector<Index> indices_;  ///< by share
  std::vector<Travelling> in_flight_;
  Buffer sums_, exact_;
  std::int64_t width_ = 0;
  int epoch_ = 0;
  bool trains_ = false;
};

IndexList listed(std::vector<Vertex> rows) {
  return IndexList(std::make_shared<const std::vector<Vertex>>(std::move(rows)));
}

/// Of rows in runs by rank: those whose vertex is in a share.
std::pair<std::vector<Vertex>, std::vector<std::int64_t>> of_share(
    const std::vector<std::int64_t>& runs, int share, int delay, auto&& row_of, auto&& vertex_of) {
  std::vector<Vertex> rows;
  std::vector<std::int64_t> counts;
  std::size_t next = 0;
  for (const std::int64_t run : runs) {
    const std::size_t before = rows.size();
    for (const std::size_t end = next + at(run); next < end; ++next)
      if (vertex_of(next) % delay == share) rows.push_back(row_of(next));
    counts.push_back(static_cast<std::int64_t>(rows.size() - before));
  }
  return {std::move(rows), std::move(counts)};
}

}  // namespace

int delay_of(const StrategyConfig& config) {
  const auto* set = std::any_cast<DelaySettings>(&config.own);
  return set != nullptr ? set->delay : 0;
}

DelayedPart make_delayed_part(VertexCutPart part, const std::vector<Vertex>& own,
                              std::shared_ptr<const Dataset> data, int delay) {
  DelayedPart made;
  const std::vector<Vertex>& mirrors = *part.mirror_vertices.numbers();
  const std::vector<Vertex>& sends = *part.send_rows.numbers();
  std::vector<Vertex> held = own;
  held.insert(held.end(), mirrors.begin(), mirrors.end());
  made.held = listed(std::move(held));
  made.data = VertexData(std::move(data), made.held.numbers());
  for (int share = 0; share < delay; ++share) {
    auto [mirror_rows, of_owner] = of_share(
        *part.mirrors, share, delay, [](std::size_t i) { return static_cast<Vertex>(i); },
        [&](std::size_t i) { return mirrors[i]; });
    auto [send_rows, to_holder] = of_share(
        *part.mirrored, share, delay, [&](std::size_t i) { return sends[i]; },
        [&](std::size_t i) { return own[at(sends[i])]; });
    made.shares.push_back({row_counts(std::move(of_owner)), row_counts(std::move(to_holder)),
                           listed(std::move(mirror_rows)), listed(std::move(send_rows))});
  }
  made.alone = part.alone;
  made.part = std::move(part);
  return made;
}

DelayedPart magnified(const DelayedPart& part, std::int64_t times) {
  DelayedPart made{magnified(part.part, times),
                   IndexList::counted(times * part.held.size()),
                   part.data.magnified(part.part.blocks.own.rows(), times),
                   {},
                   nullptr};
  for (const DelayShare& share : part.shares)
    made.shares.push_back({magnified(share.mirrors, times), magnified(share.mirrored, times),
                           IndexList::counted(times * share.mirror_rows.size()),
                           IndexList::counted(times * share.send_rows.size())});
  return made;
}

std::unique_ptr<RankProducts> make_delayed_vertex_cut(Runtime& rt, const DelayedPart& part,
                                                      bool symmetric, int layers,
                                                      const StrategyConfig& config) {
  return std::make_unique<DelayedProducts>(rt, part, symmetric, layers, config);
}

}  // namespace orrery
