// Mini-batch training on sampled neighbourhoods: every step takes some training vertices (seeds),
// draws neighbours for them layer by layer, and computes what the seeds depend on in that sample.
//
// Every process has the edges of the whole graph and draws the batches of its ranks itself. The
// feature rows lie with the ranks that own their vertices; a batch pulls its rows from there while
// the step before computes. Then each rank works on its batch alone, and gradients are averaged
// over all seeds of the step. Evaluation uses all neighbours, on all ranks, with a halo.
//
// Equal work: an epoch has the same number of steps on all ranks, fixed beforehand. A rank with
// fewer seeds ends with steps on an empty batch, whose gradient is zero; it makes the same updates
// as the others. The loss of a step is the mean over the seeds of all ranks. So it is that of one
// rank with the union of the batches: a vertex draws the same neighbours wherever it is computed.
//
// With weights of edges a row is the weighted mean of the drawn edges, or the plain mean of
// neighbours that were drawn by weight.
//
// With `cooperative` the ranks of a server draw one batch for all their seeds, and each computes
// the rows of the vertices that it owns (cooperative_batch.hpp). Nothing is computed or fetched
// twice in a server; rows travel inside it for every layer.
//
// If features are learned, too (learned_rows.hpp), owners send the rows of a batch when its step
// begins, and get their gradients back when it ends. For that every rank knows the batches of all.
//
// Features of edges lie in a store of their own, with the owners of their edges' destinations
// (edge_rows.hpp), and are pulled with the batch. Evaluation takes those of a rank's own rows from the
// data.
//
// With `relabel` on the device, a batch comes there with vertices at the ends of its edges. The host finds
// the distinct ones, because it draws for them and fetches their rows; the device gives them their numbers
// and makes the transposed blocks (DistDGLv2, 4.2.2, whose CPUs find the vertices of each hop as well).
//
// Received per step: 4·width bytes (2·width of features in 16 bits) for each distinct vertex of the
// batch that another rank owns, as many for each distinct row of features of edges that another rank
// has, and an all-reduce of the gradients; of learned features as many bytes back again.
//
// Source    Hamilton et al. 2017, GraphSAGE, algorithm 2; DistDGLv2 (5: owners, pulls, a pipeline);
//           LABOR, Balin and Çatalyürek 2023; GraphSAINT, Zeng et al. 2020; Cluster-GCN, Chiang et
//           al. 2019; GraNNDis (4.4) for batches of a server
// Departs   DistDGLv2 draws where the edges lie, by remote calls; here every process has all edges.
//           Labels are read from the data set, not pulled. Rows of A are scaled by degree / drawn,
//           so sums are right in the mean even if A is no mean (GCN). GraphSAINT draws from the
//           training vertices alone; here from the graph that is trained on, which is that of the
//           training vertices with dataset.inductive
#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <numeric>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/strategy/batches/mini_batch_keys.hpp"
#include "core/strategy/batches/resampled_steps.hpp"
#include "core/strategy/config/strategy_info.hpp"
#include "core/strategy/make_strategy.hpp"
#include "core/strategy/product/batch_products.hpp"
#include "core/strategy/product/cooperative_batch.hpp"
#include "core/strategy/product/learned_batch.hpp"
#include "core/strategy/store/edge_store.hpp"
#include "core/strategy/store/recent_rows.hpp"
#include "core/strategy/strategy.hpp"

namespace orrery {
namespace {

/// Largest number of steps of an epoch whose batches are counted for a forecast in which all steps
/// are alike.
constexpr int kCounted = 8;

/// A rank's structure in a step.
struct Batch {
  std::shared_ptr<const SampledBatch> sampled;
  std::vector<EdgeStructure> edges;    ///< edges of each layer, if the model weighs them
  std::optional<RowExchange> learned;  ///< set if features are learned
  /// Set if the ranks of a server compute a batch together; `sampled` is a part of it, and it has
  /// the edges.
  std::shared_ptr<const CooperativeShare> share{};
  std::optional<WantedRows> edge_rows{};  ///< set if edges have features
};

/// Which rank brings which learned rows in a step: every rank must know the batches of all. Adds
/// the edges that are drawn for that to `edges`.
RowExchange exchange_of(const SampledBatches& batches, int rank, StructureId step,
                        const SampledBatch& own, std::int64_t& edges) {
  const int ranks = batches.owners().ranks;
  if (!own.vertices) {
    std::vector<std::int64_t> owned;
    for (int r = 0; r < ranks; ++r) owned.push_back(std::ssize(*batches.owned(r)));
    return largest_row_exchange(rank, own.rows.front(), owned,
                                batches.cooperative() ? batches.ranks_per_server() : 1);
  }
  batches.share_asked(rank, step.draw, step.number, own);
  std::vector<OwnedRows> asked;
  for (int r = 0; r < ranks; ++r) {
    if (r == rank) {
      asked.push_back(own.features.pulled);
      continue;
    }
    auto [rows, drawn] = batches.asked(r, step.draw, step.number);
    asked.push_back(std::move(rows));
    const int together = batches.cooperative() ? batches.ranks_per_server() : 1;
    if (r % together == 0 && r / together != rank / together) edges += drawn;
  }
  return make_row_exchange(rank, asked, *own.features.places, batches.learned(rank));
}

ResampledSteps resampled(const SampledBatches& batches, const Problem& problem) {
  std::vector<std::int64_t> kinds;
  for (int step = 0; step < batches.steps(); ++step) kinds.push_back(batches.taken(step));
  return {mini_batch_of(problem.strategy).drawn_steps, kinds, problem.train.seed};
}

class BatchSteps final : public Steps {
 public:
  /// `count`: number of steps of an epoch; beyond the last step they begin again.
  BatchSteps(std::shared_ptr<const SampledBatches> batches,
             std::shared_ptr<const ResampledSteps> resampled, int count)
      : batches_(std::move(batches)), resampled_(std::move(resampled)), count_(count) {}
  int count(int) const override { return count_; }
  TrainStep at(int epoch, int index) const override {
    const auto [from, step] = resampled_->of({epoch, index % batches_->steps()});
    return {{step, from}, batches_->trained_on(from, step)};
  }

 private:
  std::shared_ptr<const SampledBatches> batches_;
  std::shared_ptr<const ResampledSteps> resampled_;
  int count_;
};

/// The structures of a rank that later steps take again; none if every step has its own.
class Recurring {
 public:
  explicit Recurring(int ranks) : ranks_(at(ranks)) {}

  template <class Make>
  std::shared_ptr<const Structure> get(int rank, const StructureId& which, const Make& make) {
    OfRank& kept = ranks_[at(rank)];
    const std::lock_guard lock(kept.mutex);
    auto& structure = kept.structures[{which.draw, which.number}];
    if (!structure) structure = make();
    return structure;
  }
  /// The rank has done its last step: a simulation of many ranks holds those of a few at a time.
  void forget(int rank) {
    OfRank& kept = ranks_[at(rank)];
    const std::lock_guard lock(kept.mutex);
    kept.structures.clear();
  }

 private:
  struct OfRank {
    std::mutex mutex;
    std::map<std::pair<int, int>, std::shared_ptr<const Structure>> structures;
  };
  std::deque<OfRank> ranks_;
};

/// Opens the store when the first batch is loaded, which all ranks do. A strategy that is only
/// evaluated needs no store.
class MiniBatchSession final : public RankSession {
 public:
  /// `edge_rows`: null if edges have no features; `most_edge_rows`: of any batch.
  MiniBatchSession(Runtime& rt, std::shared_ptr<const Dataset> data, const SampledBatches& batches,
                   Recurring& recurring, const EdgeRows* edge_rows, std::int64_t most_edge_rows,
                   const StagesAhead& ahead, std::unique_ptr<RankSession> whole)
      : rt_(rt),
        data_(std::move(data)),
        batches_(batches),
        recurring_(recurring),
        edge_rows_(edge_rows),
        most_edge_rows_(most_edge_rows),
        ahead_(ahead),
        whole_(std::move(whole)) {
    if (const auto& learned = batches_.learned_features())
      learned_.emplace(rt_, VertexData(data_, batches_.owned(rt_.rank())), batches_.owners(),
                       data_->features->width(), learned->rate);
  }

  void fetch(const std::shared_ptr<const Structure>& structure) override {
    const Batch& of_step = content_of<Batch>(*structure);
    const SampledBatch& batch = *of_step.sampled;
    if (!store_) {
      find_kept();
      open_store(0);
      fetched_.emplace(rt_, *store_, ahead_.fetch, batches_.bounds().vertices.front());
    }
    count(batch.features);
    fetched_->fetch(batch.features, !batch.vertices);
    if (of_step.edge_rows) edge_store().fetch(*of_step.edge_rows, !batch.vertices);
  }
  std::unique_ptr<RankProducts> load(std::shared_ptr<const Structure> structure) override {
    const auto* batch = dynamic_cast<const StructureOf<Batch>*>(structure.get());
    if (batch == nullptr) return load_whole(std::move(structure));
    const auto& [sampled, edges, exchange, share, edge_rows] = batch->of;
    const auto& vertices = sampled->vertices;
    const std::int64_t all = sampled->rows.front(), own = sampled->rows.back();
    const VertexData data =
        vertices ? VertexData(data_, sampled->data_rows ? sampled->data_rows : vertices)
                 : VertexData(all, own, {own, own, own});
    FeaturesOfEdges of_edges;
    if (edge_rows) of_edges = edge_store().bring(*edge_rows);
    if (fetched_)
      return std::make_unique<FetchedBatchProducts>(rt_, sampled, data, edges, std::move(of_edges),
                                                    *fetched_);
    if (learned_) {
      use_.foreign += sampled->features.foreign;
      if (share)
        return std::make_unique<WithLearnedRows<CooperativeProducts>>(
            rt_, *exchange, *learned_, share, data, server(), std::move(of_edges), nullptr);
      return std::make_unique<WithLearnedRows<BatchProducts>>(rt_, *exchange, *learned_, sampled,
                                                              data, edges, std::move(of_edges));
    }
    if (!keeps_) find_kept();
    WantedRows wanted = recent_ && vertices ? recent_->want(*vertices) : sampled->features;
    if (!vertices) wanted.room += kept();  // a batch that is only counted has no rank
    if (!store_) open_store(wanted.room);
    count(wanted);
    if (share)
      return std::make_unique<CooperativeProducts>(rt_, share, data, server(), std::move(of_edges),
                                                   &*store_);
    return std::make_unique<PulledBatchProducts>(rt_, sampled, data, edges, std::move(of_edges),
                                                 std::move(wanted), *store_);
  }
  RowUse row_use() const override { return use_; }
  LearnedTable* learned_table() override { return learned_ ? &*learned_ : nullptr; }
  void close() override {
    recurring_.forget(rt_.rank());
    if (fetched_) fetched_->close();
    if (store_) store_->close();
    if (edge_store_) edge_store_->close();
    if (whole_) whole_->close();
  }

 private:
  Group server() const {
    const int ranks = batches_.ranks_per_server();
    return {1, rt_.rank() / ranks * ranks, ranks, 1};
  }
  /// Evaluates the present weights.
  std::unique_ptr<RankProducts> load_whole(std::shared_ptr<const Structure> structure) {
    auto products = whole_->load(std::move(structure));
    if (learned_)
      products->fill_features_by([this, vertices = products->vertices()](const Tensor& features) {
        learned_->copy_own(vertices, features);
      });
    return products;
  }
  void find_kept() {
    keeps_ = batches_.kept(rt_.rank());
    if (auto cache = batches_.recent(rt_.rank()))
      recent_.emplace(rt_.rank(), std::move(*cache), batches_.owners());
  }
  void count(const WantedRows& rows) {
    use_.foreign += rows.foreign;
    use_.kept += rows.kept;
  }
  /// Rows that are kept, for the whole run or for a while.
  std::int64_t kept() const { return keeps_->count() + (recent_ ? recent_->slots() : 0); }
  /// `first`: places that the first batch needs.
  void open_store(std::int64_t first) {
    std::optional<FeatureStore::Room> room;
    if (kept() > 0 && ahead_.fetch == 0)
      room = {first, kept() + batches_.bounds().vertices.front()};
    VertexData own(data_, batches_.owned(rt_.rank()));
    if (data_->magnify > 1) own = own.magnified(0, data_->magnify);
    store_.emplace(
        rt_,
        OwnTable{StoreNumber::vertices, own.features(0), own.vertices(), data_->features->width(),
                 data_->features->half() ? DType::f16 : DType::f32, "store/features"},
        *keeps_, room);
  }
  EdgeStore& edge_store() {
    if (!edge_store_) edge_store_.emplace(rt_, *edge_rows_, ahead_.fetch, most_edge_rows_);
    return *edge_store_;
  }

  Runtime& rt_;
  std::shared_ptr<const Dataset> data_;
  const SampledBatches& batches_;
  Recurring& recurring_;
  const EdgeRows* edge_rows_;
  std::int64_t most_edge_rows_;
  StagesAhead ahead_;
  std::unique_ptr<RankSession> whole_;  ///< empty if nothing is evaluated
  std::optional<OwnedRows> keeps_;      ///< rows for the whole run; found with the first batch
  std::optional<RecentRows> recent_;
  std::optional<FeatureStore> store_;
  std::optional<RowsAhead> fetched_;    ///< set if rows are fetched before their batch is loaded
  std::optional<LearnedRows> learned_;  ///< replaces the store
  std::optional<EdgeStore> edge_store_;
  RowUse use_;
};

void set_batch(StrategyConfig& config, std::int64_t seeds) {
  MiniBatchSettings settings = mini_batch_of(config);
  settings.batch = seeds;
  config.own = settings;
}

class MiniBatch final : public Strategy {
 public:
  MiniBatch(const Problem& problem, std::shared_ptr<const SampledBatches> batches)
      : MiniBatch(problem, batches, edge_rows_of(problem), batches->steps(), nullptr, {},
                  evaluated_by(problem)) {}
  /// `largest`: the batch of every step; null: the drawn ones. `shares`: of cooperative ones, by the
  /// place of a rank on its server.
  /// `steps`: batches of an epoch, which may be fewer if all are alike. `whole` evaluates.
  MiniBatch(const Problem& problem, std::shared_ptr<const SampledBatches> batches,
            std::shared_ptr<const EdgeRows> edge_rows, int steps,
            std::shared_ptr<const SampledBatch> largest,
            std::vector<std::shared_ptr<const CooperativeShare>> shares,
            std::shared_ptr<const Strategy> whole)
      : problem_(problem),
        batches_(std::move(batches)),
        resampled_(std::make_shared<const ResampledSteps>(resampled(*batches_, problem))),
        recurring_(problem.ranks()),
        edge_rows_(std::move(edge_rows)),
        steps_(steps),
        largest_(std::move(largest)),
        largest_shares_(std::move(shares)),
        most_edge_rows_(most_edge_rows()),
        graph_bytes_(bytes_of_graph()),
        whole_(std::move(whole)) {}

  Schedule schedule(int) const override {
    Schedule schedule;
    schedule.training = std::make_shared<BatchSteps>(batches_, resampled_, steps_);
    schedule.evaluation.clear();
    if (whole_) schedule.evaluation = {kWholeGraph};
    schedule.ahead = ahead();
    return schedule;
  }

  std::shared_ptr<const Structure> prepare(int rank, StructureId which) const override {
    if (which.number == kWholeGraph) return whole_->prepare(rank);
    if (largest_ || resampled_->all_drawn()) return make(rank, which);
    return recurring_.get(rank, which, [&] { return make(rank, which); });
  }

  std::unique_ptr<RankSession> open(Runtime& rt) const override {
    return std::make_unique<MiniBatchSession>(rt, problem_.data, *batches_, recurring_,
                                              edge_rows_.get(), most_edge_rows_, ahead(),
                                              whole_ ? whole_->open(rt) : nullptr);
  }

  std::unique_ptr<Strategy> with_largest_batches() const override {
    // More batches of the same size would take no more memory.
    return with_largest_batches(ahead().together());
  }
  std::unique_ptr<Strategy> with_largest_batches(int steps) const {
    std::vector<std::shared_ptr<const CooperativeShare>> shares;
    if (batches_->cooperative())
      for (auto& share : largest_shares(*batches_, problem_.model, problem_.edge_features))
        shares.push_back(std::make_shared<const CooperativeShare>(std::move(share)));
    return std::make_unique<MiniBatch>(problem_, batches_, edge_rows_, steps,
                                       std::make_shared<const SampledBatch>(batches_->largest()),
                                       std::move(shares), whole_);
  }

  std::int64_t most_seeds() const override { return batches_->most_batch(); }
  std::unique_ptr<Strategy> with_largest_batches_of(std::int64_t seeds) const override {
    if (most_seeds() == 0) return nullptr;
    Problem other = problem_;
    set_batch(other.strategy, seeds);
    const auto batches = std::make_shared<const SampledBatches>(other);
    return MiniBatch(other, batches, edge_rows_, 1, nullptr, {}, whole_).with_largest_batches();
  }

  const LinkBatches* links() const override { return batches_->links(); }

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes;
    const MiniBatchSettings settings = mini_batch_of(problem_.strategy);
    if (const std::int64_t never = batches_->never_drawn(); never > 0)
      notes.push_back(fmt::format(
          "{} of {} training vertices are never trained on (the loss counts them as 0): {}", never,
          problem_.facts().training_vertices,
          settings.sampler == BatchSampler::saint_edge
              ? "saint-edge draws edges, but they have none"
              : "saint-node draws vertices that others aggregate, but nobody aggregates them"));
    if (!resampled_->all_drawn())
      notes.push_back(fmt::format(
          "each rank draws {} batches of each number of seeds; later steps take the batches of one "
          "of these, drawn at random (simulation.batches)",
          settings.drawn_steps));
    return notes;
  }

  std::optional<BatchSizes> batch_sizes() const override {
    const std::size_t layers = at(problem_.model.layers);
    BatchSizes sizes;
    sizes.steps = batches_->steps();
    sizes.vertices.resize(layers + 1);
    sizes.edges.resize(layers);
    const auto count = [](BatchSizes::Size& size, std::int64_t number) {
      size.mean += static_cast<double>(number);
      size.most = std::max(size.most, number);
    };
    if (mini_batch_of(problem_.strategy).sizes == BatchSizesFrom::bounds) {
      count_largest(sizes);
      return sizes;
    }
    std::vector<std::optional<RecentRows>> recent(at(problem_.ranks()));
    for (int rank = 0; rank < problem_.ranks(); ++rank)
      if (auto cache = batches_->recent(rank))
        recent[at(rank)].emplace(rank, std::move(*cache), batches_->owners());
    // The content of a cache of recent rows depends on all batches before.
    const bool all =
        std::any_of(recent.begin(), recent.end(), [](const auto& r) { return bool(r); });
    double foreign_edge_rows = 0;
    for (const int step : counted_steps(all ? batches_->steps() : kCounted)) {
      std::int64_t shared = 0;
      for (int rank = 0; rank < problem_.ranks(); ++rank) {
        std::optional<CooperativeShare> share;
        if (batches_->cooperative())
          share =
              cooperative_share(*batches_, problem_.model, rank, 0, step, problem_.edge_features);
        SampledBatch batch = share ? share->own : batches_->batch(rank, 0, step);
        if (auto& cache = recent[at(rank)]) batch.features = cache->want(*batch.vertices);
        for (std::size_t l = 0; l <= layers; ++l) count(sizes.vertices[l], batch.rows[l]);
        for (std::size_t l = 0; l < layers; ++l)
          count(sizes.edges[l], share ? share->entries(l) : batch.layers[l].forward.nnz());
        std::vector<EdgeStructure> edges;
        if (!share)
          edges = edges_of(problem_.model, batch, batches_->relations(), problem_.edge_features);
        std::int64_t bytes = share ? host_bytes(*share) : host_bytes(batch, edges);
        if (const auto rows = edge_rows_for(rank, share ? share->edges : edges, batch.alike)) {
          bytes += host_bytes(*rows);
          foreign_edge_rows += static_cast<double>(rows->foreign);
        }
        if (batches_->learned_features()) {
          std::int64_t others = 0;
          bytes += exchange_of(*batches_, rank, {step, 0}, batch, others).bytes();
        }
        count(sizes.host_bytes, bytes);
        shared += shared_bytes(rank, batch.rows.front(), [&] {
          return host_bytes(*batches_->of_server(rank / batches_->ranks_per_server(), 0, step), {});
        });
        sizes.foreign += static_cast<double>(batch.features.foreign);
        sizes.kept += static_cast<double>(batch.features.kept);
        ++sizes.batches;
      }
      count(sizes.shared_host_bytes,
            static_cast<std::int64_t>(SampledBatches::kSharedDraws) * shared);
    }
    for (double* sum : {&sizes.foreign, &sizes.kept}) *sum /= static_cast<double>(sizes.batches);
    if (edge_rows_)
      sizes.foreign_edge_rows = foreign_edge_rows / static_cast<double>(sizes.batches);
    sizes.host_bytes.mean /= static_cast<double>(sizes.batches);
    sizes.shared_host_bytes.mean *=
        static_cast<double>(problem_.ranks()) / static_cast<double>(sizes.batches);
    for (auto* list : {&sizes.vertices, &sizes.edges})
      for (BatchSizes::Size& size : *list) size.mean /= static_cast<double>(sizes.batches);
    add_bounds(sizes);
    return sizes;
  }

 private:
  std::shared_ptr<const Structure> make(int rank, StructureId which) const {
    std::shared_ptr<const CooperativeShare> share;
    std::shared_ptr<const SampledBatch> made = largest_;
    if (batches_->cooperative()) {
      share = largest_ ? largest_shares_[at(rank % batches_->ranks_per_server())]
                       : std::make_shared<const CooperativeShare>(
                             cooperative_share(*batches_, problem_.model, rank, which.draw,
                                               which.number, problem_.edge_features));
      made = {share, &share->own};
    } else if (!made) {
      made = std::make_shared<const SampledBatch>(batches_->batch(rank, which.draw, which.number));
    }
    std::int64_t drawn = made->edges;
    std::optional<RowExchange> learned;
    if (batches_->learned_features()) learned = exchange_of(*batches_, rank, which, *made, drawn);
    std::vector<EdgeStructure> edges;
    if (!share)  // which has its own
      edges = largest_
                  ? largest_edges_of(problem_.model, *batches_, *made, problem_.edge_features)
                  : edges_of(problem_.model, *made, batches_->relations(), problem_.edge_features);
    auto edge_rows = edge_rows_for(rank, share ? share->edges : edges, made->alike);
    // Of features of edges the row is looked up, then whether the batch has it, and its owner.
    HostWork work = drawing_work(drawn, graph_bytes_, by_relation(problem_.model),
                                 (problem_.edge_weights ? 1 : 0) + (problem_.edge_features ? 3 : 0),
                                 made->relabelled_later());
    if (made->scanned > 0)
      work.more.push_back(scanning_work(made->scanned, problem_.facts().vertices));
    if (made->pairs)
      work.more.push_back(pairing_work(made->pairs->pairs(), links()->graph_bytes()));
    return make_structure(Batch{std::move(made), std::move(edges), std::move(learned),
                                std::move(share), std::move(edge_rows)},
                          std::move(work));
  }

  StagesAhead ahead() const { return mini_batch_of(problem_.strategy).ahead; }

  /// Of those that are drawn in the first epoch, at most `most`, evenly.
  std::vector<int> counted_steps(int most) const {
    std::vector<int> drawn, counted;
    for (int step = 0; step < batches_->steps(); ++step)
      if (resampled_->of({0, step}) == ResampledSteps::Step{0, step}) drawn.push_back(step);
    const auto stride = (std::ssize(drawn) + most - 1) / most;
    for (std::ptrdiff_t i = 0; i < std::ssize(drawn); i += stride) counted.push_back(drawn[at(i)]);
    return counted;
  }

  /// Null if nothing is evaluated.
  static std::shared_ptr<const Strategy> evaluated_by(const Problem& problem) {
    if (problem.train.eval_every == 0) return nullptr;
    Problem whole = problem;
    whole.strategy = {};
    whole.strategy.first_layer = FirstLayer::recompute;
    return make_strategy(whole);
  }

  static std::shared_ptr<const EdgeRows> edge_rows_of(const Problem& problem) {
    if (!problem.edge_features) return nullptr;
    return std::make_shared<const EdgeRows>(problem.edge_features, by_relation(problem.model),
                                            problem.partition);
  }
  /// Of a batch's edges, if they have features.
  std::optional<WantedRows> edge_rows_for(int rank, const std::vector<EdgeStructure>& edges,
                                          bool alike) const {
    if (!edge_rows_) return std::nullopt;
    return largest_ ? edge_rows_->counted(rank, edges, alike, most_edge_rows_)
                    : edge_rows_->wanted(rank, edges, alike);
  }
  std::int64_t most_edge_rows() const {
    if (!edge_rows_) return 0;
    const std::vector<std::int64_t> edges = batches_->bounds().edges;
    return std::min(edge_rows_->rows(),
                    std::accumulate(edges.begin(), edges.end(), std::int64_t{0}));
  }

  /// What a draw adds to what the ranks of a process keep together: of cooperative batches that of a
  /// server, once, and of learned features the rows that a rank with so many vertices asks for.
  template <class BytesOfServer>
  std::int64_t shared_bytes(int rank, std::int64_t vertices, const BytesOfServer& of_server) const {
    std::int64_t bytes = 0;
    if (batches_->cooperative() && rank % batches_->ranks_per_server() == 0) bytes += of_server();
    if (batches_->learned_features())
      bytes += vertices * static_cast<std::int64_t>(sizeof(Vertex)) +
               problem_.ranks() * static_cast<std::int64_t>(sizeof(std::int64_t));
    return bytes;
  }

  /// Sizes of batches that are all at their bounds.
  void count_largest(BatchSizes& sizes) const {
    add_bounds(sizes);
    const auto alike = [](BatchSizes::Size& size) {
      size.most = size.bound;
      size.mean = static_cast<double>(size.bound);
    };
    for (auto* list : {&sizes.vertices, &sizes.edges})
      std::for_each(list->begin(), list->end(), alike);
    alike(sizes.host_bytes);
    alike(sizes.shared_host_bytes);
    double edge_rows = 0;  // of other ranks
    for (int rank = 0; rank < problem_.ranks(); ++rank) {
      const OwnedRows& rows = largest_->features.pulled;
      sizes.foreign += static_cast<double>(rows.count() - (*rows.rows_per_owner)[at(rank)]);
      if (const auto structure = edge_rows_ ? prepare(rank, {}) : nullptr)
        edge_rows += static_cast<double>(content_of<Batch>(*structure).edge_rows->foreign);
    }
    sizes.foreign /= problem_.ranks();
    if (edge_rows_) sizes.foreign_edge_rows = edge_rows / problem_.ranks();
  }

  void add_bounds(BatchSizes& sizes) const {
    const auto most = [](BatchSizes::Size& size, std::int64_t bound) {
      size.bound = std::max(size.bound, bound);
    };
    const auto largest = with_largest_batches();
    const SampledBatch of_server = batches_->cooperative() ? batches_->largest() : SampledBatch{};
    std::int64_t shared = 0;
    for (int rank = 0; rank < problem_.ranks(); ++rank) {
      const auto structure = largest->prepare(rank);
      const auto& [batch, edges, exchange, share, edge_rows] = content_of<Batch>(*structure);
      for (std::size_t l = 0; l < sizes.vertices.size(); ++l)
        most(sizes.vertices[l], batch->rows[l]);
      for (std::size_t l = 0; l < sizes.edges.size(); ++l)
        most(sizes.edges[l], share ? share->entries(l) : batch->layers[l].forward.nnz());
      most(sizes.host_bytes, (share ? host_bytes(*share) : host_bytes(*batch, edges)) +
                                 (exchange ? exchange->bytes() : 0) +
                                 (edge_rows ? host_bytes(*edge_rows) : 0));
      shared += shared_bytes(rank, batch->rows.front(), [&] { return host_bytes(of_server, {}); });
    }
    most(sizes.shared_host_bytes, static_cast<std::int64_t>(SampledBatches::kSharedDraws) * shared);
  }

  std::int64_t bytes_of_graph() const {
    const DataFacts facts = problem_.facts();
    return structure_bytes(facts.vertices, facts.edges);
  }

  Problem problem_;
  std::shared_ptr<const SampledBatches> batches_;
  std::shared_ptr<const ResampledSteps> resampled_;
  mutable Recurring recurring_;                ///< where steps are resampled
  std::shared_ptr<const EdgeRows> edge_rows_;  ///< null if edges have no features
  int steps_;                                  ///< of an epoch
  std::shared_ptr<const SampledBatch> largest_;
  std::vector<std::shared_ptr<const CooperativeShare>> largest_shares_;
  std::int64_t most_edge_rows_;            ///< a bound for any batch
  std::int64_t graph_bytes_;               ///< of the structure in which edges are drawn
  std::shared_ptr<const Strategy> whole_;  ///< evaluates; null if nothing is evaluated
};

}  // namespace

extern const StrategyInfo kMiniBatch;
const StrategyInfo kMiniBatch{
    .name = "mini_batch",
    .make = [](const Problem& problem) -> std::unique_ptr<Strategy> {
      const MiniBatchSettings settings = mini_batch_of(problem.strategy);
      const auto batches = std::make_shared<const SampledBatches>(problem);
      auto drawn = std::make_unique<MiniBatch>(problem, batches);
      if (settings.sizes == BatchSizesFrom::bounds)
        return drawn->with_largest_batches(batches->steps());
      if (settings.sizes == BatchSizesFrom::likely) return drawn->with_largest_batches();
      if (settings.batch > 0) batches->normalise();  // else a search counts batches first
      return drawn;
    },
    .defaults = [](const Settings&) -> std::vector<SettingDefault> {
      return {{"partition.method", "metis"}};
    },
    .require_sound = require_sound_mini_batch,
    .read = read_mini_batch,
    .set_batch = set_batch,
    .require_possible = require_possible_batches,
    .by_server = true,
    .needs_structure = "neighbours of a batch are drawn among the edges",
    .needs_whole_data = "draws neighbours among all edges of the graph",
    .edge_weights = true,
    .edge_features = true,
    .magnifiable = true,
    .opens_stores = true,
    .carries_attention = true,
    .carries_relations = true,
    .predicts_links = true,
    .inexactness = inexactness_of_mini_batch,
    .learns_from =
        [](const StrategyConfig& config) {
          return mini_batch_of(config).seeds == SeedsFrom::all ? LearnsFrom::settings
                                                               : LearnsFrom::cut;
        },
    .closed_forms = {ClosedForm::averaged_gradients}};

}  // namespace orrery
