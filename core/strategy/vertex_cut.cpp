// Whole-graph training on a vertex cut: every rank has the edges that an edge partitioner gave it,
// and so a vertex is on several ranks, one of which owns it. To multiply, owners send their rows of
// x to the mirrors of their vertices; every rank multiplies its own entries of A, for its own
// vertices and for its mirrors; and what mirrors have summed up goes back to their owners, which add
// it. Sums are those of the whole graph in every layer.
//
// Received per product of width f, by a rank: f for each of its mirrors, and f for each mirror of
// its own vertices. Over all ranks: 2·(RF − 1)·n·f, RF the mean number of ranks that have a vertex.
//
// Source    DistGNN (Md et al. 2021, as MG-GCN tells of it), its exact form cd-0: each rank
//           aggregates for all of its vertices, partial sums go to the owner, the total comes back
// Departs   the total does not come back to be transformed on each rank that has the vertex: the
//           owner transforms it once, and its row of the next product goes out. As many rows travel
// Its delayed form, cd-r: vertex_cut_delayed.cpp.
#include <fmt/core.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/model/adjacency.hpp"
#include "core/strategy/config/strategy_info.hpp"
#include "core/strategy/product/halo_product.hpp"
#include "core/strategy/product/rows_products.hpp"
#include "core/strategy/strategy.hpp"
#include "core/strategy/structure/once_per_rank.hpp"
#include "core/strategy/vertex_cut_delayed.hpp"
#include "core/strategy/vertex_cut_parts.hpp"

namespace orrery {
namespace {

/// Stages of a product: what mirrors sum up, and what owners do meanwhile.
constexpr int kMirrorStage = 0, kOwnStage = 1;

class VertexCutProducts final : public RowsProducts {
 public:
  VertexCutProducts(Runtime& rt, VertexData data, IndexList own, const VertexCutPart& part,
                    bool symmetric, const StrategyConfig& config)
      : RowsProducts(rt, std::move(data), std::move(own)),
        part_(part),
        overlap_(config.overlap),
        forward_(rt, part.blocks, config.column_tiles, ""),
        send_index_(rt, {part.sent(), 1}, DType::i32, "indices/rows to send") {
    if (!symmetric)
      adjoint_.emplace(rt, transpose(part.blocks), config.column_tiles, " transposed");
    rt.submit(Lane::copy, Load{part.send_rows.source(), send_index_.tensor()});
    rt.wait(Lane::compute, rt.record(Lane::copy));
  }

  Halo halo(int) const override {
    const std::int64_t both = part_.received() + part_.sent();
    return {both, both};
  }
  void prepare(std::int64_t widest_aggregate, std::int64_t) override {
    rows_ = HaloBuffers(rt_, part_.sent(), part_.received(), widest_aggregate);
    sums_ = Buffer(rt_, {part_.received(), widest_aggregate}, DType::f32, "halo/sums of mirrors");
  }
  void aggregate(int, const Tensor& x, const Tensor& y, float beta) override {
    multiply(forward_, x, y, beta);
  }
  void aggregate_adjoint(int, const Tensor& dy, const Tensor& dx, float beta) override {
    multiply(adjoint_ ? *adjoint_ : forward_, dy, dx, beta);
  }

 private:
  void multiply(const DeviceBlocks& a, const Tensor& x, const Tensor& y, float beta) {
    const std::int64_t width = x.cols();
    const Tensor at_owners = rows_.sent(part_.sent(), width);
    const Tensor mirrors = rows_.received(part_.received(), width);
    const Tensor sums = sums_.view(part_.received(), width);
    rt_.submit(Lane::compute, GatherRows{x, send_index_.tensor(), at_owners});
    rt_.begin_product(width);
    rt_.product_stage(kMirrorStage);
    exchange(at_owners, mirrors, part_.mirrored, part_.mirrors);
    a.mirrors_from_own.multiply(rt_, x, sums, 0);
    rt_.wait(Lane::compute, rt_.record(Lane::comm));
    a.mirrors.multiply(rt_, mirrors, sums, 1);
    exchange(sums, at_owners, part_.mirrors, part_.mirrored);
    rt_.product_stage(kOwnStage);
    a.own.multiply(rt_, x, y, beta);
    a.own_from_mirrors.multiply(rt_, mirrors, y, 1);
    rt_.product_stage(kMirrorStage);
    rt_.wait(Lane::compute, rt_.record(Lane::comm));
    rt_.submit(Lane::compute, ScatterAddRows{at_owners, send_index_.tensor(), y});
    rt_.end_product();
  }
  void exchange(const Tensor& from, const Tensor& to, const HaloStructure::RowCounts& out,
                const HaloStructure::RowCounts& in) {
    rt_.wait(Lane::comm, rt_.record(Lane::compute));
    rt_.submit(Lane::comm, AllToAllV{from, to, out, in, world_group(rt_.size())});
    if (!overlap_) rt_.wait(Lane::compute, rt_.record(Lane::comm));
  }

  const VertexCutPart& part_;
  bool overlap_;
  DeviceBlocks forward_;
  std::optional<DeviceBlocks> adjoint_;  ///< only if A ≠ Aᵀ
  Buffer send_index_, sums_;
  HaloBuffers rows_;
};

class VertexCut final : public Strategy {
 public:
  explicit VertexCut(const Problem& problem)
      : config_(problem.strategy),
        layers_(problem.model.layers),
        data_(problem.data),
        parts_(
            problem.edge_weights
                ? weighted_adjacency(*data_, problem.edge_weights->of_graph.values, problem.model)
                : normalised_adjacency(*data_, problem.model),
            problem.partition),
        prepared_(problem.ranks()) {}

  std::shared_ptr<const Structure> prepare(int rank, StructureId) const override {
    return prepared_.get(rank, [&] {
      DelayedPart made =
          make_delayed_part(parts_.part(rank), *parts_.own(rank), data_, delay_of(config_));
      if (data_->magnify != 1) made = magnified(made, data_->magnify);
      CutWork work;
      work.add(made.part.blocks.own);
      work.add(made.part.blocks.own_from_mirrors);
      work.add(made.part.blocks.mirrors_from_own);
      work.add(made.part.blocks.mirrors);
      return make_structure(std::move(made), work.report());
    });
  }
  std::unique_ptr<RankProducts> load(Runtime& rt,
                                     std::shared_ptr<const Structure> structure) const override {
    const auto& part = content_of<DelayedPart>(*structure);  // prepared_ keeps it
    if (delay_of(config_) > 0)
      return make_delayed_vertex_cut(rt, part, parts_.symmetric(), layers_, config_);
    const auto& own = parts_.own(rt.rank());
    VertexData data(data_, own);
    IndexList vertices(own);
    if (data_->magnify != 1) {
      data = data.magnified(data.vertices(), data_->magnify);
      vertices = IndexList::counted(data_->magnify * vertices.size());
    }
    return std::make_unique<VertexCutProducts>(rt, std::move(data), std::move(vertices), part.part,
                                               parts_.symmetric(), config_);
  }
  std::vector<std::string> notes() const override {
    return {fmt::format("a vertex is on {:.2f} ranks, in the mean: the replication factor",
                        parts_.replication_factor())};
  }

 private:
  StrategyConfig config_;
  int layers_;
  std::shared_ptr<const Dataset> data_;
  VertexCutParts parts_;
  OncePerRank<std::shared_ptr<const Structure>> prepared_;
};

void require_possible_vertex_cut(const StrategyConfig& config, const ModelConfig& model) {
  if (config.memory == Memory::autograd)
    throw ConfigError("strategy.memory",
                      "\"autograd\" models the tape of programs that exchange halos, and not of "
                      "those on a vertex cut: use \"lean\"");
  if (delay_of(config) == 0) return;
  if (model.recompute > 0)
    throw ConfigError("strategy.delay",
                      "model.recompute would send and use sums twice in an epoch: set one of the "
                      "two to 0");
  if (model.type == ModelType::sgc && model.dropout == 0 && config.first_layer == FirstLayer::exact)
    throw ConfigError("strategy.first_layer",
                      "exact lets sgc aggregate its constant input once for all epochs, so "
                      "strategy.delay would have no effect: set it to recompute");
}

void read_vertex_cut(const Settings& file, StrategyConfig& config) {
  config.cross_edges = CrossEdges::as_cut;  // so the cut keeps the edges of each part
  config.own = DelaySettings{file.integer("strategy.delay", 0)};
}

/// Shares of the replicas take turns.
int period_of_vertex_cut(const StrategyConfig& config, int) {
  return std::max(1, delay_of(config));
}

std::optional<std::string> why_vertex_cut_is_not_resumable(const StrategyConfig& config) {
  if (delay_of(config) == 0) return std::nullopt;
  return "a checkpoint does not hold the sums of earlier epochs, which strategy.delay uses: set "
         "one "
         "of the two to 0";
}

std::optional<std::string> inexactness_of_vertex_cut(const StrategyConfig& config) {
  const int delay = delay_of(config);
  if (delay == 0) return std::nullopt;
  return fmt::format("delay {}: sums of replicas are {} epochs old, and used in one of {}", delay,
                     delay, delay);
}

}  // namespace

extern const StrategyInfo kVertexCut;
const StrategyInfo kVertexCut{
    .name = "vertex_cut",
    .make = [](const Problem& problem) -> std::unique_ptr<Strategy> {
      if (!problem.partition.fragments)
        throw ConfigError("strategy.type",
                          "vertex_cut needs the edges of each part, and this cut has only owners "
                          "of vertices");
      if (problem.edge_weights && delay_of(problem.strategy) > 0)
        throw ConfigError("strategy.delay",
                          "scales the sum of a rank to the weight of its whole row, and weights of "
                          "edges may add up to nothing: set it to 0, or leave edge weights out");
      return std::make_unique<VertexCut>(problem);
    },
    .read = read_vertex_cut,
    .require_possible = require_possible_vertex_cut,
    .needs_structure = "the edges decide which vertices a rank has",
    .needs_whole_data =
        "trains on the fragments of an edge partitioner, which are no parts of "
        "vertices",
    .edge_weights = true,
    .magnifiable = true,
    .sums_over_vertices = true,
    .period = period_of_vertex_cut,
    .why_not_resumable = why_vertex_cut_is_not_resumable,
    .inexactness = inexactness_of_vertex_cut,
    .why_no_closed_forms = [](const StrategyConfig&) -> std::optional<std::string> {
      return "the papers' equations do not cover vertex_cut: use backend sim";
    }};

}  // namespace orrery
