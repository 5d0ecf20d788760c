// Whole-graph training with halo exchange: each rank owns the rows of its part. Before every
// aggregation it receives each distinct row of another rank that its rows need, once. Its two
// inexact forms receive a random share of these rows (boundary_sampled.cpp), or compute with those
// of the epoch before (stale_halo.cpp).
#include "core/strategy/full_graph.hpp"

#include <fmt/core.h>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/sample/links/link_batches.hpp"
#include "core/strategy/config/strategy_info.hpp"
#include "core/strategy/edges/device_edges.hpp"
#include "core/strategy/edges/relation_structure.hpp"
#include "core/strategy/product/halo_product.hpp"
#include "core/strategy/product/local_matrix.hpp"
#include "core/strategy/product/rows_products.hpp"
#include "core/strategy/store/learned_own_rows.hpp"
#include "core/strategy/strategy.hpp"
#include "core/strategy/structure/once_per_rank.hpp"
#include "core/strategy/structure/partitioned_graph.hpp"

namespace orrery {
namespace {

class FullGraphProducts final : public RowsProducts {
 public:
  FullGraphProducts(Runtime& rt, const PartitionedGraph& source, const HaloStructure& part,
                    const StrategyConfig& config)
      : RowsProducts(rt, source, rt.rank()),
        part_(part),
        product_(rt, part, world_group(rt.size()), source.symmetric(), config.overlap,
                 config.column_tiles) {}

  Halo halo(int) const override { return {part_.received(), part_.sent()}; }
  void prepare(std::int64_t widest_aggregate, std::int64_t) override {
    buffers_ = HaloBuffers(rt_, part_.sent(), part_.received(), widest_aggregate);
  }
  void aggregate(int, const Tensor& x, const Tensor& y, float beta) override {
    product_.multiply(x, y, beta, buffers_);
  }
  void aggregate_adjoint(int, const Tensor& dy, const Tensor& dx, float beta) override {
    product_.multiply_adjoint(dy, dx, beta, buffers_);
  }

 private:
  const HaloStructure& part_;
  HaloProduct product_;
  HaloBuffers buffers_;
};

/// The structure of a rank: its rows of A with their halo and, if layers weigh edges or work by
/// relation, its edges.
struct Part {
  HaloStructure halo;
  std::optional<EdgeStructure> edges;
  RelationStructure relations;
};

/// For layers that weigh edges.
class AttentionProducts final : public RowsProducts {
 public:
  AttentionProducts(Runtime& rt, const PartitionedGraph& source, const Part& part,
                    const StrategyConfig& config)
      : RowsProducts(rt, source, rt.rank()),
        part_(part.halo),
        edges_(rt, *part.edges),
        exchange_(rt, part.halo, world_group(rt.size()), config.overlap) {}

  Halo halo(int) const override { return {part_.received(), part_.sent()}; }
  void prepare(std::int64_t widest_aggregate, std::int64_t) override {
    sent_ = Buffer(rt_, {part_.sent(), widest_aggregate}, DType::f32, "halo/rows sent");
  }
  std::int64_t sources(int) const override { return exchange_.sources(); }
  const Edges& edges(int) const override { return edges_.edges(); }
  void bring_sources(int, const Tensor& x, const std::function<void()>& meanwhile) override {
    exchange_.bring(x, sent_.view(part_.sent(), x.cols()), meanwhile);
  }
  void bring_sources_adjoint(int, const Tensor& dx,
                             const std::function<void()>& meanwhile) override {
    exchange_.bring_adjoint(dx, sent_.view(part_.sent(), dx.cols()), meanwhile);
  }
  void aggregate(int, const Tensor&, const Tensor&, float) override { no_matrix(); }
  void aggregate_adjoint(int, const Tensor&, const Tensor&, float) override { no_matrix(); }

 private:
  const HaloStructure& part_;
  DeviceEdges edges_;
  SourceExchange exchange_;
  Buffer sent_;
};

/// For layers that work by relation: the rows that edges of any relation come from travel once.
class RelationProducts final : public RowsProducts {
 public:
  RelationProducts(Runtime& rt, const PartitionedGraph& source, const Part& part,
                   const StrategyConfig& config)
      : RowsProducts(rt, source, rt.rank()),
        part_(part.halo),
        exchange_(rt, part.halo, world_group(rt.size()), config.overlap),
        relations_(rt, part.relations) {}

  Halo halo(int) const override { return {part_.received(), part_.sent()}; }
  void prepare(std::int64_t widest_aggregate, std::int64_t) override {
    sent_ = Buffer(rt_, {part_.sent(), widest_aggregate}, DType::f32, "halo/rows sent");
  }
  std::int64_t sources(int) const override { return exchange_.sources(); }
  void bring_sources(int, const Tensor& x, const std::function<void()>& meanwhile) override {
    exchange_.bring(x, sent_.view(part_.sent(), x.cols()), meanwhile);
  }
  void bring_sources_adjoint(int, const Tensor& dx,
                             const std::function<void()>& meanwhile) override {
    exchange_.bring_adjoint(dx, sent_.view(part_.sent(), dx.cols()), meanwhile);
  }
  const std::vector<Rows>& rows_of_type(int, int type) const override {
    return relations_.rows_of_type(type);
  }
  const std::vector<Rows>& rows_of_relation(int, int relation) const override {
    return relations_.rows(relation);
  }
  RelationEdges relation_edges(int, int relation) const override {
    return relations_.edges(relation);
  }
  void aggregate_relation(int, int relation, const Tensor& x, const Tensor& y,
                          float beta) override {
    relations_.multiply(rt_, relation, x, y, beta);
  }
  void aggregate_relation_adjoint(int, int relation, const Tensor& dy, const Tensor& dx,
                                  float beta) override {
    relations_.multiply_adjoint(rt_, relation, dy, dx, beta);
  }
  void aggregate(int, const Tensor&, const Tensor&, float) override { no_matrix(); }
  void aggregate_adjoint(int, const Tensor&, const Tensor&, float) override { no_matrix(); }

 private:
  const HaloStructure& part_;
  SourceExchange exchange_;
  LocalRelations relations_;
  Buffer sent_;
};

/// Learns the features on which its products work.
class LearningSession final : public RankSession {
 public:
  LearningSession(Runtime& rt, const Strategy& strategy, const RowOwners& owners,
                  std::int64_t width, double rate, const std::vector<bool>& learned)
      : rt_(rt), strategy_(strategy), rows_(rt, owners, width, rate, learned) {}

  std::unique_ptr<RankProducts> load(std::shared_ptr<const Structure> structure) override {
    auto products = strategy_.load(rt_, std::move(structure));
    products->fill_features_by([this, data = products->data()](const Tensor& features) {
      rows_.begin_in(features, data);
    });
    products->learn_features_by([this](const Tensor& gradient, int epoch, int step) {
      rows_.learn(gradient, epoch, step);
    });
    return products;
  }
  LearnedTable* learned_table() override { return &rows_; }

 private:
  Runtime& rt_;
  const Strategy& strategy_;
  LearnedOwnRows rows_;
};

class FullGraph final : public Strategy {
 public:
  explicit FullGraph(const Problem& problem)
      : config_(problem.strategy),
        seed_(problem.train.seed),
        model_(problem.model),
        weighs_edges_(weighs_edges(problem.model)),
        by_relation_(by_relation(problem.model)),
        ends_(ends_for(problem.model, problem.edge_features)),
        source_(partitioned_graph(problem)),
        magnify_(problem.data ? problem.data->magnify : 1),
        parts_(problem.ranks()) {
    if (config_.learned) learn_features_of(problem);
    if (problem.links)
      links_.emplace(problem.links, *problem.data, problem.partition, LinkSteps{},
                     problem.train.seed);
  }

  std::unique_ptr<RankSession> open(Runtime& rt) const override {
    if (!config_.learned) return Strategy::open(rt);
    return std::make_unique<LearningSession>(rt, *this, owners_, width_, config_.learned->rate,
                                             learned_[at(rt.rank())]);
  }

  const LinkBatches* links() const override { return links_ ? &*links_ : nullptr; }

  std::shared_ptr<const Structure> prepare(int rank, StructureId) const override {
    return parts_.get(rank, [&] {
      Part part{part_of(rank), std::nullopt, {}};
      CutWork work;
      work.add(part.halo.own_block);
      work.add(part.halo.halo_block);
      if (by_relation_) {
        const HaloStructure halo = magnify_ == 1 ? part.halo : make_halo_structure(*source_, rank);
        part.relations = make_relations(*source_, halo, rank, magnify_);
        if (weighs_relations(model_))
          weigh_relations(part.relations, ends_, sources_of(rank, part.halo));
        for (const RelationMatrix& relation : part.relations.relations)
          if (relation.edges) {
            work.add(relation.edges->entries(), relation.edges->bytes());
          } else {
            work.add(relation.matrix);
            work.add(relation.transposed);
          }
      } else if (weighs_edges_) {
        part.edges = edges_of(rank, part.halo);
        work.add(part.edges->entries(), part.edges->bytes());
      }
      return make_structure(std::move(part), work.report());
    });
  }
  std::unique_ptr<RankProducts> load(Runtime& rt,
                                     std::shared_ptr<const Structure> structure) const override {
    const Part& content = content_of<Part>(*structure);  // parts_ keeps it
    const HaloStructure& part = content.halo;
    if (by_relation_) return std::make_unique<RelationProducts>(rt, *source_, content, config_);
    if (weighs_edges_) return std::make_unique<AttentionProducts>(rt, *source_, content, config_);
    if (samples()) return make_boundary_sampled(rt, *source_, part, config_, seed_, magnify_);
    if (config_.staleness > 0) return make_stale_halo(rt, *source_, part, config_);
    return std::make_unique<FullGraphProducts>(rt, *source_, part, config_);
  }

 private:
  void learn_features_of(const Problem& problem) {
    if (!problem.data)
      throw ConfigError("strategy.learn_features",
                        "needs the whole graph in memory, where checkpoints find the order of all "
                        "vertices: set dataset.path, or set it to false");
    owners_ = row_owners(problem.partition);
    width_ = problem.facts().features;
    for (const std::vector<Vertex>& members : problem.partition.members())
      learned_.push_back(learned_vertices(problem, members));
  }
  /// Whether halo rows are drawn: among the local rows, whatever number each represents.
  bool samples() const { return config_.boundary_sampling < 1; }
  HaloStructure part_of(int rank) const {
    HaloStructure part = make_halo_structure(*source_, rank);
    return magnify_ == 1 || samples() ? part : magnified(part, magnify_);
  }

  /// The global vertices of a rank's sources.
  std::vector<Vertex> sources_of(int rank, const HaloStructure& part) const {
    return source_vertices(part, *source_->vertices(rank).numbers(), [&](int other) {
      return std::span(*source_->vertices(other).numbers());
    });
  }
  EdgeStructure edges_of(int rank, const HaloStructure& part) const {
    if (!ends_ || magnify_ != 1) return make_edge_structure(part, source_->symmetric(), ends_);
    const auto own = source_->vertices(rank).numbers();
    const auto sources = sources_of(rank, part);
    EndVertices ends = *ends_;
    ends.rows = *own;
    ends.sources = sources;
    return make_edge_structure(part, source_->symmetric(), ends);
  }

  StrategyConfig config_;
  std::uint64_t seed_;
  ModelConfig model_;
  bool weighs_edges_, by_relation_;
  std::optional<EndVertices> ends_;  ///< keys of draws and of features of edges
  std::shared_ptr<const PartitionedGraph> source_;
  std::int64_t magnify_;
  std::optional<LinkBatches> links_;
  // Where features are learned:
  RowOwners owners_;
  std::vector<std::vector<bool>> learned_;  ///< whether those of each own vertex of a rank are
  std::int64_t width_ = 0;
  OncePerRank<std::shared_ptr<const Structure>> parts_;
};

/// Learned rows are those of this epoch, all of them, and change from epoch to epoch.
void require_possible_learning(const StrategyConfig& config, const ModelConfig& model) {
  const auto refuse = [](const char* key, const std::string& why) {
    throw ConfigError(key, why + ", or set strategy.learn_features to false");
  };
  if (config.boundary_sampling < 1)
    refuse("strategy.boundary_sampling",
           "leaves rows out, whose features would not be learned: set it to 1");
  if (config.staleness > 0)
    refuse("strategy.staleness", "uses rows from before the last step on them: set it to 0");
  if (config.first_layer == FirstLayer::mggcn_compat)
    refuse("strategy.first_layer",
           "\"mggcn_compat\" computes no gradient of features: use \"exact\"");
  if (model.sparse_input)
    refuse("model.sparse_input", "keeps features as they are: set it to false");
}

void require_possible_full_graph(const StrategyConfig& config, const ModelConfig& model) {
  const auto refuse_attention = [&](const char* key, const char* to) {
    throw ConfigError(key,
                      fmt::format("{} works on all edges of a vertex with rows of this epoch: set "
                                  "it to {}",
                                  model.type.name, to));
  };
  if (weighs_edges(model) && config.boundary_sampling < 1)
    refuse_attention("strategy.boundary_sampling", "1");
  if (weighs_edges(model) && config.staleness > 0) refuse_attention("strategy.staleness", "0");
  if (config.learned) require_possible_learning(config, model);
  const auto* smoothing = std::any_cast<StaleSmoothing>(&config.own);
  if (config.staleness == 0 && smoothing != nullptr) {
    const char* key =
        smoothing->features > 0 ? "strategy.smooth_features" : "strategy.smooth_gradients";
    throw ConfigError(key, "averages rows of earlier epochs: set strategy.staleness to 1");
  }
  if (config.staleness == 0) return;
  const auto refuse = [](const std::string& why) { throw ConfigError("strategy.staleness", why); };
  if (config.staleness > 1)
    refuse(
        "full_graph sends its halo in every epoch, so its rows are at most 1 epoch old; spmm_1d "
        "takes a larger bound");
  if (config.boundary_sampling < 1)
    refuse(
        "strategy.boundary_sampling draws other rows in each epoch, so those of the last epoch "
        "do not fit: choose one of the two");
  if (model.recompute > 0)
    refuse(
        "model.recompute would use other halo rows than the first time: set one of the two to 0");
}

void read_full_graph(const Settings& file, StrategyConfig& config) {
  config.boundary_sampling = file.number("strategy.boundary_sampling").value_or(1);
  config.staleness = file.integer("strategy.staleness", 0);
  const StaleSmoothing smoothing{file.number("strategy.smooth_features").value_or(0),
                                 file.number("strategy.smooth_gradients").value_or(0)};
  if (smoothing.features > 0 || smoothing.gradients > 0) config.own = smoothing;
  config.learned = read_learned_features(file);
}

void require_sound_full_graph(const Settings& file) {
  require_sound_learned_features(file);
  if (file.flag("strategy.learn_features").value_or(false) &&
      file.number("dataset.magnify").value_or(1) > 1)
    throw ConfigError("dataset.magnify", "does not go with strategy.learn_features: set it to 1");
}

std::optional<std::string> inexactness_of_full_graph(const StrategyConfig& config) {
  if (config.boundary_sampling < 1)
    return fmt::format("boundary_sampling {}: rows of other ranks are drawn, right in the mean",
                       config.boundary_sampling);
  if (config.staleness > 0)
    return fmt::format("staleness {}: rows of other ranks are older", config.staleness);
  return std::nullopt;
}

std::optional<std::string> why_no_forms_of_full_graph(const StrategyConfig& config) {
  if (config.learned)
    return "the papers' equations do not cover strategy.learn_features: use backend sim";
  if (config.staleness == 0 && config.boundary_sampling == 1) return std::nullopt;
  return "the papers' equations do not cover strategy.staleness and strategy.boundary_sampling: "
         "use backend sim";
}

}  // namespace

extern const StrategyInfo kFullGraph;
const StrategyInfo kFullGraph{
    .name = "full_graph",
    .make = [](const Problem& problem) -> std::unique_ptr<Strategy> {
      return std::make_unique<FullGraph>(problem);
    },
    .require_sound = require_sound_full_graph,
    .read = read_full_graph,
    .require_possible = require_possible_full_graph,
    .needs_structure = "the edges decide which rows a rank needs of the others",
    .edge_weights = true,
    .edge_features = true,
    .magnifiable = true,
    .sums_over_vertices = true,
    .carries_attention = true,
    .carries_relations = true,
    .predicts_links = true,
    .why_not_resumable = lost_with_stale_rows,
    .inexactness = inexactness_of_full_graph,
    .closed_forms = {ClosedForm::staged_products, ClosedForm::volume_of_cut,
                     ClosedForm::dependency_exchange},
    .why_no_closed_forms = why_no_forms_of_full_graph};

}  // namespace orrery
