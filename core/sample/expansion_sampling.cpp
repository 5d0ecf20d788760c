#include "core/sample/expansion_sampling.hpp"

#include <algorithm>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/rng.hpp"

namespace orrery {
namespace {

/// Each draw has its own seed, so vertex and round have all counters.
std::uint64_t seed_of(std::uint64_t seed, std::uint64_t draw) {
  return derived_seed(seed, Purpose::sampler, static_cast<std::uint32_t>(draw),
                      static_cast<std::uint32_t>(draw >> 32U));
}

std::uint64_t priority(std::uint64_t draw_seed, int round, Vertex v) {
  return derived_seed(draw_seed, Purpose::sampler, static_cast<std::uint32_t>(v),
                      static_cast<std::uint32_t>(round));
}

/// The held vertices, and how many held vertices have each vertex as an in-neighbour.
class Held {
 public:
  explicit Held(const Csr& graph)
      : graph_(graph), held_(at(graph.rows), false), connections_(at(graph.rows), 0) {}

  bool has(Vertex v) const { return held_[at(v)]; }
  std::int32_t connections(Vertex v) const { return connections_[at(v)]; }
  void add(Vertex v) {
    held_[at(v)] = true;
    for (const Vertex u : graph_.row(v)) ++connections_[at(u)];
  }
  std::vector<Vertex> missing_neighbours(Vertex v) const {
    std::vector<Vertex> missing;
    for (const Vertex u : graph_.row(v))
      if (!has(u)) missing.push_back(u);
    return missing;
  }

 private:
  const Csr& graph_;
  std::vector<bool> held_;
  std::vector<std::int32_t> connections_;
};

/// The vertices with an in-neighbour that is not held, in the order of their turns.
std::vector<Vertex> boundary(const Csr& graph, const Held& held, std::span<const Vertex> of,
                             std::uint64_t draw_seed, int round) {
  std::vector<std::pair<std::uint64_t, Vertex>> turns;
  for (const Vertex v : of) {
    const auto row = graph.row(v);
    if (std::any_of(row.begin(), row.end(), [&](Vertex u) { return !held.has(u); }))
      turns.emplace_back(priority(draw_seed, round, v), v);
  }
  std::sort(turns.begin(), turns.end());
  std::vector<Vertex> order;
  order.reserve(turns.size());
  for (const auto& turn : turns) order.push_back(turn.second);
  return order;
}

/// The `fanout` best connected candidates, or all of them.
void keep_best_connected(std::vector<Vertex>& candidates, const Held& held, std::size_t fanout,
                         std::uint64_t draw_seed, int round) {
  if (candidates.size() <= fanout) return;
  struct Rank {
    std::int32_t fewer;  ///< minus the connections
    std::uint64_t tie;
    Vertex vertex;
    auto operator<=>(const Rank&) const = default;
  };
  std::vector<Rank> ranks;
  ranks.reserve(candidates.size());
  for (const Vertex u : candidates)
    ranks.push_back({-held.connections(u), priority(draw_seed, round, u), u});
  const auto end = ranks.begin() + static_cast<std::ptrdiff_t>(fanout);
  std::nth_element(ranks.begin(), end, ranks.end());
  candidates.clear();
  for (auto best = ranks.begin(); best != end; ++best) candidates.push_back(best->vertex);
}

std::vector<Vertex> by_connections(const Csr& graph, std::span<const Vertex> own,
                                   const ExpansionSampling& sampling, std::uint64_t draw_seed) {
  Held held(graph);
  for (const Vertex v : own) held.add(v);
  std::vector<Vertex> external, frontier(own.begin(), own.end());
  for (int round = 1; round <= sampling.hops; ++round) {
    const auto turns = boundary(graph, held, frontier, draw_seed, round);
    frontier.clear();
    for (const Vertex v : turns) {
      std::vector<Vertex> added = held.missing_neighbours(v);
      keep_best_connected(added, held, at(sampling.fanout), draw_seed, round);
      for (const Vertex u : added) held.add(u);
      frontier.insert(frontier.end(), added.begin(), added.end());
    }
    external.insert(external.end(), frontier.begin(), frontier.end());
  }
  return external;
}

/// `fanout` of the in-neighbours of v, without v, uniformly and without replacement.
std::vector<Vertex> draw_neighbours(const Csr& graph, Vertex v, std::size_t fanout,
                                    Sequence& draws) {
  const auto row = graph.row(v);
  std::vector<Vertex> drawn(row.begin(), row.end());
  std::erase(drawn, v);
  if (drawn.size() <= fanout) return drawn;
  for (std::size_t i = 0; i < fanout; ++i)
    std::swap(drawn[i], drawn[i + draws.below(drawn.size() - i)]);
  drawn.resize(fanout);
  return drawn;
}

std::vector<Vertex> as_the_artifact(const Csr& graph, std::span<const Vertex> own,
                                    const ExpansionSampling& sampling, std::uint64_t draw_seed) {
  std::vector<bool> held(at(graph.rows), false);
  for (const Vertex v : own) held[at(v)] = true;
  std::vector<Vertex> all(own.begin(), own.end());
  for (int round = 1; round <= sampling.hops; ++round)
    for (std::size_t i = 0, before = all.size(); i < before; ++i) {
      Sequence draws(draw_seed, Purpose::sampler, static_cast<std::uint32_t>(all[i]),
                     static_cast<std::uint32_t>(round));
      for (const Vertex u : draw_neighbours(graph, all[i], at(sampling.fanout), draws)) {
        if (held[at(u)]) continue;
        held[at(u)] = true;
        all.push_back(u);
      }
    }
  return {all.begin() + static_cast<std::ptrdiff_t>(own.size()), all.end()};
}

}  // namespace

std::uint64_t expansion_priority(std::uint64_t seed, std::uint64_t draw, int round, Vertex v) {
  return priority(seed_of(seed, draw), round, v);
}

std::vector<Vertex> sample_expansion(const Csr& graph, std::span<const Vertex> own,
                                     const ExpansionSampling& sampling, std::uint64_t seed,
                                     std::uint64_t draw) {
  ORRERY_ASSERT(sampling.hops >= 1 && sampling.fanout >= 1);
  const auto sample =
      sampling.rule == ExpansionRule::connections ? by_connections : as_the_artifact;
  std::vector<Vertex> external = sample(graph, own, sampling, seed_of(seed, draw));
  std::sort(external.begin(), external.end());
  return external;
}

}  // namespace orrery
