// The 1D product: rows are split over the ranks. The row variant broadcasts every rank's rows of x
// in turn; the column variant sums every rank's rows of the result in turn. Both move n·f·(P − 1)/P
// elements to a rank.
//
// With a staleness bound s the row variant broadcasts the rows of a layer's forward product once in
// s + 1 epochs, beginning with the first. In between it uses the last ones; a rank's own rows are
// always new. With skip_below a rank sends its rows early once they have changed by that much.
// Gradients travel in every epoch, and evaluation is exact.
//
// Layers that weigh edges first gather a number for each vertex and head. Then rows of x are
// broadcast in turn, once forward, and once more for the adjoint, whose results are summed at their
// owners.
//
// Source    MG-GCN 4.1, 4.3; CAGNET 1D; Peng et al. 2022, Sancus (historical embeddings)
// Departs   as in Sancus' code, gradients are not kept
#include <fmt/core.h>

#include <optional>
#include <variant>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/strategy/config/strategy_info.hpp"
#include "core/strategy/product/cached_broadcasts.hpp"
#include "core/strategy/product/local_matrix.hpp"
#include "core/strategy/product/rows_products.hpp"
#include "core/strategy/product/skipped_broadcasts.hpp"
#include "core/strategy/product/staged_attention.hpp"
#include "core/strategy/product/staged_broadcasts.hpp"
#include "core/strategy/product/staged_reduces.hpp"
#include "core/strategy/strategy.hpp"
#include "core/strategy/structure/once_per_rank.hpp"
#include "core/strategy/structure/partitioned_graph.hpp"

namespace orrery {
namespace {

/// Row variant: the rank's rows of A. Column variant: its columns of A, which are its rows of Aᵀ,
/// each tile transposed.
std::vector<SparseMatrix> tiles_of(const PartitionedGraph& source, int rank, Variant variant,
                                   Direction direction) {
  if (variant == Variant::row) return source.rows(rank, direction);
  const bool forward = direction == Direction::forward;
  auto tiles = source.rows(rank, forward ? Direction::adjoint : Direction::forward);
  for (SparseMatrix& tile : tiles) tile = transpose(tile);
  return tiles;
}

class Spmm1dProducts final : public RowsProducts {
 public:
  Spmm1dProducts(Runtime& rt, const PartitionedGraph& source, const RankTiles& tiles,
                 const StrategyConfig& config)
      : RowsProducts(rt, source, rt.rank()),
        tiles_(load_matrices(rt, tiles.forward, config.column_tiles, "tiles")),
        adjoint_tiles_(load_matrices(rt, tiles.adjoint, config.column_tiles, "tiles transposed")),
        product_(make_product(rt, source.sizes(), config)),
        staleness_(config.staleness) {
    if (staleness_ > 0) historical_.emplace(rt, source.sizes(), config.overlap);
    if (config.skip_below > 0) skipped_.emplace(rt, config.skip_below, staleness_);
  }

  void prepare(std::int64_t widest_aggregate, std::int64_t) override {
    std::visit([&](auto& product) { product.prepare(widest_aggregate); }, product_);
  }
  void begin(Stage stage, int epoch) override {
    trains_ = stage == Stage::forward;
    all_send_ = epoch % (staleness_ + 1) == 0;
  }
  void aggregate(int layer, const Tensor& x, const Tensor& y, float beta) override {
    if (trains_ && historical_)
      historical_->multiply(layer, senders(layer, x), tiles_, x, y, beta);
    else
      multiply(tiles_, x, y, beta);
  }
  void aggregate_adjoint(int, const Tensor& dy, const Tensor& dx, float beta) override {
    multiply(adjoint_tiles_.empty() ? tiles_ : adjoint_tiles_, dy, dx, beta);
  }

 private:
  using Product = std::variant<StagedBroadcasts, StagedReduces>;

  static Product make_product(Runtime& rt, const std::vector<std::int64_t>& sizes,
                              const StrategyConfig& config) {
    if (config.variant == Variant::column) return StagedReduces(rt, sizes, config.overlap);
    std::vector<StagedBroadcasts::Stage> stages;
    for (int j = 0; j < rt.size(); ++j) stages.push_back({j, sizes[at(j)]});
    return StagedBroadcasts(rt, world_group(rt.size()), std::move(stages), config.overlap);
  }

  std::vector<bool> senders(int layer, const Tensor& x) {
    if (skipped_) return skipped_->senders(layer, x);
    return std::vector<bool>(static_cast<std::size_t>(rt_.size()), all_send_);
  }

  void multiply(const std::vector<LocalMatrix>& tiles, const Tensor& x, const Tensor& y,
                float beta) {
    std::visit([&](auto& product) { product.multiply(tiles, x, y, beta); }, product_);
  }

  std::vector<LocalMatrix> tiles_, adjoint_tiles_;
  Product product_;
  int staleness_;
  std::optional<CachedBroadcasts> historical_;  ///< for the forward products of training
  std::optional<SkippedBroadcasts> skipped_;    ///< set if values decide who sends
  bool trains_ = false, all_send_ = true;
};

class Spmm1d final : public Strategy {
 public:
  explicit Spmm1d(const Problem& problem)
      : config_(problem.strategy),
        model_(problem.model),
        source_(partitioned_graph(problem)),
        tiles_(problem.ranks()) {}

  std::shared_ptr<const Structure> prepare(int rank, StructureId) const override {
    return tiles_.get(rank, [&]() -> std::shared_ptr<const Structure> {
      if (weighs_edges(model_)) {
        auto edges = staged_edges_of(*source_, rank, 0, source_->parts(), model_);
        CutWork work;
        work.add(edges.entries(), edges.bytes());
        return make_structure(std::move(edges), work.report());
      }
      const auto of = [&](Direction d) { return tiles_of(*source_, rank, config_.variant, d); };
      RankTiles tiles{of(Direction::forward),
                      source_->symmetric() ? std::vector<SparseMatrix>{} : of(Direction::adjoint)};
      CutWork work;
      work.add_all(tiles.forward);
      work.add_all(tiles.adjoint);
      return make_structure(std::move(tiles), work.report());
    });
  }
  std::unique_ptr<RankProducts> load(Runtime& rt,
                                     std::shared_ptr<const Structure> structure) const override {
    const Group world = world_group(rt.size());
    if (weighs_edges(model_))
      return std::make_unique<StagedAttention>(
          rt, *source_, rt.rank(), content_of<StagedEdgeStructure>(*structure),
          StagedLayout{world, {1, rt.rank(), 1, 1}, 0, source_->sizes(), config_.overlap}, model_);
    return std::make_unique<Spmm1dProducts>(rt, *source_, content_of<RankTiles>(*structure),
                                            config_);
  }

  int representative(int rank) const override {
    if (!source_->alike()) return rank;
    const auto& sizes = source_->sizes();
    const auto kind = [&](int r) {
      return std::pair{sizes[at(r)], buffers_needed(source_->parts(), r)};
    };
    int first = 0;
    while (kind(first) != kind(rank)) ++first;
    return first;
  }

 private:
  StrategyConfig config_;
  ModelConfig model_;
  std::shared_ptr<const PartitionedGraph> source_;
  OncePerRank<std::shared_ptr<const Structure>> tiles_;
};

void require_possible_spmm_1d(const StrategyConfig& config, const ModelConfig& model) {
  if (weighs_edges(model) && config.variant == Variant::column)
    throw ConfigError("strategy.variant",
                      fmt::format("\"column\" never has all edges of a vertex at once, as {} "
                                  "needs: use \"row\"",
                                  model.type.name));
  if (weighs_edges(model) && config.staleness > 0)
    throw ConfigError(
        "strategy.staleness",
        fmt::format("{} weighs edges by rows of this epoch: set it to 0", model.type.name));
  if (config.staleness == 0 && config.skip_below > 0)
    throw ConfigError("strategy.skip_below",
                      "needs a strategy.staleness above 0, which bounds how often in a row a "
                      "broadcast may be skipped");
  if (config.staleness > 0 && config.variant == Variant::column)
    throw ConfigError(
        "strategy.staleness",
        "the column variant sums contributions at their owner and has no rows to use again: use "
        "variant \"row\"");
}

void read_spmm_1d(const Settings& file, StrategyConfig& config) {
  config.variant = file.choice<Variant>(
      "strategy.variant", {{"row", Variant::row}, {"column", Variant::column}}, config.variant);
  config.staleness = file.integer("strategy.staleness", 0);
  config.skip_below = file.number("strategy.skip_below").value_or(0);
}

std::optional<std::string> inexactness_of_spmm_1d(const StrategyConfig& config) {
  if (config.skip_below > 0)
    return fmt::format("staleness at most {}, skipping changes below {}", config.staleness,
                       config.skip_below);
  if (config.staleness > 0)
    return fmt::format("staleness {}: rows of other ranks are older", config.staleness);
  return std::nullopt;
}

std::optional<std::string> why_no_forms_of_spmm_1d(const StrategyConfig& config) {
  if (config.depends_on_values())
    return "which broadcasts strategy.skip_below skips depends on values: run it for real";
  if (config.staleness == 0) return std::nullopt;
  return "the papers' equations do not cover strategy.staleness: use backend sim";
}

}  // namespace

extern const StrategyInfo kSpmm1d;
const StrategyInfo kSpmm1d{
    .name = "spmm_1d",
    .make = [](const Problem& problem) -> std::unique_ptr<Strategy> {
      return std::make_unique<Spmm1d>(problem);
    },
    .read = read_spmm_1d,
    .require_possible = require_possible_spmm_1d,
    .edge_weights = true,
    .sums_over_vertices = true,
    .carries_attention = true,
    .sources_pass_by = true,
    .period = [](const StrategyConfig& config,
                 int) { return config.skip_below > 0 ? 1 : config.staleness + 1; },
    .why_not_resumable = lost_with_stale_rows,
    .inexactness = inexactness_of_spmm_1d,
    .closed_forms = {ClosedForm::staged_products, ClosedForm::links_1d, ClosedForm::volume_1d},
    .why_no_closed_forms = why_no_forms_of_spmm_1d};

}  // namespace orrery
