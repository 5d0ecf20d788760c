#include "core/sample/links/held_out_links.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/rng.hpp"

namespace orrery {
namespace {

/// The numbers of these draws of the purpose `split`; the draws of vertices have number 0.
constexpr std::uint32_t kHeldOutOrder = 1, kHeldOutNegatives = 2;
/// A draw that is an edge is drawn again, up to this many draws in all; then it is taken.
constexpr int kHeldOutTries = 100;

/// All links in an order that depends on (seed, link) alone.
std::vector<VertexPair> shuffled_links(const Dataset& data, std::uint64_t seed) {
  struct Keyed {
    std::uint64_t key;
    VertexPair link;
  };
  std::vector<Keyed> keyed;
  for (Vertex v = 0; v < data.graph->rows; ++v)
    for (const Vertex u : data.graph->row(v)) {
      if (u == v || (data.symmetric && u > v)) continue;
      const auto bits = random_bits(seed, Purpose::split, static_cast<std::uint32_t>(u),
                                    static_cast<std::uint32_t>(v), kHeldOutOrder);
      const bool turned = data.symmetric && (bits[2] & 1U) != 0;
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

void draw_negatives(ScoredLinks& scored, const Csr& graph, int per_link, Corrupted corrupted,
                    std::uint64_t seed) {
  scored.per_link = per_link;
  const auto n = static_cast<std::uint64_t>(graph.rows);
  for (const VertexPair& link : scored.links) {
    const std::uint64_t key =
        derived_seed(seed, Purpose::split, static_cast<std::uint32_t>(link.source),
                     static_cast<std::uint32_t>(link.destination));
    Sequence draws(key, Purpose::split, kHeldOutNegatives);
    for (int k = 0; k < per_link; ++k) {
      VertexPair pair = link;
      for (int tries = 0; tries < kHeldOutTries; ++tries) {
        if (corrupted == Corrupted::both) pair.source = static_cast<Vertex>(draws.below(n));
        pair.destination = static_cast<Vertex>(draws.below(n));
        if (pair.source != pair.destination && !has_edge(graph, pair)) break;
      }
      scored.negatives.push_back(pair);
    }
  }
}

/// The graph without these edges, in both directions where it is symmetric.
Csr without(const Csr& graph, const std::vector<std::span<const VertexPair>>& lists,
            bool symmetric) {
  std::vector<std::pair<Vertex, Vertex>> gone;  // row, column
  for (const auto& list : lists)
    for (const VertexPair& link : list) {
      gone.emplace_back(link.destination, link.source);
      if (symmetric) gone.emplace_back(link.source, link.destination);
    }
  std::sort(gone.begin(), gone.end());
  Csr result;
  result.rows = graph.rows;
  result.cols = graph.cols;
  result.offsets.reserve(graph.offsets.size());
  result.columns.reserve(graph.columns.size() - gone.size());
  auto next = gone.begin();
  for (Vertex v = 0; v < graph.rows; ++v) {
    for (const Vertex u : graph.row(v))
      if (next != gone.end() && *next == std::pair{v, u})
        ++next;
      else
        result.columns.push_back(u);
    result.offsets.push_back(result.nnz());
  }
  ORRERY_ASSERT(next == gone.end());
  return result;
}

}  // namespace

std::pair<Dataset, std::shared_ptr<const LinkTask>> hold_out_links(const Dataset& data,
                                                                   const LinkConfig& config,
                                                                   std::uint64_t seed) {
  auto task = std::make_shared<LinkTask>();
  task->config = config;
  std::vector<VertexPair> links = shuffled_links(data, seed);
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
  for (ScoredLinks* scored : {&task->validation, &task->test})
    draw_negatives(*scored, *data.graph, config.held_out_negatives, config.held_out_corrupted,
                   seed);

  Dataset trained = data;
  trained.typed = nullptr;  // its relations still have the links that are held out
  trained.graph = std::make_shared<const Csr>(
      without(*data.graph, {task->validation.links, task->test.links}, data.symmetric));
  trained.notes.push_back(fmt::format(
      "links: {} of {} are trained on, {} validate and {} test; these are not in the "
      "graph, and each has {} drawn pair{} beside it that {} no edge",
      task->train.size(), all, validation, test, config.held_out_negatives,
      config.held_out_negatives == 1 ? "" : "s", config.held_out_negatives == 1 ? "is" : "are"));
  return {std::move(trained), std::move(task)};
}

}  // namespace orrery
