#include "core/strategy/structure/sampled_batches.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/partition/methods/cut.hpp"
#include "core/sample/bounds/likely_sizes.hpp"
#include "core/sample/inclusion.hpp"
#include "core/terminal/words.hpp"

namespace orrery {
namespace {

/// An epoch that no run reaches: what is drawn beforehand is no batch of the training.
constexpr int kPresampled = std::numeric_limits<int>::max();

std::shared_ptr<const Csr> loop_free(const std::shared_ptr<const Csr>& graph) {
  const auto lengths = row_lengths(*graph, {});
  const bool none =
      std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}) == graph->nnz();
  return none ? graph : std::make_shared<const Csr>(without_self_loops(*graph));
}

/// The fanouts of each relation.
std::vector<std::vector<int>> fanouts_by_relation(const MiniBatchSettings& settings,
                                                  const TypedGraph& typed) {
  const std::vector<std::string> known = typed.texts();
  std::vector<std::vector<int>> fanouts(known.size(), settings.fanouts);
  for (const auto& [name, of_relation] : settings.fanouts_of) {
    const auto found = std::ranges::find(known, name);
    if (found == known.end())
      throw ConfigError("strategy.fanouts_of", "has " + unknown("relation", name, known));
    if (of_relation.size() != settings.fanouts.size())
      throw ConfigError("strategy.fanouts_of",
                        fmt::format("\"{}\" has {} numbers, expected one for each of the {} layers",
                                    name, of_relation.size(), settings.fanouts.size()));
    fanouts[at(found - known.begin())] = of_relation;
  }
  return fanouts;
}

NeighbourSampling sampling_of(const Problem& problem, const MiniBatchSettings& settings) {
  NeighbourSampling sampling{settings.fanouts, NeighbourRule::uniform,
                             static_cast<int>(problem.data->magnify)};
  sampling.keeps_vertices = settings.relabel == RelabelOn::device;
  if (settings.fanouts_by_relation)
    sampling.by_relation = fanouts_by_relation(settings, *problem.data->typed);
  if (settings.sampler == BatchSampler::labor)
    sampling.rule = NeighbourRule::labor;
  else if (settings.sampler == BatchSampler::weighted)
    sampling.rule = NeighbourRule::weighted;
  else if (settings.sampler != BatchSampler::neighbour)
    sampling.fanouts.assign(at(problem.model.layers), kAllNeighbours);
  else if (settings.replace)
    sampling.rule = NeighbourRule::replacement;
  return sampling;
}

/// A batch numbers its vertices with 32 bits.
void require_countable_copies(const Problem& problem, const MiniBatchSettings& settings) {
  const std::int64_t copies = problem.data->magnify;
  if (copies == 1) return;
  if (!draws_seeds(settings.sampler))
    throw ConfigError("dataset.magnify",
                      "goes with batches of seeds: set it to 1, or strategy.sampler to "
                      "\"neighbour\", \"labor\" or \"all\"");
  if (settings.cache.bytes > 0)
    throw ConfigError("strategy.cache.bytes",
                      "a cache needs real rows, but each vertex represents several: leave the "
                      "cache out, or set dataset.magnify to 1");
  const std::int64_t most = std::numeric_limits<Vertex>::max() / problem.data->vertices();
  if (copies > most)
    throw ConfigError("dataset.magnify",
                      fmt::format("found {}, but batches number their vertices with 32 bits: at "
                                  "most {} for {} vertices",
                                  copies, most, problem.data->vertices()));
}

/// Refuses settings that need training vertices, which links do not have.
void require_seeds_of_links(const MiniBatchSettings& settings) {
  if (!draws_seeds(settings.sampler))
    throw ConfigError(
        "strategy.sampler",
        "batches of links draw for the ends of these: use \"neighbour\", \"labor\" or "
        "\"all\"");
  const auto refuse = [](const char* key, const char* to) {
    throw ConfigError(key, fmt::format("is of vertices that are trained on, not of links: {}", to));
  };
  if (settings.cooperative) refuse("strategy.cooperative", "set it to false");
  if (settings.cache.bytes > 0 && settings.cache.policy == CachePolicy::vip)
    refuse("strategy.cache.policy", "use \"degree\", \"presampled\", \"lru\" or \"clock\"");
}

std::optional<LinkBatches> links_of(const Problem& problem, const MiniBatchSettings& settings) {
  if (!problem.links) return std::nullopt;
  return std::optional<LinkBatches>(
      std::in_place, problem.links, *problem.data, problem.partition,
      LinkSteps{settings.batch, settings.seeds, std::max(1, problem.strategy.ranks_per_server)},
      problem.train.seed);
}

std::optional<StackedRelations> relations_of(const Problem& problem) {
  if (!by_relation(problem.model)) return std::nullopt;
  return stack(*problem.data->typed, static_cast<int>(problem.data->magnify));
}

/// The sums of the weights in the rows of A; without weights of edges the lengths of the rows.
std::vector<double> sums_of_rows(const Problem& problem, const Weighting& weighting,
                                 const std::vector<float>& loops) {
  if (!problem.edge_weights) {
    const auto lengths = row_lengths(*problem.data->graph, weighting);
    return {lengths.begin(), lengths.end()};
  }
  const auto& [graph, weights] = problem.edge_weights->of_graph;
  std::vector<double> sums(at(graph->rows), 0);
  if (weighting.loops) std::ranges::copy(loops, sums.begin());
  for (Vertex v = 0; v < graph->rows; ++v)
    for (EdgeIndex e = graph->offsets[at(v)]; e < graph->offsets[at(v) + 1]; ++e)
      if (graph->columns[at(e)] != v) sums[at(v)] += double{weights[at(e)]};
  return sums;
}

std::vector<float> loop_weights_of(const Problem& problem) {
  if (!problem.edge_weights) return {};
  const auto& [graph, weights] = problem.edge_weights->of_graph;
  return loop_weights(*graph, weights);
}

std::vector<float> entry_weights_of(const Problem& problem,
                                    const std::optional<StackedRelations>& relations) {
  if (!problem.edge_weights) return {};
  if (!relations) return without_self_loops(problem.edge_weights->of_graph);
  std::vector<std::span<const float>> of_relations;
  for (const auto& relation : problem.edge_weights->of_relations)
    of_relations.emplace_back(relation.values);
  return stack_values(*problem.data->typed, *relations, of_relations);
}

NeighbourSampler make_sampler(const Csr& graph, const std::optional<StackedRelations>& relations,
                              NeighbourSampling sampling, std::span<const float> weights) {
  if (relations) return {*relations, std::move(sampling)};
  if (sampling.rule != NeighbourRule::weighted) weights = {};
  return {graph, std::move(sampling), weights};
}

/// Weights of edges are used where rows are means of drawn neighbours, and are there to draw by.
void require_sound_weights(const Problem& problem, const MiniBatchSettings& settings) {
  ORRERY_ASSERT(!problem.edge_weights || !problem.links);
  if (settings.sampler == BatchSampler::weighted && !problem.edge_weights)
    throw ConfigError("dataset.edge_weights",
                      "is what strategy.sampler weighted draws by: set it to true, or use "
                      "another sampler");
  if (problem.edge_weights && is_saint(settings.sampler))
    throw ConfigError("strategy.sampler",
                      "saint-* counts how likely an edge is in a batch, not what it weighs: use "
                      "neighbour, labor, weighted, all or cluster, or leave dataset.edge_weights "
                      "out");
}

SaintSampling saint_sampling_of(const MiniBatchSettings& settings) {
  const SaintRule rule = settings.sampler == BatchSampler::saint_node   ? SaintRule::node
                         : settings.sampler == BatchSampler::saint_edge ? SaintRule::edge
                                                                        : SaintRule::walk;
  return {rule, settings.batch, settings.walk_length};
}

/// A number of seeds for "as many as there are".
std::int64_t all_seeds(const Problem& problem, const MiniBatchSettings& settings) {
  if (is_saint(settings.sampler))
    return saint_sampling_of(settings).most_draws(problem.data->vertices());
  return std::numeric_limits<std::int32_t>::max();
}

MiniBatchSettings checked_settings(const Problem& problem) {
  MiniBatchSettings settings = mini_batch_of(problem.strategy);
  if (settings.batch == 0) settings.batch = all_seeds(problem, settings);
  require_countable_copies(problem, settings);
  require_sound_weights(problem, settings);
  if (problem.links) require_seeds_of_links(settings);
  return settings;
}

/// Cut of the symmetrised graph, as METIS requires.
Partition clusters_of(const Problem& problem, const MiniBatchSettings& settings) {
  if (settings.sampler != BatchSampler::cluster) return {};
  return partition_graph(*problem.data->graph, settings.clusters, {"metis", "", problem.train.seed},
                         problem.data->split);
}

std::string words_of_draws(const SaintSampling& sampling) {
  switch (sampling.rule) {
    case SaintRule::node:
      return "vertices";
    case SaintRule::edge:
      return "edges";
    case SaintRule::walk:
      break;
  }
  return fmt::format("walks of {} edges", sampling.steps);
}

/// The sum of the squares of each column of A, loops included.
std::vector<double> squares_of_columns(const Csr& graph, const Weighting& weight,
                                       const std::vector<double>& lengths) {
  std::vector<double> squares(at(graph.cols), 0);
  const auto add = [&](Vertex v, Vertex u) {
    const double entry = weight(lengths[at(v)], lengths[at(u)]);
    squares[at(u)] += entry * entry;
  };
  for (Vertex v = 0; v < graph.rows; ++v) {
    if (weight.loops) add(v, v);
    for (const Vertex u : graph.row(v)) add(v, u);
  }
  return squares;
}

/// Number of consecutive ranks that take their seeds from one list.
int ranks_per_list(const Problem& problem, SeedsFrom seeds) {
  if (seeds == SeedsFrom::own) return 1;
  return seeds == SeedsFrom::all ? problem.ranks() : problem.strategy.ranks_per_server;
}

Seeds seeds_of(const Problem& problem, const MiniBatchSettings& settings) {
  const auto& split = problem.data->split;
  const auto copies = static_cast<Vertex>(problem.data->magnify);
  const int ranks = problem.ranks(), together = ranks_per_list(problem, settings.seeds);
  std::vector<std::vector<Vertex>> training(at(ranks / together));
  for (std::size_t v = 0; v < split.size(); ++v)
    if (split[v] == Split::train)
      for (Vertex copy = 0; copy < copies; ++copy)
        training[at(problem.partition.owner[v] / together)].push_back(
            static_cast<Vertex>(v) * copies + copy);
  const std::uint64_t seed = problem.train.seed;
  if (settings.seeds == SeedsFrom::all)
    return Seeds::from_all(std::move(training.front()), ranks, settings.batch, seed);
  const int lists_per_server = problem.strategy.ranks_per_server / together;
  return Seeds::from_servers(share_equally(std::move(training), lists_per_server, seed), together,
                             settings.batch, seed);
}

std::shared_ptr<const std::vector<Vertex>> rows_of_copies(const std::vector<Vertex>& vertices,
                                                          int copies) {
  auto rows = std::make_shared<std::vector<Vertex>>(vertices);
  for (Vertex& v : *rows) v /= copies;
  return rows;
}

/// For a batch.
std::int64_t most_seeds_of(const Problem& problem, const MiniBatchSettings& settings,
                           const std::optional<LinkBatches>& links) {
  const std::int64_t ranks = problem.ranks();
  const std::int64_t together = settings.cooperative ? problem.strategy.ranks_per_server : 1;
  const std::int64_t each =
      settings.seeds == SeedsFrom::all ? (settings.batch + ranks - 1) / ranks : settings.batch;
  const std::int64_t all = problem.facts().vertices;
  if (links) return std::min(links->most_ends(), all);
  if (!draws_seeds(settings.sampler)) return all;
  return each > all ? all : std::min(each * together, all);
}

/// A neighbour that was drawn k times is one entry with k times the value.
std::pair<std::shared_ptr<const Csr>, std::shared_ptr<const std::vector<float>>> merged(
    const Csr& drawn, const std::vector<float>& values) {
  Csr once;
  once.rows = drawn.rows;
  once.cols = drawn.cols;
  std::vector<float> sums;
  std::vector<std::pair<Vertex, float>> row;
  for (std::int64_t r = 0; r < drawn.rows; ++r) {
    row.clear();
    const auto first = at(drawn.offsets[at(r)]);
    for (std::size_t e = 0; e < drawn.row(r).size(); ++e)
      row.emplace_back(drawn.row(r)[e], values[first + e]);
    std::sort(row.begin(), row.end());
    for (std::size_t e = 0; e < row.size(); ++e)
      if (e > 0 && row[e].first == row[e - 1].first) {
        sums.back() += row[e].second;
      } else {
        once.columns.push_back(row[e].first);
        sums.push_back(row[e].second);
      }
    once.offsets.push_back(once.nnz());
  }
  once.offsets.shrink_to_fit();
  once.columns.shrink_to_fit();
  sums.shrink_to_fit();
  return {std::make_shared<const Csr>(std::move(once)),
          std::make_shared<const std::vector<float>>(std::move(sums))};
}

/// A block whose values are the weights of its edges; none without weights.
SampledBatch::Layer with_weights(Csr block, const std::vector<float>& weights,
                                 std::span<const EdgeIndex> positions) {
  SparseMatrix matrix{std::make_shared<const Csr>(std::move(block)), nullptr};
  if (!weights.empty()) {
    auto values = std::make_shared<std::vector<float>>(positions.size());
    for (std::size_t e = 0; e < positions.size(); ++e) (*values)[e] = weights[at(positions[e])];
    matrix.values = std::move(values);
  }
  return {std::move(matrix), std::nullopt};
}

}  // namespace

bool first_layer_needs_adjoint(const ModelConfig& model, const DataFacts& facts) {
  if (model.type != ModelType::gcn && model.type != ModelType::sage) return true;
  if (model.order == LayerOrder::aggregate_both) return true;
  const bool last = model.layers == 1 && model.dense_layers == 0;
  return transforms_first(model.order, facts.features, last ? facts.classes : model.hidden, true);
}

MiniBatchSettings mini_batch_of(const StrategyConfig& config) {
  const auto* own = std::any_cast<MiniBatchSettings>(&config.own);
  return own != nullptr ? *own : MiniBatchSettings{};
}

RowOwners row_owners(const Partition& partition, int copies) {
  RowOwners made{partition.parts, partition.owner, std::vector<Vertex>(partition.owner.size()),
                 copies};
  for (const std::vector<Vertex>& members : partition.members())
    for (std::size_t i = 0; i < members.size(); ++i)
      made.number[at(members[i])] = static_cast<Vertex>(i) * copies;
  return made;
}

SampledBatches::SampledBatches(const Problem& problem)
    : settings_(checked_settings(problem)),
      learned_features_(problem.strategy.learned),
      ranks_(problem.ranks()),
      ranks_per_server_(std::max(1, problem.strategy.ranks_per_server)),
      row_bytes_((problem.data->features && problem.data->features->half() ? 2 : 4) *
                 problem.facts().features),
      seed_(problem.train.seed),
      weighting_(weighting_of(problem.model, problem.data->symmetric)),
      loop_weights_(loop_weights_of(problem)),
      lengths_(sums_of_rows(problem, weighting_, loop_weights_)),
      graph_(loop_free(problem.data->graph)),
      relations_(relations_of(problem)),
      entry_weights_(entry_weights_of(problem, relations_)),
      needs_adjoints_(!weighs_edges(problem.model) || settings_.cooperative),
      first_adjoint_(learned_features_ || settings_.cooperative ||
                     first_layer_needs_adjoint(problem.model, problem.facts())),
      owners_(row_owners(problem.partition, static_cast<int>(problem.data->magnify))),
      links_(links_of(problem, settings_)),
      seeds_(seeds_of(problem, settings_)),
      training_(problem.facts().training_vertices),
      most_seeds_(most_seeds_of(problem, settings_, links_)),
      sampler_(make_sampler(*graph_, relations_, sampling_of(problem, settings_), entry_weights_)),
      data_(problem.data),
      clusters_(clusters_of(problem, settings_)),
      ranks_per_list_(ranks_per_list(problem, settings_.seeds)),
      kept_(problem.ranks()),
      asked_(problem.ranks(), kSharedDraws),
      of_servers_(settings_.cooperative ? problem.ranks() / ranks_per_server_ : 0, kSharedDraws) {
  if (settings_.sampler == BatchSampler::cluster)
    cluster_batches_.emplace(clusters_, settings_.together, seed_);
  if (is_saint(settings_.sampler)) make_saint();
  for (auto& members : problem.partition.members())
    owned_.push_back(std::make_shared<const std::vector<Vertex>>(std::move(members)));
  if (!learned_features_ || learned_features_->types.empty()) return;
  for (const auto& owned : owned_) learned_.push_back(learned_vertices(problem, *owned));
}

void SampledBatches::make_saint() {
  const SaintSampling sampling = saint_sampling_of(settings_);
  if (const std::int64_t most = sampling.most_draws(graph_->rows); sampling.draws > most)
    throw ConfigError(
        "strategy.batch",
        fmt::format("found {}, but {} {} already cover all {} vertices of the graph: set it to "
                    "{} or fewer",
                    sampling.draws, most, words_of_draws(sampling), graph_->rows, most));
  saint_.emplace(*graph_, sampling,
                 sampling.rule == SaintRule::node
                     ? squares_of_columns(*graph_, weighting_, lengths_)
                     : std::vector<double>{});
  const std::vector<bool> drawable = saint_->drawable();
  for (std::size_t v = 0; v < drawable.size(); ++v)
    never_drawn_ += data_->split[v] == Split::train && !drawable[v] ? 1 : 0;
  if (training_ > 0 && never_drawn_ == training_)
    throw ConfigError(
        "strategy.sampler",
        fmt::format("found {}, but {}: no batch would have any; use \"saint-walk\" or "
                    "\"neighbour\"",
                    sampling.rule == SaintRule::edge ? "saint-edge" : "saint-node",
                    sampling.rule == SaintRule::edge ? "no training vertex has an edge"
                                                     : "no vertex aggregates a training vertex"));
}

const SaintNormalisation& SampledBatches::normalisation() const {
  return normalisation_.get(0,
                            [&] { return normalisation_of(*saint_, settings_.coverage, seed_); });
}

SampledBatches::Scratch SampledBatches::take_scratch() const {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      Scratch kept = std::move(free_.back());
      free_.pop_back();
      return kept;
    }
  }
  return sampler_.scratch(most_seeds_);
}

int SampledBatches::steps() const {
  if (links_) return links_->steps();
  if (!has_subgraphs()) return seeds_.steps();
  if (cluster_batches_) return (cluster_batches_->batches() + ranks_ - 1) / ranks_;
  const std::int64_t together = saint_->sampling().budget() * ranks_;
  return static_cast<int>(std::max<std::int64_t>(1, (graph_->rows + together - 1) / together));
}

std::int64_t SampledBatches::taken(int step) const {
  if (links_) return links_->links(step);
  if (saint_) return 0;
  if (!cluster_batches_) return seeds_.total(step);
  const std::int64_t parts = std::int64_t{ranks_} * settings_.together;
  return std::min<std::int64_t>(settings_.clusters, (step + 1) * parts) - step * parts;
}

std::int64_t SampledBatches::most_batch() const {
  if (cluster_batches_) return 0;
  if (saint_) return saint_->sampling().most_draws(graph_->rows);
  const std::int64_t longest = links_ ? links_->longest_list() : seeds_.longest_list();
  if (settings_.seeds == SeedsFrom::all) return longest;
  return (longest + ranks_per_list_ - 1) / ranks_per_list_;
}

double SampledBatches::trained_on(int epoch, int step) const {
  if (links_) return static_cast<double>(links_->links(step));
  if (!has_subgraphs()) return static_cast<double>(seeds_.total(step));
  if (saint_) return static_cast<double>(training_) / steps();
  std::int64_t all = 0;
  for (int rank = 0; rank < ranks_; ++rank)
    for (const Vertex v : subgraph(rank, epoch, step))
      all += data_->split[at(v)] == Split::train ? 1 : 0;
  return static_cast<double>(
      std::max<std::int64_t>(all, 1));  // otherwise there is nothing to average
}

/// Ranks take batches in turn; for some of them no cluster is left in the last step.
std::vector<Vertex> SampledBatches::subgraph(int rank, int epoch, int step) const {
  const int number = step * ranks_ + rank;
  if (saint_)
    return saint_->vertices(
        {seed_, static_cast<std::uint32_t>(epoch), static_cast<std::uint32_t>(number)});
  return number < cluster_batches_->batches() ? cluster_batches_->vertices(epoch, number)
                                              : std::vector<Vertex>{};
}

/// Every level has all vertices, in ascending order.
MessageFlow SampledBatches::induced(std::vector<Vertex> vertices) const {
  Scratch scratch = take_scratch();
  MessageFlow flow = sampler_.among(std::move(vertices), scratch);
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(scratch));
  return flow;
}

ExcludedEntries SampledBatches::excluded(int rank, int epoch, int step) const {
  if (!links_) return {};
  std::vector<EdgeIndex> entries;
  const Csr& graph = relations_ ? relations_->rows : *graph_;
  const auto copies = static_cast<Vertex>(owners_.copies);
  const auto exclude = [&](std::int64_t row, Vertex column) {
    const EdgeIndex entry = entry_of(graph, row, column / copies);
    if (entry >= 0) entries.push_back(entry * copies + column % copies);
  };
  // Of a relation without a reverse, the other direction is an edge of its own.
  const int relation = links_->task().relation;
  const int reverse = links_->task().reverse < 0 ? relation : links_->task().reverse;
  for (const auto& [source, destination] : links_->excluded(rank, epoch, step)) {
    exclude(relations_ ? relations_->row_of(destination, relation) : destination / copies, source);
    if (relations_ && !relations_->leads_to(source, reverse)) continue;
    exclude(relations_ ? relations_->row_of(source, reverse) : source / copies, destination);
  }
  return {std::move(entries), graph.nnz(), owners_.copies};
}

MessageFlow SampledBatches::draw(int rank, int epoch, int step) const {
  if (has_subgraphs()) return induced(subgraph(rank, epoch, step));
  if (links_) {
    const auto seeds = LinkBatches::vertices_of(links_->of(rank, epoch, step));
    return draw_for(seeds, epoch, step, excluded(rank, epoch, step));
  }
  return draw_for(seeds_.of(rank, epoch, step), epoch, step);
}

MessageFlow SampledBatches::draw_for(std::span<const Vertex> seeds, int epoch, int step,
                                     const ExcludedEntries& excluded) const {
  const DrawKey key{seed_, static_cast<std::uint32_t>(epoch),
                    settings_.resample_steps ? static_cast<std::uint32_t>(step) : 0U};
  Scratch scratch = take_scratch();
  MessageFlow flow = sampler_.sample(seeds, key, scratch, counts_weights(), excluded);
  if (relations_) order_by_type(flow, *relations_, relabels_later());
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(scratch));
  return flow;
}

SampledBatch SampledBatches::batch(int rank, int epoch, int step) const {
  SampledBatch made;
  if (links_) {
    const ExcludedEntries gone = excluded(rank, epoch, step);
    const ScoredLinks scored = links_->of(rank, epoch, step);
    made = made_of(draw_for(LinkBatches::vertices_of(scored), epoch, step, gone), gone);
    const auto seeds = std::span(*made.vertices).first(at(made.rows.back()));
    made.pairs = std::make_shared<const PairRows>(pair_rows(scored, seeds));
  } else {
    made = made_of(draw(rank, epoch, step));
  }
  made.features = wanted(rank, *made.vertices);
  return made;
}

std::shared_ptr<const SampledBatch> SampledBatches::of_server(int server, int epoch,
                                                              int step) const {
  ORRERY_ASSERT(settings_.cooperative);
  return of_servers_.get(server, number_of(epoch, step), [&] {
    std::vector<Vertex> seeds;
    for (int r = server * ranks_per_server_; r < (server + 1) * ranks_per_server_; ++r) {
      const std::vector<Vertex> more = seeds_.of(r, epoch, step);
      seeds.insert(seeds.end(), more.begin(), more.end());
    }
    return std::make_shared<const SampledBatch>(made_of(draw_for(seeds, epoch, step)));
  });
}

namespace {

/// Of the entries of a block among those of the graph; empty if nobody asked for them.
std::span<const EdgeIndex> positions_of(const MessageFlow& flow, std::size_t block) {
  if (flow.edges.empty()) return {};
  return flow.edges[block];
}

}  // namespace

SampledBatch SampledBatches::made_of(MessageFlow flow, const ExcludedEntries& excluded) const {
  SampledBatch made;
  made.edges = flow.sampled_edges();
  made.scanned = flow.scanned;
  made.rows = std::move(flow.rows);
  made.alike = has_subgraphs();
  if (relations_)
    for (std::size_t l = 0; l + 1 < made.rows.size(); ++l)
      made.layers.push_back(
          made.alike && l > 0
              ? made.layers.front()
              : with_weights(std::move(flow.blocks[l]), entry_weights_, positions_of(flow, l)));
  else if (made.alike)
    made.layers.assign(made.rows.size() - 1, cut(flow, 1, excluded));
  else
    for (int layer = 1; layer <= static_cast<int>(flow.blocks.size()); ++layer)
      made.layers.push_back(cut(flow, layer, excluded));
  if (saint_) made.target_weights = target_weights(flow.vertices);
  flow.vertices.shrink_to_fit();  // several batches wait for their turn
  made.vertices = std::make_shared<const std::vector<Vertex>>(std::move(flow.vertices));
  if (relabels_later()) {
    made.later_numbers = std::make_shared<const LaterNumbers>(made.vertices);
    for (std::size_t l = 0; l < made.layers.size(); ++l)
      if (has_adjoint(static_cast<int>(l) + 1))
        made.layers[l].adjoint = transpose_later(made.layers[l].forward, made.later_numbers);
  }
  if (owners_.copies > 1) made.data_rows = rows_of_copies(*made.vertices, owners_.copies);
  return made;
}

SampledBatches::Asked SampledBatches::asked(int rank, int epoch, int step) const {
  return asked_.get(rank, number_of(epoch, step), [&] {
    if (settings_.cooperative) {
      const int server = rank / ranks_per_server_;
      const auto batch = of_server(server, epoch, step);
      std::vector<Vertex> own;
      for (const Vertex v : *batch->vertices)
        if (computed_by(v) == rank % ranks_per_server_) own.push_back(v);
      return Asked{wanted(rank, own).pulled, batch->edges};
    }
    const MessageFlow flow = draw(rank, epoch, step);
    return Asked{wanted(rank, flow.vertices).pulled, flow.sampled_edges()};
  });
}

void SampledBatches::share_asked(int rank, int epoch, int step, const SampledBatch& batch) const {
  asked_.get(rank, number_of(epoch, step), [&] {
    return Asked{batch.features.pulled, batch.edges};
  });
}

std::int64_t SampledBatches::entries_within(int fanout) const {
  if (fanout == kAllNeighbours) return graph_->nnz() * owners_.copies;
  std::int64_t entries = 0;
  for (Vertex v = 0; v < graph_->rows; ++v)
    entries += std::min<std::int64_t>(graph_->degree(v), fanout);
  return entries * owners_.copies;
}

SampledBatches::Bounds SampledBatches::bounds() const {
  const std::vector<int>& fanouts = sampler_.sampling().fanouts;
  const std::int64_t all = graph_->rows * owners_.copies;
  const std::int64_t entries = (relations_ ? relations_->rows : *graph_).nnz() * owners_.copies;
  if (has_subgraphs()) {
    const std::int64_t most = saint_ ? std::min(all, saint_->sampling().most_vertices()) : all;
    const std::int64_t loops = weighting_.loops ? most : 0;
    // A pair may have edges of several relations.
    const bool dense = !relations_ && most < entries / std::max<std::int64_t>(1, most);
    return {std::vector<std::int64_t>(fanouts.size() + 1, most),
            std::vector<std::int64_t>(fanouts.size(), (dense ? most * most : entries) + loops)};
  }
  std::int64_t rows = links_ ? most_seeds_ : 0;
  for (int step = 0; step < steps() && !links_; ++step)
    rows = std::max(rows, std::min(seeds_.total(step), most_seeds_));
  Bounds bounds{{rows}, {}};
  for (std::size_t hop = 0; hop < fanouts.size(); ++hop) {
    const std::int64_t each = sampler_.most_edges(hop);
    const bool repeats = sampler_.sampling().rule == NeighbourRule::replacement;
    const std::int64_t there = repeats || relations_ ? entries : entries_within(fanouts[hop]);
    const std::int64_t most = repeats || each == 0 || rows <= there / each ? rows * each : there;
    bounds.edges.insert(bounds.edges.begin(), most + (weighting_.loops ? rows : 0));
    rows = std::min(rows + most, all);
    bounds.vertices.insert(bounds.vertices.begin(), rows);
  }
  return bounds;
}

SampledBatches::Bounds SampledBatches::likely_bounds() const {
  Bounds most = bounds();
  const NeighbourSampling& sampling = sampler_.sampling();
  const bool independent = !links_ && !relations_ && !has_subgraphs() && !cooperative() &&
                           owners_.copies == 1 && sampling.rule == NeighbourRule::uniform;
  if (!independent || training_ == 0) return most;
  const LikelySizes likely =
      likely_sizes(*graph_, sampling.fanouts, seeds_.lists(), most.vertices.back(), kExceeding);
  const std::size_t layers = most.edges.size();
  for (std::size_t hop = 0; hop < layers; ++hop) {
    const std::int64_t loops = weighting_.loops ? likely.vertices[hop] : 0;
    std::int64_t& edges = most.edges[layers - 1 - hop];
    std::int64_t& vertices = most.vertices[layers - 1 - hop];
    edges = std::min(edges, likely.edges[hop] + loops);
    vertices = std::min(vertices, likely.vertices[hop + 1]);
  }
  return most;
}

std::vector<SampledBatches::Bounds> SampledBatches::share_bounds() const {
  ORRERY_ASSERT(settings_.cooperative);
  std::vector<std::int64_t> vertices(at(ranks_per_server_), 0), entries(at(ranks_per_server_), 0);
  for (Vertex v = 0; v < graph_->rows; ++v) {
    ++vertices[at(computed_by(v))];
    entries[at(computed_by(v))] += graph_->degree(v);
  }
  const Bounds whole = bounds();
  const bool repeats = sampler_.sampling().rule == NeighbourRule::replacement;
  std::vector<Bounds> shares(at(ranks_per_server_));
  for (std::size_t place = 0; place < shares.size(); ++place) {
    Bounds& share = shares[place];
    for (const std::int64_t all : whole.vertices)
      share.vertices.push_back(std::min(all, vertices[place]));
    for (std::size_t l = 0; l < whole.edges.size(); ++l) {
      const std::int64_t rows = share.vertices[l + 1];
      const std::int64_t drawn = rows * sampler_.most_edges(whole.edges.size() - 1 - l);
      const std::int64_t most = repeats ? drawn : std::min(drawn, entries[place]);
      share.edges.push_back(std::min(whole.edges[l], most + (weighting_.loops ? rows : 0)));
    }
  }
  return shares;
}

std::vector<std::int64_t> SampledBatches::type_bounds(int level) const {
  const std::int64_t all = bounds().vertices[at(level)];
  std::vector<std::int64_t> rows;
  for (const VertexType& type : data_->typed->types)
    rows.push_back(std::min(type.count * owners_.copies, all));
  return rows;
}

SampledBatches::RelationBounds SampledBatches::relation_bounds(int layer) const {
  const TypedGraph& typed = *data_->typed;
  const NeighbourSampling& sampling = sampler_.sampling();
  const Bounds most = bounds();
  const std::size_t l = at(layer), hop = most.edges.size() - l;
  RelationBounds made{type_bounds(layer), std::vector<std::int64_t>(typed.relations.size())};
  for (std::size_t t = 0; t < typed.types.size(); ++t) {
    const std::int64_t rows = made.rows[t];
    for (const int r : relations_->types[t].relations) {
      const int fanout =
          sampling.by_relation.empty() ? sampling.fanouts[hop] : sampling.by_relation[at(r)][hop];
      const std::int64_t all = typed.relations[at(r)].graph->nnz() * owners_.copies;
      made.edges[at(r)] =
          std::min({all, most.edges[l - 1], fanout == kAllNeighbours ? all : rows * fanout});
    }
  }
  return made;
}

SampledBatch SampledBatches::largest() const {
  const Bounds most = settings_.sizes == BatchSizesFrom::likely ? likely_bounds() : bounds();
  SampledBatch made;
  made.rows = most.vertices;
  made.alike = has_subgraphs();
  if (relabels_later()) made.later_numbers = std::make_shared<const LaterNumbers>(nullptr);
  const std::int64_t rows_of_a_vertex = relations_ ? relations_->most_relations() : 1;
  for (std::size_t l = 0; l < most.edges.size(); ++l) {
    const std::int64_t rows = most.vertices[l + 1] * rows_of_a_vertex, columns = most.vertices[l];
    SampledBatch::Layer layer{{Counts{rows, columns, most.edges[l]}, nullptr}, std::nullopt};
    if (has_adjoint(static_cast<int>(l) + 1))
      layer.adjoint = SparseMatrix{Counts{columns, rows, most.edges[l]}, nullptr};
    made.layers.push_back(std::move(layer));
    made.edges += most.edges[l] - (weighting_.loops ? most.vertices[l + 1] : 0);
  }
  if (saint_)
    made.target_weights = std::make_shared<const std::vector<float>>(at(made.rows.back()));
  if (links_) {
    PairRows pairs;
    pairs.links = links_->most_links();
    pairs.per_link = links_->task().config.negatives_per_link;
    pairs.left.resize(at(pairs.links * (1 + pairs.per_link)));
    pairs.right = pairs.left;
    made.pairs = std::make_shared<const PairRows>(std::move(pairs));
  }
  made.features = counted_rows(made.rows.front());
  return made;
}

WantedRows SampledBatches::counted_rows(std::int64_t vertices) const {
  WantedRows rows;
  const auto numbers = std::make_shared<const std::vector<Vertex>>(at(vertices));
  auto counts = std::make_shared<std::vector<std::int64_t>>();
  std::int64_t all = 0, owned = 0, counted = 0;
  for (const auto& own : owned_) all += std::ssize(*own);
  for (const auto& own : owned_) {
    owned += std::ssize(*own);
    const std::int64_t until = all > 0 ? owned * vertices / all : vertices;
    counts->push_back(until - counted);
    counted = until;
  }
  rows.pulled = {numbers, std::move(counts)};
  rows.places = numbers;
  rows.room = vertices;
  return rows;
}

/// GraphSAINT's batches: the expected sum of a step is that of all training vertices divided by the
/// number of steps.
std::shared_ptr<const std::vector<float>> SampledBatches::target_weights(
    const std::vector<Vertex>& vertices) const {
  auto weights = std::make_shared<std::vector<float>>();
  const float draws = static_cast<float>(ranks_) * static_cast<float>(steps());
  const SaintNormalisation& counted = normalisation();
  for (const Vertex v : vertices)
    if (data_->split[at(v)] == Split::train)
      weights->push_back(1 / (counted.vertices[at(v)] * draws));
  return weights;
}

std::vector<double> SampledBatches::lengths_without(std::span<const Vertex> vertices,
                                                    const ExcludedEntries& excluded) const {
  std::vector<double> lengths;
  lengths.reserve(vertices.size());
  if (excluded.empty()) {  // but for links: nothing to search for
    for (const Vertex v : vertices) lengths.push_back(lengths_[owners_.in_data(v)]);
    return lengths;
  }
  std::vector<EdgeIndex> gone;
  for (const Vertex v : vertices) lengths.push_back(length_without(v, excluded, gone));
  return lengths;
}

/// `gone`: memory that is reused.
double SampledBatches::length_without(Vertex v, const ExcludedEntries& excluded,
                                      std::vector<EdgeIndex>& gone) const {
  const auto copies = static_cast<Vertex>(owners_.copies);
  const std::size_t stored = owners_.in_data(v);
  gone.clear();
  if (!excluded.empty())
    excluded.within(graph_->offsets[stored], graph_->offsets[stored + 1], v % copies, gone);
  return lengths_[stored] - static_cast<double>(std::ssize(gone));
}

/// An entry of a row of which k of d neighbours were drawn counts d/k times; of a GraphSAINT batch,
/// 1/α times. With weights of edges d and k are sums of these, but each neighbour that was drawn by
/// weight counts 1 for k and in its entry. A vertex has the same row on both levels, so its
/// self-loop is on the diagonal. A row is as long as if the excluded entries were not in the graph.
SampledBatch::Layer SampledBatches::cut(MessageFlow& flow, int layer,
                                        const ExcludedEntries& excluded) const {
  Csr drawn = std::move(flow.blocks[at(layer - 1)]);
  // Of columns too if they matter and have numbers: a vertex is a column of many rows.
  const bool of_columns = weighting_.symmetric && !relabels_later();
  const std::vector<double> lengths = lengths_without(
      std::span(flow.vertices).first(at(of_columns ? drawn.cols : drawn.rows)), excluded);
  std::vector<EdgeIndex> gone;
  const auto length_of_column = [&](Vertex column) {
    return of_columns ? lengths[at(column)] : length_without(column, excluded, gone);
  };
  const std::span<const EdgeIndex> positions = positions_of(flow, at(layer - 1));
  const SaintNormalisation* const counted = saint_ ? &normalisation() : nullptr;
  const auto weight = [&](std::size_t e) { return double{entry_weights_[at(positions[e])]}; };
  const auto entry = [&](double of_row, double of_column) {
    return of_row == 0 || of_column == 0 ? 0.0F : weighting_(of_row, of_column);
  };
  const std::int64_t loops = weighting_.loops ? drawn.rows : 0;
  std::vector<float> values;
  values.reserve(at(drawn.nnz() + loops));
  std::vector<Vertex> columns;
  if (weighting_.loops) columns.reserve(at(drawn.nnz() + loops));
  for (std::int64_t r = 0; r < drawn.rows; ++r) {
    const auto row = drawn.row(r);
    const auto first = at(drawn.offsets[at(r)]);
    const double loop =
        loop_weights_.empty() ? 1 : loop_weights_[owners_.in_data(flow.vertices[at(r)])];
    const double own = lengths[at(r)], there = own - (weighting_.loops ? loop : 0);
    auto of_drawn = static_cast<double>(row.size());
    if (counts_weights()) {
      of_drawn = 0;
      for (std::size_t e = 0; e < row.size(); ++e) of_drawn += weight(first + e);
    }
    const double of_row = of_drawn == 0 ? 0 : there / of_drawn;
    const auto times = [&](std::size_t e) {
      if (counted != nullptr) return 1 / double{counted->entries[at(positions[first + e])]};
      return counts_weights() ? weight(first + e) * of_row : of_row;
    };
    if (weighting_.loops) {
      columns.push_back(relabels_later() ? flow.vertices[at(r)] : static_cast<Vertex>(r));
      values.push_back(static_cast<float>(loop * entry(own, own)));
      columns.insert(columns.end(), row.begin(), row.end());
    }
    const float alike = entry(own, own);  // used if the columns' lengths do not matter
    for (std::size_t e = 0; e < row.size(); ++e)
      values.push_back(static_cast<float>(
          times(e) * (weighting_.symmetric ? entry(own, length_of_column(row[e])) : alike)));
  }
  if (weighting_.loops) {
    for (std::int64_t r = 0; r <= drawn.rows; ++r) drawn.offsets[at(r)] += r;
    drawn.columns = std::move(columns);
  }
  drawn.columns.shrink_to_fit();
  SampledBatch::Layer made;
  if (settings_.replace) {
    std::tie(made.forward.pattern, made.forward.values) = merged(drawn, values);
  } else {
    made.forward.pattern = std::make_shared<const Csr>(std::move(drawn));
    made.forward.values = std::make_shared<const std::vector<float>>(std::move(values));
  }
  if (!relabels_later() && has_adjoint(layer)) made.adjoint = transpose(made.forward);
  return made;
}

OwnedRows SampledBatches::rows_of(const std::vector<Vertex>& vertices) const {
  auto counts = std::make_shared<std::vector<std::int64_t>>(owned_.size(), 0);
  auto numbers = std::make_shared<std::vector<Vertex>>();
  for (const Vertex v : vertices) {
    ++(*counts)[at(owners_.owner_of(v))];
    numbers->push_back(owners_.number_of(v));
  }
  return {std::move(numbers), std::move(counts)};
}

WantedRows SampledBatches::wanted(int rank, const std::vector<Vertex>& vertices) const {
  const Kept& kept = kept_of(rank);
  const auto place_kept = [&](Vertex v) { return kept.place.empty() ? -1 : kept.place[at(v)]; };
  WantedRows rows;
  auto counts = std::make_shared<std::vector<std::int64_t>>(owned_.size(), 0);
  constexpr std::size_t kAhead = 32;  // vertices
  std::vector<std::int32_t> owners;
  owners.reserve(vertices.size());
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    if (i + kAhead < vertices.size()) owners_.ask_for(vertices[i + kAhead]);
    const Vertex v = vertices[i];
    const bool is_kept = place_kept(v) >= 0;
    const std::int32_t owner = owners.emplace_back(owners_.owner_of(v));
    rows.foreign += owner != rank ? 1 : 0;
    rows.kept += is_kept ? 1 : 0;
    if (!is_kept) ++(*counts)[at(owner)];
  }
  std::vector<std::int64_t> next(counts->size(), 0);
  std::exclusive_scan(counts->begin(), counts->end(), next.begin(), std::int64_t{0});
  const auto first = static_cast<std::int64_t>(kept.vertices.size());
  auto numbers = std::make_shared<std::vector<Vertex>>(vertices.size() - at(rows.kept));
  auto places = std::make_shared<std::vector<Vertex>>(vertices.size());
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    const Vertex v = vertices[i];
    if (const Vertex place = place_kept(v); place >= 0) {
      (*places)[i] = place;
      continue;
    }
    const std::int64_t place = next[at(owners[i])]++;
    (*places)[i] = static_cast<Vertex>(first + place);
    (*numbers)[at(place)] = owners_.number_of(v);
  }
  rows.pulled = {std::move(numbers), std::move(counts)};
  rows.places = std::move(places);
  rows.room = first + rows.pulled.count();
  return rows;
}

std::optional<RowCache> SampledBatches::recent(int rank) const {
  const CacheSettings& cache = settings_.cache;
  if (!keeps_recent(cache.policy)) return std::nullopt;
  const std::int64_t foreign = graph_->rows - std::ssize(*owned_[at(rank)]);
  const std::int64_t slots = std::min(foreign, row_bytes_ > 0 ? cache.bytes / row_bytes_ : 0);
  if (slots == 0) return std::nullopt;
  return cache.policy == CachePolicy::lru ? RowCache::lru(graph_->rows, slots)
                                          : RowCache::clock(graph_->rows, slots);
}

/// The value of keeping the row of each vertex.
std::vector<double> SampledBatches::warmth(int rank, CachePolicy policy) const {
  std::vector<double> warmth(at(graph_->rows), 0);
  switch (policy) {
    case CachePolicy::degree:  // number of rows of A with this vertex, if all edges go both ways
      for (const Vertex u : graph_->columns) ++warmth[at(u)];
      return warmth;
    case CachePolicy::presampled:
      for (int step = 0; step < steps(); ++step)
        for (const Vertex v : draw(rank, kPresampled, step).vertices) ++warmth[at(v)];
      return warmth;
    case CachePolicy::vip:
    case CachePolicy::lru:
    case CachePolicy::clock:
      break;
  }
  // A seed comes once in an epoch, to any of the ranks that share its list.
  const double chance = 1.0 / (steps() * ranks_per_list_);
  const int first = rank - rank % ranks_per_list_;
  for (int r = first; r < first + ranks_per_list_; ++r)
    for (int step = 0; step < steps(); ++step)
      for (const Vertex v : seeds_.of(r, kPresampled, step)) warmth[at(v)] = chance;
  return inclusion_chances(*graph_, sampler_.sampling().fanouts, std::move(warmth));
}

std::vector<Vertex> SampledBatches::ranking(int rank, CachePolicy policy) const {
  const std::vector<double> value = warmth(rank, policy);
  std::vector<Vertex> order;
  for (Vertex v = 0; v < graph_->rows; ++v)
    if (owners_.owner_of(v) != rank && value[at(v)] > 0) order.push_back(v);
  std::stable_sort(order.begin(), order.end(),
                   [&](Vertex a, Vertex b) { return value[at(a)] > value[at(b)]; });
  return order;
}

std::vector<Vertex> SampledBatches::foreign(int rank, int epoch, int step) const {
  std::vector<Vertex> vertices = draw(rank, epoch, step).vertices;
  std::erase_if(vertices, [&](Vertex v) { return owners_.owner_of(v) == rank; });
  return vertices;
}

const SampledBatches::Kept& SampledBatches::kept_of(int rank) const {
  return kept_.get(rank, [&] {
    Kept kept;
    const std::int64_t most = row_bytes_ > 0 ? settings_.cache.bytes / row_bytes_ : 0;
    if (most == 0 || keeps_recent(settings_.cache.policy)) return kept;
    kept.vertices = ranking(rank, settings_.cache.policy);
    if (static_cast<std::int64_t>(kept.vertices.size()) > most) kept.vertices.resize(at(most));
    std::sort(kept.vertices.begin(), kept.vertices.end(), [&](Vertex a, Vertex b) {
      return std::pair(owners_.owner_of(a), a) < std::pair(owners_.owner_of(b), b);
    });
    kept.place.assign(at(graph_->rows), -1);
    for (std::size_t i = 0; i < kept.vertices.size(); ++i)
      kept.place[at(kept.vertices[i])] = static_cast<Vertex>(i);
    return kept;
  });
}

}  // namespace orrery
