// Whole-graph training with halo exchange: each rank owns the rows of its part and, before every
// aggregation, receives each distinct row of another rank that its rows need, once.
//
// A's rows of a rank are kept as two blocks, [own columns | halo columns], so that the own block is
// multiplied while the halo travels.
#include <algorithm>
#include <numeric>

#include "core/base/parallel.hpp"
#include "core/strategy/blocks.hpp"
#include "core/strategy/strategy.hpp"

namespace orrery {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

using RowCounts = std::shared_ptr<const std::vector<std::int64_t>>;  // per rank

/// The structure of one rank.
struct Part {
  std::shared_ptr<const std::vector<Vertex>> own;  ///< ascending
  std::vector<Vertex> halo;                        ///< by owner, ascending within
  RowCounts receive, send;                         ///< rows from and to each rank
  std::shared_ptr<const std::vector<Vertex>>
      send_rows;  ///< own local row of each row sent, by receiver
  Block own_block, halo_block;
};

/// The vertices of other parts that the rows of `own` need, by owner, ascending within.
std::vector<Vertex> find_halo(const Adjacency& a, const Partition& partition, int rank,
                              const std::vector<Vertex>& own) {
  std::vector<Vertex> halo;
  for (const Vertex v : own)
    for (const Vertex u : a.pattern->row(v))
      if (partition.owner[at(u)] != rank) halo.push_back(u);
  std::sort(halo.begin(), halo.end());
  halo.erase(std::unique(halo.begin(), halo.end()), halo.end());
  std::stable_sort(halo.begin(), halo.end(), [&](Vertex x, Vertex y) {
    return partition.owner[at(x)] < partition.owner[at(y)];
  });
  return halo;
}

class FullGraphPlan final : public StrategyPlan {
 public:
  explicit FullGraphPlan(const Problem& problem)
      : config_(problem.strategy), adjacency_(normalised_adjacency(*problem.data, problem.model)) {
    const int ranks = problem.ranks();
    parts_.resize(at(ranks));
    const auto members = problem.partition.members();
    std::vector<Vertex> local(problem.partition.owner.size());  // row of each vertex at its owner
    for (const auto& own : members)
      for (std::size_t i = 0; i < own.size(); ++i) local[at(own[i])] = static_cast<Vertex>(i);
    parallel_for(ranks, 1, [&](std::int64_t r, std::int64_t) {
      Part& part = parts_[at(r)];
      part.own = std::make_shared<const std::vector<Vertex>>(members[at(r)]);
      part.halo = find_halo(adjacency_, problem.partition, static_cast<int>(r), *part.own);
      std::vector<std::int64_t> receive(at(ranks), 0);
      for (const Vertex u : part.halo) ++receive[at(problem.partition.owner[at(u)])];
      part.receive = std::make_shared<const std::vector<std::int64_t>>(std::move(receive));
      cut(part, problem.partition, static_cast<int>(r), local);
    });
    parallel_for(ranks, 1, [&](std::int64_t r, std::int64_t) { find_sends(r, local); });
  }

  std::unique_ptr<Strategy> instantiate(Runtime& rt) const override;

 private:
  void cut(Part& part, const Partition& partition, int rank,
           const std::vector<Vertex>& local) const {
    std::vector<std::int32_t> block_of(partition.owner.size());
    std::vector<Vertex> column = local;
    for (std::size_t u = 0; u < block_of.size(); ++u)
      block_of[u] = partition.owner[u] == rank ? 0 : 1;
    for (std::size_t i = 0; i < part.halo.size(); ++i)
      column[at(part.halo[i])] = static_cast<Vertex>(i);
    const std::vector<std::int64_t> widths{static_cast<std::int64_t>(part.own->size()),
                                           static_cast<std::int64_t>(part.halo.size())};
    auto blocks = cut_rows(adjacency_, *part.own, block_of, column, widths);
    part.own_block = std::move(blocks[0]);
    part.halo_block = std::move(blocks[1]);
  }

  /// What a rank sends is what the others found in their halos.
  void find_sends(std::int64_t rank, const std::vector<Vertex>& local) {
    std::vector<std::int64_t> send;
    std::vector<Vertex> rows;
    for (const Part& peer : parts_) {
      const auto& receive = *peer.receive;
      const auto first = std::accumulate(receive.begin(), receive.begin() + rank, std::int64_t{0});
      for (std::int64_t i = 0; i < receive[at(rank)]; ++i)
        rows.push_back(local[at(peer.halo[at(first + i)])]);
      send.push_back(receive[at(rank)]);
    }
    parts_[at(rank)].send = std::make_shared<const std::vector<std::int64_t>>(std::move(send));
    parts_[at(rank)].send_rows = std::make_shared<const std::vector<Vertex>>(std::move(rows));
  }

  StrategyConfig config_;
  Adjacency adjacency_;
  std::vector<Part> parts_;
};

class FullGraph final : public Strategy {
 public:
  FullGraph(Runtime& rt, const Part& part, const StrategyConfig& config, bool symmetric)
      : Strategy(rt),
        part_(part),
        overlap_(config.overlap),
        own_(rt, part.own_block, config.column_tiles, "own block"),
        halo_(rt, part.halo_block, config.column_tiles, "halo block"),
        halo_adjoint_(rt, transpose(part.halo_block), 1, "halo block transposed"),
        row_ids_(rt, {own_rows(), 1}, DType::i32, "indices/vertices"),
        send_index_(rt, {send_rows(), 1}, DType::i32, "indices/rows to send") {
    // A symmetric matrix has symmetric diagonal blocks.
    if (!symmetric)
      own_adjoint_.emplace(rt, transpose(part.own_block), config.column_tiles,
                           "own block transposed");
    rt.submit(Lane::copy, Load{IndexArray{part.own}, row_ids_.tensor()});
    rt.submit(Lane::copy, Load{IndexArray{part.send_rows}, send_index_.tensor()});
    rt.wait(Lane::compute, rt.record(Lane::copy));
  }

  std::shared_ptr<const std::vector<Vertex>> vertices() const override { return part_.own; }
  std::int64_t rows(int) const override { return own_rows(); }
  Tensor row_ids() const override { return row_ids_.tensor(); }

  void prepare(std::int64_t max_width) override {
    sent_ = Buffer(rt_, {send_rows(), max_width}, DType::f32, "halo/rows sent");
    received_ = Buffer(rt_, {halo_rows(), max_width}, DType::f32, "halo/rows received");
  }

  void aggregate(int, const Tensor& x, const Tensor& y, float beta) override {
    const Tensor sent = sent_.view(send_rows(), x.cols());
    const Tensor received = received_.view(halo_rows(), x.cols());
    rt_.submit(Lane::compute, GatherRows{x, send_index_.tensor(), sent});
    exchange(sent, received, part_.send, part_.receive);
    own_.multiply(rt_, x, y, beta);
    rt_.wait(Lane::compute, rt_.record(Lane::comm));
    halo_.multiply(rt_, received, y, 1);
  }

  void aggregate_adjoint(int, const Tensor& dy, const Tensor& dx, float beta) override {
    const Tensor sent = sent_.view(send_rows(), dx.cols());
    const Tensor received = received_.view(halo_rows(), dx.cols());
    halo_adjoint_.multiply(rt_, dy, received, 0);
    exchange(received, sent, part_.receive, part_.send);
    (own_adjoint_ ? *own_adjoint_ : own_).multiply(rt_, dy, dx, beta);
    rt_.wait(Lane::compute, rt_.record(Lane::comm));
    rt_.submit(Lane::compute, ScatterAddRows{sent, send_index_.tensor(), dx});
  }

 private:
  std::int64_t own_rows() const { return static_cast<std::int64_t>(part_.own->size()); }
  std::int64_t halo_rows() const { return static_cast<std::int64_t>(part_.halo.size()); }
  std::int64_t send_rows() const { return static_cast<std::int64_t>(part_.send_rows->size()); }

  void exchange(const Tensor& from, const Tensor& to, const RowCounts& out, const RowCounts& in) {
    rt_.wait(Lane::comm, rt_.record(Lane::compute));
    rt_.submit(Lane::comm, AllToAllV{from, to, out, in, world_group(rt_.size())});
    if (!overlap_) rt_.wait(Lane::compute, rt_.record(Lane::comm));
  }

  const Part& part_;
  bool overlap_;
  LocalMatrix own_, halo_, halo_adjoint_;
  std::optional<LocalMatrix> own_adjoint_;
  Buffer row_ids_, send_index_, sent_, received_;
};

std::unique_ptr<Strategy> FullGraphPlan::instantiate(Runtime& rt) const {
  return std::make_unique<FullGraph>(rt, parts_[at(rt.rank())], config_, adjacency_.symmetric);
}

}  // namespace

std::unique_ptr<StrategyPlan> plan_full_graph(const Problem& problem) {
  return std::make_unique<FullGraphPlan>(problem);
}

}  // namespace orrery
