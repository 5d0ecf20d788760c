// Mini-batch training on sampled neighbourhoods: every step takes some training vertices (seeds),
// draws neighbours for them layer by layer, and computes what the seeds depend on in that sample.
//
// Every process has the edges of the whole graph and draws the batches of its ranks itself; the rows
// of features lie with the ranks that own their vertices, and a batch's are pulled from there while
// the step before computes. Then each rank works on its batch alone, and gradients are averaged over
// all seeds of the step. Evaluation is on all neighbours, on all ranks, with a halo.
//
// Equal work: an epoch has as many steps on all ranks, fixed beforehand; who has fewer seeds ends
// with steps on an empty batch, whose gradient is zero, and makes the same updates as the others.
// The loss of a step is the mean over the seeds of all ranks, so it is that of one rank with the
// union of the batches: a vertex draws the same neighbours wherever it is computed.
//
// Received per step: 4·width bytes for each distinct vertex of the batch that another rank owns, and
// an all-reduce of the gradients.
//
// Source    Hamilton et al. 2017, GraphSAGE, algorithm 2; DistDGLv2 (5: owners, pulls, a pipeline);
//           LABOR, Balin and Çatalyürek 2023
// Departs   DistDGLv2 draws where the edges lie, by remote calls; here every process has all edges.
//           Labels are read from the data set, not pulled. Rows of A are scaled by degree / drawn,
//           so that sums are right in the mean also where A is no mean (GCN)
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <mutex>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/strategy/config/strategy_info.hpp"
#include "core/strategy/make_strategy.hpp"
#include "core/strategy/product/batch_products.hpp"
#include "core/strategy/strategy.hpp"

namespace orrery {
namespace {

constexpr int kWholeGraph = -1;  // as a structure; the others are numbers of steps
/// Batches that are drawn while a step computes. One would do if all took the same time.
constexpr int kAhead = 2;
/// Steps of an epoch, at most, whose batches are counted for a forecast.
constexpr int kCounted = 8;
/// What a drawn edge touches in the graph and in the numbering: a cache line each.
constexpr std::int64_t kBytesPerEdge = 2 * 64;

/// What a rank works on in a step.
struct Batch {
  std::shared_ptr<const SampledBatch> sampled;
  std::vector<EdgeStructure> edges;  ///< of each layer, where the model weighs them
};

class BatchSteps final : public Steps {
 public:
  explicit BatchSteps(std::shared_ptr<const SampledBatches> batches)
      : batches_(std::move(batches)) {}
  int count(int) const override { return batches_->steps(); }
  TrainStep at(int epoch, int index) const override {
    return {{index, epoch}, batches_->trained_on(epoch, index)};
  }

 private:
  std::shared_ptr<const SampledBatches> batches_;
};

/// Opens the store when the first batch is loaded, which all ranks do: a strategy that is only
/// evaluated needs none.
class MiniBatchSession final : public RankSession {
 public:
  MiniBatchSession(Runtime& rt, std::shared_ptr<const Dataset> data, const SampledBatches& batches,
                   std::unique_ptr<RankSession> whole)
      : rt_(rt), data_(std::move(data)), batches_(batches), whole_(std::move(whole)) {}

  std::unique_ptr<RankProducts> load(std::shared_ptr<const Structure> structure) override {
    const auto* batch = dynamic_cast<const StructureOf<Batch>*>(structure.get());
    if (batch == nullptr) return whole_->load(std::move(structure));
    if (!store_)
      store_.emplace(rt_, VertexData(data_, batches_.owned(rt_.rank())), data_->features->width(),
                     batches_.kept(rt_.rank()));
    const auto& [sampled, edges] = batch->of;
    return std::make_unique<BatchProducts>(rt_, sampled, VertexData(data_, sampled->vertices),
                                           edges, *store_);
  }
  void close() override {
    if (store_) store_->close();
    if (whole_) whole_->close();
  }

 private:
  Runtime& rt_;
  std::shared_ptr<const Dataset> data_;
  const SampledBatches& batches_;
  std::unique_ptr<RankSession> whole_;  ///< none where nothing is evaluated
  std::optional<FeatureStore> store_;
};

class MiniBatch final : public Strategy {
 public:
  explicit MiniBatch(const Problem& problem)
      : problem_(problem), batches_(std::make_shared<const SampledBatches>(problem)) {
    if (problem.train.eval_every == 0) return;
    Problem whole = problem;
    whole.strategy = {};
    whole.strategy.first_layer = FirstLayer::recompute;
    whole_ = make_strategy(whole);
  }

  Schedule schedule(int) const override {
    Schedule schedule;
    schedule.training = std::make_shared<BatchSteps>(batches_);
    schedule.evaluation.clear();
    if (whole_) schedule.evaluation = {kWholeGraph};
    schedule.ahead = kAhead;
    return schedule;
  }

  std::shared_ptr<const Structure> prepare(int rank, StructureId which) const override {
    if (which.number == kWholeGraph) return whole_->prepare(rank);
    auto made =
        std::make_shared<const SampledBatch>(batches_->batch(rank, which.draw, which.number));
    const HostWork work{"sample", made->edges, kBytesPerEdge * made->edges, 1};
    return make_structure(Batch{made, edges_of(*made)}, work);
  }

  std::unique_ptr<RankSession> open(Runtime& rt) const override {
    return std::make_unique<MiniBatchSession>(rt, problem_.data, *batches_,
                                              whole_ ? whole_->open(rt) : nullptr);
  }

  std::optional<BatchSizes> batch_sizes() const override {
    const std::size_t layers = at(problem_.model.layers);
    BatchSizes sizes;
    sizes.vertices.resize(layers + 1);
    sizes.edges.resize(layers);
    const auto count = [](BatchSizes::Size& size, std::int64_t number) {
      size.mean += static_cast<double>(number);
      size.most = std::max(size.most, number);
    };
    const int stride = (batches_->steps() + kCounted - 1) / kCounted;
    for (int step = 0; step < batches_->steps(); step += stride)
      for (int rank = 0; rank < problem_.ranks(); ++rank) {
        const SampledBatch batch = batches_->batch(rank, 0, step);
        for (std::size_t l = 0; l <= layers; ++l) count(sizes.vertices[l], batch.rows[l]);
        for (std::size_t l = 0; l < layers; ++l)
          count(sizes.edges[l], batch.layers[l].forward.nnz());
        sizes.foreign += static_cast<double>(batch.features.foreign);
        sizes.kept += static_cast<double>(batch.features.kept);
        ++sizes.batches;
      }
    for (double* sum : {&sizes.foreign, &sizes.kept}) *sum /= static_cast<double>(sizes.batches);
    for (auto* list : {&sizes.vertices, &sizes.edges})
      for (BatchSizes::Size& size : *list) size.mean /= static_cast<double>(sizes.batches);
    const SampledBatches::Bounds bounds = batches_->bounds();
    for (std::size_t l = 0; l <= layers; ++l) sizes.vertices[l].bound = bounds.vertices[l];
    for (std::size_t l = 0; l < layers; ++l) sizes.edges[l].bound = bounds.edges[l];
    return sizes;
  }

 private:
  std::vector<EdgeStructure> edges_of(const SampledBatch& batch) const {
    std::vector<EdgeStructure> edges;
    if (!weighs_edges(problem_.model)) return edges;
    std::optional<EndVertices> ends;
    if (problem_.model.attention_dropout > 0) ends = EndVertices{*batch.vertices, *batch.vertices};
    const SampledBatch::Layer* before = nullptr;
    for (const SampledBatch::Layer& layer : batch.layers) {
      const bool as_before = before != nullptr && before->forward.values == layer.forward.values;
      edges.push_back(as_before ? EdgeStructure(edges.back())
                                : make_edge_structure(layer.forward, ends));
      before = &layer;
    }
    return edges;
  }

  Problem problem_;
  std::shared_ptr<const SampledBatches> batches_;
  std::unique_ptr<Strategy> whole_;  ///< evaluates
};

bool draws_fanouts(const MiniBatchSettings& settings) {
  return settings.sampler == BatchSampler::neighbour || settings.sampler == BatchSampler::labor;
}

void require_possible_batches(const StrategyConfig& config, const ModelConfig& model) {
  if (model.sparse_input)
    throw ConfigError("model.sparse_input",
                      "rows of features are pulled from their owners as they are: set it to "
                      "false, or use another strategy.type");
  const MiniBatchSettings settings = mini_batch_of(config);
  if (weighs_edges(model) && settings.replace)
    throw ConfigError("strategy.replace",
                      fmt::format("{} weighs each neighbour once, however often it was drawn: set "
                                  "it to false",
                                  model.type.name));
  if (!draws_fanouts(settings)) return;
  if (settings.fanouts.size() != at(model.layers))
    throw ConfigError(
        "strategy.fanouts",
        fmt::format("found [{}], expected a number for each of the {} layers of the model, the "
                    "first at the seeds, such as 10 neighbours, or -1 for all",
                    fmt::join(settings.fanouts, ", "), model.layers));
  for (const int fanout : settings.fanouts)
    if (fanout != kAllNeighbours && fanout < 1)
      throw ConfigError(
          "strategy.fanouts",
          fmt::format("found {}, expected -1 (all neighbours) or a number >= 1", fanout));
}

void require_sound(const Settings& file) {
  const bool all = file.is("strategy.sampler", "all"),
             clusters = file.is("strategy.sampler", "cluster");
  if ((all || clusters) && file.has("strategy.fanouts"))
    throw ConfigError("strategy.fanouts",
                      "goes with strategy.sampler neighbour or labor: the others take every "
                      "neighbour that they have; leave it out");
  if (!file.is("strategy.sampler", "neighbour") && file.flag("strategy.replace").value_or(false))
    throw ConfigError("strategy.replace", "goes with strategy.sampler neighbour: set it to false");
  for (const char* key : {"strategy.clusters", "strategy.together"})
    if (!clusters && file.has(key))
      throw ConfigError(key, "goes with strategy.sampler cluster: leave it out");
  if (!clusters) return;
  const auto parts = file.number("strategy.clusters"), together = file.number("strategy.together");
  if (!parts)
    throw ConfigError("strategy.clusters",
                      "is needed with strategy.sampler cluster: the number of parts that METIS "
                      "cuts the graph into");
  if (together.value_or(1) > *parts)
    throw ConfigError("strategy.together", fmt::format("found {}, but there are {} clusters",
                                                       file.shown("strategy.together"),
                                                       file.shown("strategy.clusters")));
  if (file.is("strategy.cache.policy", "vip"))
    throw ConfigError("strategy.cache.policy",
                      "\"vip\" is of vertices that seeds draw, and a cluster has no seeds: use "
                      "\"presampled\" or \"degree\"");
}

void read(const Settings& file, StrategyConfig& config) {
  MiniBatchSettings settings;
  settings.batch = file.integer("strategy.batch", 1000);
  settings.seeds = file.choice<SeedsFrom>(
      "strategy.seeds", {{"local", SeedsFrom::own}, {"global", SeedsFrom::all}}, settings.seeds);
  settings.sampler = file.choice<BatchSampler>("strategy.sampler",
                                               {{"neighbour", BatchSampler::neighbour},
                                                {"labor", BatchSampler::labor},
                                                {"all", BatchSampler::all},
                                                {"cluster", BatchSampler::cluster}},
                                               settings.sampler);
  settings.clusters = file.integer("strategy.clusters", settings.clusters);
  settings.together = file.integer("strategy.together", settings.together);
  settings.cache.policy = file.choice<CachePolicy>("strategy.cache.policy",
                                                   {{"degree", CachePolicy::degree},
                                                    {"presampled", CachePolicy::presampled},
                                                    {"vip", CachePolicy::vip}},
                                                   settings.cache.policy);
  settings.cache.bytes = file.bytes("strategy.cache.bytes").value_or(0);
  settings.fanouts = file.integers("strategy.fanouts").value_or(std::vector<int>{});
  settings.replace = file.flag("strategy.replace").value_or(false);
  settings.resample_steps = !file.is("strategy.resample", "epoch");
  config.own = settings;
}

std::optional<std::string> inexactness_of(const StrategyConfig& config) {
  const MiniBatchSettings settings = mini_batch_of(config);
  if (settings.sampler == BatchSampler::all) return std::nullopt;
  if (settings.sampler == BatchSampler::cluster)
    return fmt::format("clusters {}, {} together: they are those of the edges within a batch",
                       settings.clusters, settings.together);
  return fmt::format("fanouts {}: they are those of sampled neighbours",
                     fmt::join(settings.fanouts, ", "));
}

std::optional<std::string> why_no_closed_forms(const StrategyConfig&) {
  return "no paper's equations are known here for sampled batches: use backend sim";
}

}  // namespace

extern const StrategyInfo kMiniBatch;
const StrategyInfo kMiniBatch{
    .name = "mini_batch",
    .make = [](const Problem& problem) -> std::unique_ptr<Strategy> {
      return std::make_unique<MiniBatch>(problem);
    },
    .defaults = [](const Settings&) -> std::vector<SettingDefault> {
      return {{"partition.method", "metis"}};
    },
    .require_sound = require_sound,
    .read = read,
    .require_possible = require_possible_batches,
    .by_server = true,
    .needs_structure = "which neighbours a batch has is drawn among the edges",
    .needs_whole_data = "draws neighbours among all edges of the graph",
    .opens_stores = true,
    .carries_attention = true,
    .inexactness = inexactness_of,
    .why_no_closed_forms = why_no_closed_forms};

}  // namespace orrery
