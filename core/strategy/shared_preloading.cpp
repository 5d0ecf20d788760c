// Training that uses the knowledge which ranks share a server. A server loads everything that its
// own vertices depend on, and computes it without the other servers. Vertices that several servers
// need are computed by each of them (redundant work for less traffic). What a server holds is split
// over its ranks, which exchange halos among themselves. Only gradients travel between servers.
//
// depth k < L: only the last k layers are computed in this way. The layers below exchange halos
// among all ranks, and their result is sent once to the servers that need it. sampling: a server
// holds only some of the vertices beyond its own, and the model works on the induced subgraph
// (inexact). batches R: a server's own vertices are cut into R co-batches. Each is fetched as a
// whole and then split over the ranks. It is loaded, trained in its own step, and unloaded.
//
// Without sampling the loss is that of whole-graph training (with R > 1: of its mini-batches with
// all neighbours). A row is computed on level l only if an own vertex depends on it from there on,
// and only own vertices are targets.
//
// Source    GraNNDis 4.2 (shared preloading), 4.3 (expansion-aware sampling), 4.4 and Algorithm 1
//           (cooperative batching); depth: the "flexible preloading" of its later version
// Departs   a co-batch is a METIS part of the server's own vertices, the text leaves the choice
//           open. The public code cuts training vertices in the order of their numbers, of which
//           server s has chunk b·S + s as its co-batch b (here, by partition training_block, each
//           server has a run of them, cut as `split` says), holds drawn vertices only, and takes the
//           loss over all that it holds (held targets)
#include <fmt/core.h>

#include <algorithm>
#include <mutex>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/strategy/config/preloading_settings.hpp"
#include "core/strategy/config/strategy_info.hpp"
#include "core/strategy/edges/device_edges.hpp"
#include "core/strategy/make_strategy.hpp"
#include "core/strategy/product/halo_product.hpp"
#include "core/strategy/strategy.hpp"
#include "core/strategy/structure/preloaded_rank.hpp"

namespace orrery {
namespace {

/// A rank's structure in a batch.
struct Preloaded {
  std::shared_ptr<const PreloadedRank> rank;
  std::vector<EdgeStructure> edges;  ///< edges of each of its products, if layers weigh them
};

class SharedPreloadingProducts final : public RankProducts {
 public:
  SharedPreloadingProducts(Runtime& rt, const Preloaded& prepared, const Problem& problem)
      : RankProducts(rt),
        structure_(prepared.rank),
        hidden_(problem.model.type == ModelType::sgc ? 0 : problem.model.hidden),
        row_ids_(rt, {structure_->vertices.size(), 1}, DType::i32, "indices/vertices") {
    const StrategyConfig& config = problem.strategy;
    rt.submit(Lane::copy, Load{structure_->vertices.source(), row_ids_.tensor()});
    rt.wait(Lane::compute, rt.record(Lane::copy));
    const int ranks = config.ranks_per_server;
    const Group server{1, rt.rank() / ranks * ranks, ranks, 1};
    for (const PreloadedRank::Layer& layer : structure_->products) {
      const Group group = layer.within_server ? server : world_group(rt.size());
      if (prepared.edges.empty())
        products_.emplace_back(rt, layer.part, group, layer.symmetric, config.overlap,
                               config.column_tiles);
      else
        exchanges_.emplace_back(rt, layer.part, group, config.overlap);
    }
    for (const EdgeStructure& edges : prepared.edges) edges_.emplace_back(rt, edges);
    if (structure_->spread) load_spread(*structure_->spread);
  }

  VertexData data() const override { return structure_->data; }
  IndexList vertices() const override { return structure_->computed; }
  Halo halo(int layer) const override {
    const HaloStructure& part = structure_->products[product_of(layer)].part;
    return {part.received(), part.sent()};
  }
  std::int64_t rows(int level) const override { return structure_->rows[at(level)]; }
  std::int64_t inputs(int layer) const override {
    return spreads_at(layer) ? structure_->vertices.size() : rows(layer - 1);
  }
  Tensor row_ids() const override { return row_ids_.tensor(); }

  void prepare(std::int64_t widest_aggregate, std::int64_t) override {
    std::int64_t sent = 0, received = 0;
    for (const PreloadedRank::Layer& layer : structure_->products) {
      sent = std::max(sent, layer.part.sent());
      received = std::max(received, layer.part.received());
    }
    if (exchanges_.empty())
      buffers_ = HaloBuffers(rt_, sent, received, widest_aggregate);
    else
      sent_ = Buffer(rt_, {sent, widest_aggregate}, DType::f32, "halo/rows sent");
    if (const auto& spread = structure_->spread)
      spread_buffers_ = HaloBuffers(rt_, spread->send_rows.size(), spread->row_received.size(),
                                    hidden_ > 0 ? hidden_ : widest_aggregate);
  }

  void aggregate(int layer, const Tensor& x, const Tensor& y, float beta) override {
    product(layer).multiply(x, y, beta, buffers_);
  }
  void aggregate_adjoint(int layer, const Tensor& dy, const Tensor& dx, float beta) override {
    product(layer).multiply_adjoint(dy, dx, beta, buffers_);
  }

  std::int64_t sources(int layer) const override { return exchange(layer).sources(); }
  const Edges& edges(int layer) const override { return edges_[product_of(layer)].edges(); }
  void bring_sources(int layer, const Tensor& x, const std::function<void()>& meanwhile) override {
    exchange(layer).bring(x, sent_.view(exchange(layer).sent(), x.cols()), meanwhile);
  }
  void bring_sources_adjoint(int layer, const Tensor& dx,
                             const std::function<void()>& meanwhile) override {
    exchange(layer).bring_adjoint(dx, sent_.view(exchange(layer).sent(), dx.cols()), meanwhile);
  }

  void complete(int layer, const Tensor& x) override {
    if (!spreads_at(layer)) return;
    const Spread& spread = *structure_->spread;
    const auto [sent, received] = spread_windows(x.cols());
    rt_.submit(Lane::compute, GatherRows{own(layer, x), send_index_.tensor(), sent});
    exchange(sent, received, spread.send, spread.receive);
    rt_.submit(Lane::compute, GatherRows{received, received_row_.tensor(), others(layer, x)});
  }
  void complete_adjoint(int layer, const Tensor& dx) override {
    if (!spreads_at(layer)) return;
    const Spread& spread = *structure_->spread;
    const auto [sent, received] = spread_windows(dx.cols());
    rt_.submit(Lane::compute, GatherRows{others(layer, dx), row_received_.tensor(), received});
    exchange(received, sent, spread.receive, spread.send);
    rt_.submit(Lane::compute, ScatterAddRows{sent, send_index_.tensor(), own(layer, dx)});
  }

 private:
  bool spreads_at(int layer) const {
    return structure_->spread && structure_->spread->layer == layer;
  }
  std::size_t product_of(int layer) const { return structure_->product_of_layer[at(layer) - 1]; }
  const HaloProduct& product(int layer) const { return products_[product_of(layer)]; }
  const SourceExchange& exchange(int layer) const { return exchanges_[product_of(layer)]; }
  /// Room for the rows that a spread sends, and for those that come in.
  std::pair<Tensor, Tensor> spread_windows(std::int64_t width) const {
    const Spread& spread = *structure_->spread;
    return {spread_buffers_.sent(spread.send_rows.size(), width),
            spread_buffers_.received(spread.row_received.size(), width)};
  }
  Tensor own(int layer, const Tensor& x) const { return x.rows_at(0, rows(layer - 1)); }
  Tensor others(int layer, const Tensor& x) const {
    return x.rows_at(rows(layer - 1), inputs(layer) - rows(layer - 1));
  }

  void load_spread(const Spread& spread) {
    const auto load = [&](const IndexList& rows, std::string_view name) {
      Buffer index(rt_, {rows.size(), 1}, DType::i32, name);
      rt_.submit(Lane::copy, Load{rows.source(), index.tensor()});
      return index;
    };
    send_index_ = load(spread.send_rows, "indices/rows to spread");
    received_row_ = load(spread.received_row, "indices/where rows come in");
    row_received_ = load(spread.row_received, "indices/rows that come in");
    rt_.wait(Lane::compute, rt_.record(Lane::copy));
  }

  void exchange(const Tensor& from, const Tensor& to, const HaloStructure::RowCounts& out,
                const HaloStructure::RowCounts& in) {
    rt_.wait(Lane::comm, rt_.record(Lane::compute));
    rt_.submit(Lane::comm, AllToAllV{from, to, out, in, world_group(rt_.size())});
    rt_.wait(Lane::compute, rt_.record(Lane::comm));
  }

  std::shared_ptr<const PreloadedRank> structure_;
  std::int64_t
      hidden_;  ///< width of the rows that a spread sends; 0: as wide as what is aggregated
  Buffer row_ids_;
  std::vector<HaloProduct> products_;
  HaloBuffers buffers_, spread_buffers_;
  // Replace products_ and buffers_ if layers weigh edges:
  std::vector<DeviceEdges> edges_;
  std::vector<SourceExchange> exchanges_;
  Buffer sent_;
  Buffer send_index_, received_row_, row_received_;
};

class SharedPreloading final : public Strategy {
 public:
  explicit SharedPreloading(const Problem& problem)
      : problem_(problem),
        servers_(problem),
        structures_(problem.ranks() * problem.strategy.batches) {
    if (below()) below_ = partitioned_in_memory(problem.data, problem.model, servers_.ranks());
  }

  Schedule schedule(int) const override {
    Schedule schedule;
    std::vector<TrainStep> steps;
    schedule.evaluation.clear();
    for (int batch = 0; batch < servers_.batches(); ++batch) {
      const auto vertices = servers_.training_vertices(batch);
      // With held targets the mean is over ranks: DDP averages their sums.
      const std::int64_t over = held_targets() ? problem_.ranks() : vertices;
      if (vertices > 0) steps.push_back({{batch, 0}, over});
      schedule.evaluation.insert(schedule.evaluation.begin(), batch);
    }
    if (problem_.train.eval_every == 0)
      schedule.evaluation.clear();
    else if (problem_.strategy.evaluate_on == EvaluateOn::graph)
      schedule.evaluation = {kWholeGraph};
    schedule.training = std::make_shared<ListedSteps>(std::move(steps), redrawn());
    return schedule;
  }

  std::shared_ptr<const Structure> prepare(int rank, StructureId which) const override {
    if (which.number == kWholeGraph) {
      std::call_once(planned_, [this] { whole_ = plan_whole_graph(); });
      return whole_->prepare(rank);
    }
    return structures_.get(rank * servers_.batches() + which.number, which.draw, [&] {
      auto made = std::make_shared<PreloadedRank>(
          *make_preloaded_rank(servers_, rank, which.number, which.draw, problem_.model.layers,
                               problem_.strategy, below_.get()));
      const bool loaded_again =
          (servers_.batches() > 1 || redrawn()) && !weighs_edges(problem_.model);
      CutWork work;
      for (PreloadedRank::Layer& layer : made->products) {
        if (loaded_again) keep_adjoints(layer.part, layer.symmetric);
        work.add(layer.part.own_block);
        work.add(layer.part.halo_block);
        if (layer.part.own_adjoint) work.add(*layer.part.own_adjoint);
        if (layer.part.halo_adjoint) work.add(*layer.part.halo_adjoint);
      }
      Preloaded prepared{std::move(made), {}};
      if (weighs_edges(problem_.model)) prepared.edges = edges_of(rank, which, *prepared.rank);
      for (const EdgeStructure& edges : prepared.edges) work.add(edges.entries(), edges.bytes());
      return make_structure(std::move(prepared), work.report());
    });
  }
  std::unique_ptr<RankProducts> load(Runtime& rt,
                                     std::shared_ptr<const Structure> structure) const override {
    if (const auto* own = dynamic_cast<const StructureOf<Preloaded>*>(structure.get()))
      return std::make_unique<SharedPreloadingProducts>(rt, own->of, problem_);
    return whole_->load(rt, std::move(structure));
  }

  std::optional<Redundancy> redundancy() const override {
    const int layers = problem_.model.layers;
    const int within = layers - problem_.strategy.depth.value_or(layers);
    Redundancy sum;
    for (int server = 0; server < servers_.servers(); ++server)
      for (int batch = 0; batch < servers_.batches(); ++batch) {
        const auto part = servers_.part(server, batch, 0);
        const auto& offsets = part->part->a.csr().offsets;
        const auto& owned = servers_.own(server, batch);
        const auto own = std::ssize(owned);
        std::int64_t own_edges = 0;
        for (std::int64_t i = 0; i < part->part->at_distance(0); ++i)
          if (std::binary_search(owned.begin(), owned.end(), (*part->part->vertices)[at(i)]))
            own_edges += offsets[at(i + 1)] - offsets[at(i)];
        for (int layer = 1; layer <= layers; ++layer) {
          const auto computed = part->part->at_distance(layer > within ? layers - layer : 0);
          sum.vertices_owned += own;
          sum.vertices_computed += computed;
          sum.edges_owned += own_edges;
          sum.edges_computed += offsets[at(computed)];
        }
        if (within == 0) sum.rows_preloaded += part->part->at_distance(layers) - own;
      }
    for (std::int64_t* count : {&sum.vertices_owned, &sum.vertices_computed, &sum.edges_owned,
                                &sum.edges_computed, &sum.rows_preloaded})
      *count *= problem_.data->magnify;
    return sum;
  }

 private:
  std::vector<EdgeStructure> edges_of(int rank, StructureId which,
                                      const PreloadedRank& preloaded) const {
    const int ranks = problem_.strategy.ranks_per_server;
    const auto server = servers_.part(rank / ranks, which.number, which.draw);
    std::vector<std::vector<Vertex>> of_rank;  // in the server: global vertices
    for (const auto& members : server->members) {
      of_rank.emplace_back();
      for (const Vertex i : members) of_rank.back().push_back((*server->part->vertices)[at(i)]);
    }
    std::vector<EdgeStructure> edges;
    for (const PreloadedRank::Layer& layer : preloaded.products) {
      std::vector<Vertex> sources;
      std::optional<EndVertices> ends = ends_for(problem_.model);
      if (ends && problem_.data->magnify == 1) {
        const std::span own(of_rank[at(rank % ranks)]);
        sources =
            source_vertices(layer.part, own.first(at(layer.part.own_block.cols())), [&](int other) {
              return layer.within_server ? std::span<const Vertex>(of_rank[at(other)])
                                         : std::span(*below_->vertices(other).numbers());
            });
        ends->rows = own;
        ends->sources = sources;
      }
      edges.push_back(make_edge_structure(layer.part, layer.symmetric, ends));
    }
    return edges;
  }
  bool below() const {
    return problem_.strategy.depth && *problem_.strategy.depth < problem_.model.layers;
  }
  bool held_targets() const { return preloading_settings(problem_.strategy).held_targets; }
  bool redrawn() const {
    return problem_.strategy.sampling && problem_.strategy.sampling->every_epoch;
  }
  /// Exact evaluation of what is trained on samples: with a halo over all ranks.
  std::unique_ptr<Strategy> plan_whole_graph() const {
    Problem whole = problem_;
    whole.strategy.type = "full_graph";
    whole.strategy.first_layer = FirstLayer::recompute;
    whole.partition = servers_.ranks();
    return make_strategy(whole);
  }

  Problem problem_;
  ServerSubgraphs servers_;
  RecentDraws<std::shared_ptr<const Structure>> structures_;  ///< by rank and batch
  std::shared_ptr<const PartitionedGraph>
      below_;  ///< parts of the layers that are not within servers
  mutable std::once_flag planned_;
  mutable std::unique_ptr<Strategy> whole_;
};

std::vector<SettingDefault> defaults(const Settings& file) {
  const bool artifact = file.is("strategy.sampling.rule", "granndis_artifact");
  std::vector<SettingDefault> list{{"partition.method", artifact ? "training_block" : "metis"}};
  if (file.has("strategy.sampling"))
    list.push_back({"strategy.evaluate_on", "graph"});
  else
    list.push_back({"strategy.degrees", "original"});
  return list;
}

bool held_targets(const Settings& file) {
  if (file.has("strategy.sampling.targets")) return file.is("strategy.sampling.targets", "held");
  return file.is("strategy.sampling.rule", "granndis_artifact");
}

void require_sound_preloading(const Settings& file) {
  require_number_or(file, "strategy.depth", "\"all\" or \"fit\"");
  require_number_or(file, "strategy.batches", "\"fit\"");
  const bool sampled = file.has("strategy.sampling");
  if (!sampled && file.is("strategy.degrees", "part"))
    throw ConfigError("strategy.degrees",
                      "\"part\" goes with strategy.sampling: without it every vertex that is "
                      "computed has all its neighbours");
  if (!file.is("strategy.depth", "all") && (sampled || file.number("strategy.batches") != 1))
    throw ConfigError("strategy.depth",
                      "goes with neither strategy.sampling nor strategy.batches: the layers below "
                      "it need the whole graph at once");
  const auto depth = file.number("strategy.depth"), layers = file.number("model.layers");
  if (depth && layers && *depth > *layers)
    throw ConfigError("strategy.depth",
                      fmt::format("found {}, but the model has {} layers",
                                  file.shown("strategy.depth"), file.shown("model.layers")));
  if (held_targets(file) && file.is("strategy.evaluate_on", "parts"))
    throw ConfigError("strategy.evaluate_on",
                      "\"parts\" would count vertices that several servers hold several times "
                      "(strategy.sampling.targets held): use \"graph\"");
  const bool simulated = file.is("backend", "sim") || file.is("backend", "model");
  if (file.is("strategy.sampling.redraw", "epoch") && simulated)
    throw ConfigError("strategy.sampling.redraw",
                      "\"epoch\" is for real runs, because a simulation has no price for "
                      "drawing: use \"run\"");
}

/// Settings that depend on the device memory keep their default.
void read_preloading(const Settings& file, StrategyConfig& config) {
  if (const auto depth = file.number("strategy.depth")) config.depth = static_cast<int>(*depth);
  config.batches = file.integer("strategy.batches", config.batches);
  config.split = file.choice<ServerSplit>(
      "strategy.split", {{"metis", ServerSplit::metis}, {"random", ServerSplit::random}},
      config.split);
  read_part_settings(file, config);
  if (!file.has("strategy.sampling")) return;
  SamplingConfig& sampling = config.sampling.emplace();
  sampling.expansion.hops = file.integer("strategy.sampling.hops", sampling.expansion.hops);
  sampling.expansion.fanout = file.integer("strategy.sampling.fanout", sampling.expansion.fanout);
  sampling.expansion.rule =
      file.choice<ExpansionRule>("strategy.sampling.rule",
                                 {{"connections", ExpansionRule::connections},
                                  {"granndis_artifact", ExpansionRule::granndis_artifact}},
                                 sampling.expansion.rule);
  sampling.every_epoch = file.is("strategy.sampling.redraw", "epoch");
  config.own = PreloadingSettings{held_targets(file)};
}

int servers_of(const StrategyConfig& config, int ranks) {
  if (ranks % config.ranks_per_server == 0) return ranks / config.ranks_per_server;
  throw ConfigError("cluster", fmt::format("{} ranks are no servers of {} ranks each", ranks,
                                           config.ranks_per_server));
}

std::optional<std::string> inexactness_of_preloading(const StrategyConfig& config) {
  if (!config.sampling) return std::nullopt;
  return "sampling: gradients are those of each server's subgraph";
}

EvaluatedOn evaluated_on_samples(const StrategyConfig& config) {
  EvaluatedOn on;
  if (!config.sampling) return on;
  if (config.evaluate_on == EvaluateOn::parts)
    on.vertices = "own vertices of each server within its sampled subgraph";
  on.words = "sampling: accuracy is on ";
  return on;
}

}  // namespace

extern const StrategyInfo kSharedPreloading;
const StrategyInfo kSharedPreloading{
    .name = "shared_preloading",
    .make = [](const Problem& problem) -> std::unique_ptr<Strategy> {
      return std::make_unique<SharedPreloading>(problem);
    },
    .defaults = defaults,
    .require_sound = require_sound_preloading,
    .read = read_preloading,
    .parts_for = servers_of,
    .ranks_for = [](const StrategyConfig& config,
                    int parts) { return parts * config.ranks_per_server; },
    .by_server = true,
    .needs_structure = "the edges decide which vertices a server depends on",
    .needs_whole_data = "gathers what each server depends on from the whole graph",
    .magnifiable = true,
    .sums_over_vertices = true,
    .carries_attention = true,
    .inexactness = inexactness_of_preloading,
    .learns_from =
        [](const StrategyConfig& config) {
          return config.sampling || config.batches > 1 ? LearnsFrom::cut : LearnsFrom::data;
        },
    .evaluated_on = evaluated_on_samples,
    .closed_forms = {ClosedForm::staged_products, ClosedForm::dependency_preloading}};

}  // namespace orrery
