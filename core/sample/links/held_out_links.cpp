#include "core/sample/links/held_out_links.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/base/rng.hpp"
#include "core/terminal/words.hpp"

namespace orrery {
namespace {

/// The numbers of these draws of the purpose `split`; the draws of vertices have number 0.
constexpr std::uint32_t kHeldOutOrder = 1, kHeldOutNegatives = 2;
/// A draw that is an edge is drawn again, up to this many draws in all; then it is taken.
constexpr int kHeldOutTries = 100;

/// The edges that are links.
struct LinkEdges {
  const Csr& graph;
  bool symmetric;  ///< an edge and its reverse are one link
};

/// All links in an order that depends on (seed, link) alone.
std::vector<VertexPair> shuffled_links(const LinkEdges& edges, std::uint64_t seed) {
  struct Keyed {
    std::uint64_t key;
    VertexPair link;
  };
  std::vector<Keyed> keyed;
  for (Vertex v = 0; v < edges.graph.rows; ++v)
    for (const Vertex u : edges.graph.row(v)) {
      if (u == v || (edges.symmetric && u > v)) continue;
      const auto bits = random_bits(seed, Purpose::split, static_cast<std::uint32_t>(u),
                                    static_cast<std::uint32_t>(v), kHeldOutOrder);
      const bool turned = edges.symmetric && (bits[2] & 1U) != 0;
      keyed.push_back({(std::uint64_t{bits[0]} << 32U) | bits[1],
                       turned ? VertexPair{v, u} : VertexPair{u, v}});
    }
  std::sort(keyed.begin(), keyed.end(), [](const Keyed& a, const Keyed& b) {
    return std::tuple(a.key, a.link.source, a.link.destination) <
           std::tuple(b.key, b.link.source, b.link.destination);
  });
  std::vector<VertexPair> links;
  links.reserve(keyed.size());
  for (const Keyed& one : keyed) links.push_back(one.link);
  return links;
}

bool has_edge(const Csr& graph, const VertexPair& pair) {
  const auto row = graph.row(pair.destination);
  return std::binary_search(row.begin(), row.end(), pair.source);
}

/// Returns how many of them are edges, or a vertex twice, because no other draw was found.
std::int64_t draw_negatives(ScoredLinks& scored, const Csr& graph, const LinkTask& task,
                            std::uint64_t seed) {
  std::atomic<std::int64_t> not_found = 0;
  const int per_link = scored.per_link = task.config.held_out_negatives;
  const auto draw = [](const VertexRange& range, Sequence& draws) {
    return static_cast<Vertex>(range.first +
                               std::int64_t(draws.below(static_cast<std::uint64_t>(range.count))));
  };
  const auto draw_for = [&](std::int64_t i) {
    const VertexPair& link = scored.links[at(i)];
    const std::uint64_t key =
        derived_seed(seed, Purpose::split, static_cast<std::uint32_t>(link.source),
                     static_cast<std::uint32_t>(link.destination));
    Sequence draws(key, Purpose::split, kHeldOutNegatives);
    for (int k = 0; k < per_link; ++k) {
      VertexPair pair = link;
      bool found = false;
      for (int tries = 0; tries < kHeldOutTries && !found; ++tries) {
        if (task.config.held_out_corrupted == Corrupted::both)
          pair.source = draw(task.sources, draws);
        pair.destination = draw(task.destinations, draws);
        found = pair.source != pair.destination && !has_edge(graph, pair);
      }
      if (!found) ++not_found;
      scored.negatives[at(i * per_link + k)] = pair;
    }
  };
  constexpr std::int64_t kBlock = 256;  // links
  scored.negatives.resize(scored.links.size() * at(per_link));
  parallel_for(std::ssize(scored.links), kBlock, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) draw_for(i);
  });
  return not_found;
}

using LinkLists = std::vector<const std::vector<VertexPair>*>;

/// The graph without the edges of these links.
std::shared_ptr<const Csr> without(const Csr& graph, const LinkLists& links, bool forward,
                                   bool backward) {
  std::vector<std::pair<Vertex, Vertex>> gone;  // row, column
  for (const auto* list : links)
    for (const VertexPair& link : *list) {
      if (forward) gone.emplace_back(link.destination, link.source);
      if (backward) gone.emplace_back(link.source, link.destination);
    }
  std::sort(gone.begin(), gone.end());
  auto result = std::make_shared<Csr>();
  result->rows = graph.rows;
  result->cols = graph.cols;
  result->offsets.reserve(graph.offsets.size());
  result->columns.reserve(graph.columns.size());
  auto next = gone.begin();
  for (Vertex v = 0; v < graph.rows; ++v) {
    for (const Vertex u : graph.row(v)) {
      while (next != gone.end() && *next < std::pair{v, u}) ++next;  // not an edge of this graph
      if (next == gone.end() || *next != std::pair{v, u}) result->columns.push_back(u);
    }
    result->offsets.push_back(result->nnz());
  }
  result->columns.shrink_to_fit();
  return result;
}

/// The number of a relation; -1: there is none.
int number_of(const TypedGraph& typed, const std::string& source, const std::string& name,
              const std::string& destination) {
  const Relation* relation = typed.relation(source, name, destination);
  return relation == nullptr ? -1 : static_cast<int>(relation - typed.relations.data());
}

/// The relations of this name, between whichever types.
std::vector<std::string> named(const TypedGraph& typed, const std::string& name) {
  std::vector<std::string> texts;
  for (const Relation& relation : typed.relations)
    if (relation.name == name) texts.push_back(relation.text());
  return texts;
}

/// Sets which edges are links.
void choose_relation(LinkTask& task, const Dataset& data) {
  const std::string& wanted = task.config.relation;
  const auto everything = static_cast<std::int64_t>(data.graph->rows);
  task.sources = task.destinations = {0, everything};
  if (wanted.empty()) return;
  if (!data.typed)
    throw ConfigError("links.relation",
                      fmt::format("found \"{}\", but '{}' has no relations in its meta.json: leave "
                                  "it out",
                                  wanted, data.name));
  const TypedGraph& typed = *data.typed;
  const std::vector<std::string> known = typed.texts();
  const auto found = std::find(known.begin(), known.end(), wanted);
  if (found == known.end())
    throw ConfigError("links.relation",
                      "has " + unknown("relation", wanted, known, named(typed, wanted)));
  task.relation = static_cast<int>(found - known.begin());
  const auto& [source, name, destination, graph] = typed.relations[at(task.relation)];
  task.reverse = number_of(typed, destination, reverse_name(name), source);
  for (const auto& [type, range] :
       {std::pair{source, &task.sources}, {destination, &task.destinations}})
    *range = {static_cast<Vertex>(typed.type(type)->first), typed.type(type)->count};
}

}  // namespace

std::pair<Dataset, std::shared_ptr<const LinkTask>> hold_out_links(const Dataset& data,
                                                                   const LinkConfig& config,
                                                                   std::uint64_t seed) {
  auto task = std::make_shared<LinkTask>();
  task->config = config;
  choose_relation(*task, data);
  const bool by_relation = task->relation >= 0;
  if (!by_relation && config.exclude == ExcludedLinks::training)
    throw ConfigError(
        "links.exclude",
        "\"training\" leaves nothing to aggregate where all edges are links: name one "
        "relation of a typed graph (links.relation), or use \"batch\"");
  const Csr& graph = by_relation ? *data.typed->relations[at(task->relation)].graph : *data.graph;
  const bool both_ways = by_relation ? task->reverse < 0 && is_symmetric(graph) : data.symmetric;
  std::vector<VertexPair> links = shuffled_links({graph, both_ways}, seed);
  const auto all = std::ssize(links);
  const auto share = [&](double part, const char* key) {
    const auto count = static_cast<std::int64_t>(std::floor(part * static_cast<double>(all)));
    if (part > 0 && count == 0)
      throw ConfigError(key, fmt::format("found {}, which is none of the {} links of '{}': set it "
                                         "to a larger share, or to 0",
                                         part, all, data.name));
    return count;
  };
  const std::int64_t validation = share(config.validation, "links.validation"),
                     test = share(config.test, "links.test");
  if (validation + test >= all)
    throw ConfigError("links",
                      fmt::format("{} of the {} links of '{}' are held out and none is left to "
                                  "train on: lower links.validation or links.test",
                                  validation + test, all, data.name));
  task->validation.links.assign(links.begin(), links.begin() + validation);
  task->test.links.assign(links.begin() + validation, links.begin() + validation + test);
  task->train.assign(links.begin() + validation + test, links.end());
  std::int64_t not_found = 0;
  for (ScoredLinks* scored : {&task->validation, &task->test})
    not_found += draw_negatives(*scored, graph, *task, seed);

  const LinkLists held_out{&task->validation.links, &task->test.links};
  LinkLists gone = held_out;
  const bool none_aggregated = config.exclude == ExcludedLinks::training;
  if (none_aggregated) gone.push_back(&task->train);
  task->edges = without(graph, held_out, true, both_ways);
  Dataset trained = data;
  if (by_relation) {
    TypedGraph typed = *data.typed;
    typed.relations[at(task->relation)].graph =
        none_aggregated ? without(graph, gone, true, both_ways) : task->edges;
    if (task->reverse >= 0) {
      auto& reverse = typed.relations[at(task->reverse)].graph;
      reverse = without(*reverse, gone, false, true);
    }
    set_typed_graph(trained, std::move(typed));
  } else {
    trained.typed = nullptr;  // its relations still have the links that are held out
    trained.graph = task->edges;
  }
  trained.notes.push_back(fmt::format(
      "links{}: {} of {} are trained on, {} validate and {} test; {} are not in the graph. "
      "Each held-out link has {} drawn pair{} beside it that {} no edge",
      by_relation ? " by " + config.relation : "", task->train.size(), all, validation, test,
      none_aggregated ? "all" : "the latter", config.held_out_negatives,
      config.held_out_negatives == 1 ? "" : "s", config.held_out_negatives == 1 ? "is" : "are"));
  if (not_found > 0)
    trained.notes.back() += fmt::format(
        "; but of {} such pairs {} are edges, or a vertex with itself, because {} draws each found "
        "no other: scores of these say nothing",
        (validation + test) * config.held_out_negatives, not_found, kHeldOutTries);
  return {std::move(trained), std::move(task)};
}

}  // namespace orrery
