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
// Received per step: 4·width bytes (2·width of features in 16 bits) for each distinct vertex of the batch that another rank owns, and
// an all-reduce of the gradients.
//
// Source    Hamilton et al. 2017, GraphSAGE, algorithm 2; DistDGLv2 (5: owners, pulls, a pipeline);
//           LABOR, Balin and Çatalyürek 2023; GraphSAINT, Zeng et al. 2020; Cluster-GCN, Chiang et
//           al. 2019
// Departs   DistDGLv2 draws where the edges lie, by remote calls; here every process has all edges.
//           Labels are read from the data set, not pulled. Rows of A are scaled by degree / drawn,
//           so that sums are right in the mean also where A is no mean (GCN). GraphSAINT draws from
//           the training vertices alone; here from the graph that is trained on, which is that of
//           the training vertices with dataset.inductive
#include <fmt/core.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/strategy/config/strategy_info.hpp"
#include "core/strategy/make_strategy.hpp"
#include "core/strategy/product/batch_products.hpp"
#include "core/strategy/product/fetched_batch_products.hpp"
#include "core/strategy/store/recent_rows.hpp"
#include "core/strategy/strategy.hpp"

namespace orrery {
namespace {

constexpr int kWholeGraph = -1;  // as a structure; the others are numbers of steps
/// Steps of an epoch, at most, whose batches are counted for a forecast where each is as good.
constexpr int kCounted = 8;

/// What a rank works on in a step.
struct Batch {
  std::shared_ptr<const SampledBatch> sampled;
  std::vector<EdgeStructure> edges;  ///< of each layer, where the model weighs them
};

class BatchSteps final : public Steps {
 public:
  /// `count`: of an epoch; beyond the steps that there are they begin anew.
  BatchSteps(std::shared_ptr<const SampledBatches> batches, int count)
      : batches_(std::move(batches)), count_(count) {}
  int count(int) const override { return count_; }
  TrainStep at(int epoch, int index) const override {
    return {{index, epoch}, batches_->trained_on(epoch, index % batches_->steps())};
  }

 private:
  std::shared_ptr<const SampledBatches> batches_;
  int count_;
};

/// Opens the store when the first batch is loaded, which all ranks do: a strategy that is only
/// evaluated needs none.
class MiniBatchSession final : public RankSession {
 public:
  MiniBatchSession(Runtime& rt, std::shared_ptr<const Dataset> data, const SampledBatches& batches,
                   const StagesAhead& ahead, std::unique_ptr<RankSession> whole)
      : rt_(rt),
        data_(std::move(data)),
        batches_(batches),
        ahead_(ahead),
        whole_(std::move(whole)) {}

  void fetch(const std::shared_ptr<const Structure>& structure) override {
    const SampledBatch& batch = *content_of<Batch>(*structure).sampled;
    if (!store_) {
      find_kept();
      open_store(0);
      fetched_.emplace(rt_, *store_, ahead_.fetch, batches_.bounds().vertices.front());
    }
    count(batch.features);
    fetched_->fetch(batch.features, !batch.vertices);
  }
  std::unique_ptr<RankProducts> load(std::shared_ptr<const Structure> structure) override {
    const auto* batch = dynamic_cast<const StructureOf<Batch>*>(structure.get());
    if (batch == nullptr) return whole_->load(std::move(structure));
    const auto& [sampled, edges] = batch->of;
    const auto& vertices = sampled->vertices;
    const std::int64_t all = sampled->rows.front(), own = sampled->rows.back();
    const VertexData data =
        vertices ? VertexData(data_, sampled->data_rows) : VertexData(all, own, {own, own, own});
    if (fetched_)
      return std::make_unique<FetchedBatchProducts>(rt_, sampled, data, edges, *fetched_);
    if (!keeps_) find_kept();
    WantedRows wanted = recent_ && vertices ? recent_->want(*vertices) : sampled->features;
    if (!vertices) wanted.room += kept();  // a batch that is only counted knows no rank
    if (!store_) open_store(wanted.room);
    count(wanted);
    return std::make_unique<PulledBatchProducts>(rt_, sampled, data, edges, std::move(wanted),
                                                 *store_);
  }
  RowUse row_use() const override { return use_; }
  void close() override {
    if (fetched_) fetched_->close();
    if (store_) store_->close();
    if (whole_) whole_->close();
  }

 private:
  void find_kept() {
    keeps_ = batches_.kept(rt_.rank());
    if (auto cache = batches_.recent(rt_.rank()))
      recent_.emplace(rt_.rank(), std::move(*cache), batches_.owners());
  }
  void count(const WantedRows& rows) {
    use_.foreign += rows.foreign;
    use_.kept += rows.kept;
  }
  /// Rows, for the whole run or for a while.
  std::int64_t kept() const { return keeps_->count() + (recent_ ? recent_->slots() : 0); }
  /// `first`: places that the first batch wants.
  void open_store(std::int64_t first) {
    std::optional<FeatureStore::Room> room;
    if (kept() > 0 && ahead_.fetch == 0)
      room = {first, kept() + batches_.bounds().vertices.front()};
    VertexData own(data_, batches_.owned(rt_.rank()));
    if (data_->magnify > 1) own = own.magnified(0, data_->magnify);
    store_.emplace(rt_, own, data_->features->width(),
                   data_->features->half() ? DType::f16 : DType::f32, *keeps_, room);
  }

  Runtime& rt_;
  std::shared_ptr<const Dataset> data_;
  const SampledBatches& batches_;
  StagesAhead ahead_;
  std::unique_ptr<RankSession> whole_;  ///< none where nothing is evaluated
  std::optional<OwnedRows> keeps_;      ///< for the whole run; found with the first batch
  std::optional<RecentRows> recent_;
  std::optional<FeatureStore> store_;
  std::optional<RowsAhead> fetched_;  ///< where rows are fetched ahead of what is loaded
  RowUse use_;
};

class MiniBatch final : public Strategy {
 public:
  explicit MiniBatch(const Problem& problem)
      : MiniBatch(problem, std::make_shared<const SampledBatches>(problem), nullptr) {}
  /// `largest`: the batch of every step; null: those that are drawn.
  MiniBatch(const Problem& problem, std::shared_ptr<const SampledBatches> batches,
            std::shared_ptr<const SampledBatch> largest)
      : problem_(problem), batches_(std::move(batches)), largest_(std::move(largest)) {
    if (problem.train.eval_every == 0) return;
    Problem whole = problem;
    whole.strategy = {};
    whole.strategy.first_layer = FirstLayer::recompute;
    whole_ = make_strategy(whole);
  }

  Schedule schedule(int) const override {
    Schedule schedule;
    // Further ones of the same size would take no more memory.
    const int steps = largest_ ? ahead().together() : batches_->steps();
    schedule.training = std::make_shared<BatchSteps>(batches_, steps);
    schedule.evaluation.clear();
    if (whole_) schedule.evaluation = {kWholeGraph};
    schedule.ahead = ahead();
    return schedule;
  }

  std::shared_ptr<const Structure> prepare(int rank, StructureId which) const override {
    if (which.number == kWholeGraph) return whole_->prepare(rank);
    std::shared_ptr<const SampledBatch> made = largest_;
    if (!made)
      made = std::make_shared<const SampledBatch>(batches_->batch(rank, which.draw, which.number));
    const HostWork work = drawing_work(*made);
    std::vector<EdgeStructure> edges = edges_of(problem_.model, *made);
    return make_structure(Batch{std::move(made), std::move(edges)}, work);
  }

  std::unique_ptr<RankSession> open(Runtime& rt) const override {
    return std::make_unique<MiniBatchSession>(rt, problem_.data, *batches_, ahead(),
                                              whole_ ? whole_->open(rt) : nullptr);
  }

  std::unique_ptr<Strategy> with_largest_batches() const override {
    return std::make_unique<MiniBatch>(problem_, batches_,
                                       std::make_shared<const SampledBatch>(batches_->largest()));
  }

  std::vector<std::string> notes() const override {
    const std::int64_t never = batches_->never_drawn();
    if (never == 0) return {};
    const bool edges = mini_batch_of(problem_.strategy).sampler == BatchSampler::saint_edge;
    return {
        fmt::format("{} of {} training vertices are never trained on, and the loss counts them "
                    "as 0: {}",
                    never, problem_.facts().training_vertices,
                    edges ? "saint-edge draws edges, and they have none"
                          : "saint-node draws vertices that others aggregate, and they are "
                            "aggregated by none")};
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
    std::vector<std::optional<RecentRows>> recent(at(problem_.ranks()));
    for (int rank = 0; rank < problem_.ranks(); ++rank)
      if (auto cache = batches_->recent(rank))
        recent[at(rank)].emplace(rank, std::move(*cache), batches_->owners());
    // What a cache of recent rows has depends on all batches before.
    const bool all =
        std::any_of(recent.begin(), recent.end(), [](const auto& r) { return bool(r); });
    const int stride = all ? 1 : (batches_->steps() + kCounted - 1) / kCounted;
    for (int step = 0; step < batches_->steps(); step += stride)
      for (int rank = 0; rank < problem_.ranks(); ++rank) {
        SampledBatch batch = batches_->batch(rank, 0, step);
        if (auto& cache = recent[at(rank)]) batch.features = cache->want(*batch.vertices);
        for (std::size_t l = 0; l <= layers; ++l) count(sizes.vertices[l], batch.rows[l]);
        for (std::size_t l = 0; l < layers; ++l)
          count(sizes.edges[l], batch.layers[l].forward.nnz());
        count(sizes.host_bytes, host_bytes(batch, edges_of(problem_.model, batch)));
        sizes.foreign += static_cast<double>(batch.features.foreign);
        sizes.kept += static_cast<double>(batch.features.kept);
        ++sizes.batches;
      }
    for (double* sum : {&sizes.foreign, &sizes.kept}) *sum /= static_cast<double>(sizes.batches);
    sizes.host_bytes.mean /= static_cast<double>(sizes.batches);
    for (auto* list : {&sizes.vertices, &sizes.edges})
      for (BatchSizes::Size& size : *list) size.mean /= static_cast<double>(sizes.batches);
    const SampledBatches::Bounds bounds = batches_->bounds();
    const SampledBatch largest = batches_->largest();
    sizes.host_bytes.bound = host_bytes(largest, edges_of(problem_.model, largest));
    for (std::size_t l = 0; l <= layers; ++l) sizes.vertices[l].bound = bounds.vertices[l];
    for (std::size_t l = 0; l < layers; ++l) sizes.edges[l].bound = bounds.edges[l];
    return sizes;
  }

 private:
  StagesAhead ahead() const { return mini_batch_of(problem_.strategy).ahead; }

  Problem problem_;
  std::shared_ptr<const SampledBatches> batches_;
  std::shared_ptr<const SampledBatch> largest_;
  std::unique_ptr<Strategy> whole_;  ///< evaluates
};

const std::initializer_list<std::pair<std::string_view, BatchSampler>> kSamplers{
    {"neighbour", BatchSampler::neighbour},
    {"labor", BatchSampler::labor},
    {"all", BatchSampler::all},
    {"cluster", BatchSampler::cluster},
    {"saint-node", BatchSampler::saint_node},
    {"saint-edge", BatchSampler::saint_edge},
    {"saint-walk", BatchSampler::saint_walk}};

bool draws_fanouts(BatchSampler sampler) {
  return sampler == BatchSampler::neighbour || sampler == BatchSampler::labor;
}
void require_possible_batches(const StrategyConfig& config, const ModelConfig& model) {
  if (model.sparse_input)
    throw ConfigError("model.sparse_input",
                      "rows of features are pulled from their owners as they are: set it to "
                      "false, or use another strategy.type");
  const MiniBatchSettings settings = mini_batch_of(config);
  if (weighs_edges(model) && (settings.replace || is_saint(settings.sampler)))
    throw ConfigError(
        settings.replace ? "strategy.replace" : "strategy.sampler",
        fmt::format("{} weighs each neighbour by its own scores, not by how often or how likely it "
                    "was drawn: {}",
                    model.type.name,
                    settings.replace ? "set it to false" : "use neighbour, labor, cluster or all"));
  if (!draws_fanouts(settings.sampler)) return;
  require_fanouts(settings.fanouts, model.layers);
}

void require_sound(const Settings& file) {
  const auto sampler = file.choice<BatchSampler>("strategy.sampler", kSamplers, {});
  const auto policy =
      file.choice<CachePolicy>("strategy.cache.policy", kCachePolicies, CachePolicy::degree);
  if (file.integer("strategy.pipeline.fetch", 0) > 0 && keeps_recent(policy))
    throw ConfigError("strategy.pipeline.fetch",
                      fmt::format("strategy.cache.policy {} keeps rows where they were pulled to, "
                                  "for one batch at a time: set it to 0, or use degree, presampled "
                                  "or vip",
                                  file.shown("strategy.cache.policy")));
  if (!draws_fanouts(sampler) && file.has("strategy.fanouts"))
    throw ConfigError("strategy.fanouts",
                      "goes with strategy.sampler neighbour or labor: the others take every "
                      "neighbour that they have; leave it out");
  if (sampler != BatchSampler::neighbour && file.flag("strategy.replace").value_or(false))
    throw ConfigError("strategy.replace", "goes with strategy.sampler neighbour: set it to false");
  if (!draws_fanouts(sampler) && file.is("strategy.resample", "epoch"))
    throw ConfigError("strategy.resample",
                      "\"epoch\" is of neighbours that are drawn, with strategy.sampler neighbour "
                      "or labor: set it to \"step\"");
  if (draws_seeds(sampler)) return;
  if (file.has("strategy.seeds") && !file.is("strategy.seeds", "local"))
    throw ConfigError("strategy.seeds",
                      fmt::format("{} is of seeds, and batches of strategy.sampler cluster and "
                                  "saint-* have none: each rank draws batches of its own; set it "
                                  "to \"local\"",
                                  file.shown("strategy.seeds")));
  if (file.is("strategy.cache.policy", "vip"))
    throw ConfigError("strategy.cache.policy",
                      "\"vip\" is of vertices that seeds draw, and batches of strategy.sampler "
                      "cluster and saint-* have none: use \"presampled\" or \"degree\"");
  if (sampler != BatchSampler::cluster) return;
  if (file.has("strategy.batch"))
    throw ConfigError(
        "strategy.batch",
        "a batch of strategy.sampler cluster is strategy.together of its parts: leave "
        "it out");
  const auto parts = file.number("strategy.clusters"), together = file.number("strategy.together");
  if (!parts)
    throw ConfigError("strategy.clusters",
                      "is needed with strategy.sampler cluster: the number of parts that METIS "
                      "cuts the graph into");
  if (together.value_or(1) > *parts)
    throw ConfigError("strategy.together", fmt::format("found {}, but there are {} clusters",
                                                       file.shown("strategy.together"),
                                                       file.shown("strategy.clusters")));
}

void read(const Settings& file, StrategyConfig& config) {
  MiniBatchSettings settings;
  settings.batch = file.integer("strategy.batch", 1000);
  settings.seeds = file.choice<SeedsFrom>(
      "strategy.seeds",
      {{"local", SeedsFrom::own}, {"server", SeedsFrom::server}, {"global", SeedsFrom::all}},
      settings.seeds);
  settings.sampler = file.choice<BatchSampler>("strategy.sampler", kSamplers, settings.sampler);
  settings.walk_length = file.integer("strategy.walk_length", settings.walk_length);
  settings.coverage = file.integer("strategy.coverage", settings.coverage);
  settings.clusters = file.integer("strategy.clusters", settings.clusters);
  settings.together = file.integer("strategy.together", settings.together);
  settings.cache.policy =
      file.choice<CachePolicy>("strategy.cache.policy", kCachePolicies, settings.cache.policy);
  settings.cache.bytes = file.bytes("strategy.cache.bytes").value_or(0);
  settings.fanouts = file.integers("strategy.fanouts").value_or(std::vector<int>{});
  settings.replace = file.flag("strategy.replace").value_or(false);
  settings.resample_steps = !file.is("strategy.resample", "epoch");
  StagesAhead& ahead = settings.ahead;
  ahead.sample = file.integer("strategy.pipeline.sample", ahead.sample);
  ahead.fetch = file.integer("strategy.pipeline.fetch", ahead.fetch);
  ahead.load = file.integer("strategy.pipeline.load", ahead.load);
  config.own = settings;
}

std::optional<std::string> inexactness_of(const StrategyConfig& config) {
  const MiniBatchSettings settings = mini_batch_of(config);
  if (settings.sampler == BatchSampler::all) return std::nullopt;
  if (settings.sampler == BatchSampler::cluster)
    return fmt::format("clusters {}, {} together: they are those of the edges within a batch",
                       settings.clusters, settings.together);
  if (is_saint(settings.sampler))
    return fmt::format("subgraphs of {} draws: they are those of the edges within a subgraph",
                       settings.batch);
  return sampled_fanouts(settings.fanouts);
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
    .magnifiable = true,
    .opens_stores = true,
    .carries_attention = true,
    .inexactness = inexactness_of,
    .learns_from =
        [](const StrategyConfig& config) {
          return mini_batch_of(config).seeds == SeedsFrom::all ? LearnsFrom::settings
                                                               : LearnsFrom::cut;
        },
    .why_no_closed_forms = why_no_closed_forms};

}  // namespace orrery
