#include "core/sample/subgraph_sampler.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery {
namespace {

void require_positive(const char* key, std::int64_t value) {
  if (value < 1) throw ConfigError(key, fmt::format("found {}, expected a number >= 1", value));
}

std::vector<double> sums_of_vertices(const Csr& graph, std::span<const double> likelihood) {
  if (std::ssize(likelihood) != graph.rows)
    throw Error(fmt::format("{} likelihoods for {} vertices", likelihood.size(), graph.rows));
  std::vector<double> sums(likelihood.size());
  std::partial_sum(likelihood.begin(), likelihood.end(), sums.begin());
  return sums;
}

/// Running sums over the edges of 1/d(u) + 1/d(v), of in-degrees; a source that has none counts as
/// one with one.
std::vector<double> sums_of_edges(const Csr& graph) {
  const auto part = [&](std::int64_t v) {
    return 1 / static_cast<double>(std::max<std::int64_t>(1, graph.degree(v)));
  };
  std::vector<double> sums;
  sums.reserve(at(graph.nnz()));
  double sum = 0;
  for (std::int64_t v = 0; v < graph.rows; ++v)
    for (const Vertex u : graph.row(v)) sums.push_back(sum += part(v) + part(u));
  return sums;
}

/// A place with a chance in proportion to what it adds to the sums.
std::int64_t place_of(const std::vector<double>& sums, double uniform) {
  const auto place = std::upper_bound(sums.begin(), sums.end(), uniform * sums.back());
  return std::min<std::int64_t>(place - sums.begin(), std::ssize(sums) - 1);
}

/// The row of an entry.
Vertex row_of(const Csr& graph, std::int64_t entry) {
  const auto next = std::upper_bound(graph.offsets.begin(), graph.offsets.end(), entry);
  return static_cast<Vertex>(next - graph.offsets.begin() - 1);
}

double uniform_of(RowDraws& draws) {
  const std::uint32_t high = draws.word();
  return uniform_double(high, draws.word());
}

}  // namespace

ClusterBatches::ClusterBatches(const Partition& partition, int together, std::uint64_t seed)
    : members_(partition.members()), together_(together), seed_(seed) {
  if (together < 1 || together > partition.parts)
    throw ConfigError("clusters", fmt::format("found a batch of {} of {} parts, expected 1 to {}",
                                              together, partition.parts, partition.parts));
}

int ClusterBatches::batches() const {
  return (static_cast<int>(members_.size()) + together_ - 1) / together_;
}

std::vector<Vertex> ClusterBatches::vertices(int epoch, int batch) const {
  ORRERY_ASSERT(batch >= 0 && batch < batches());
  std::vector<std::size_t> order(members_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  RowDraws draws(RowDraws::seed_of({seed_, static_cast<std::uint32_t>(epoch), 0}), 0, 0);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[draws.below(static_cast<std::uint32_t>(i))]);
  std::vector<Vertex> vertices;
  const std::size_t first = at(batch) * at(together_),
                    end = std::min(order.size(), first + at(together_));
  for (std::size_t i = first; i < end; ++i)
    vertices.insert(vertices.end(), members_[order[i]].begin(), members_[order[i]].end());
  std::sort(vertices.begin(), vertices.end());
  return vertices;
}

SaintSampler::SaintSampler(const Csr& graph, SaintSampling sampling,
                           std::span<const double> likelihood)
    : graph_(graph), sampling_(sampling) {
  require_positive("draws", sampling.draws);
  require_positive("steps", sampling.steps);
  if (sampling.rule == SaintRule::node) sums_ = sums_of_vertices(graph, likelihood);
  if (sampling.rule == SaintRule::edge) sums_ = sums_of_edges(graph);
}

std::vector<Vertex> SaintSampler::vertices(const DrawKey& key) const {
  std::vector<Vertex> chosen;
  const std::uint64_t seed = RowDraws::seed_of(key);
  const bool has_something =
      sampling_.rule == SaintRule::walk ? graph_.rows > 0 : !sums_.empty() && sums_.back() > 0;
  for (std::int64_t d = 0; has_something && d < sampling_.draws; ++d) {
    RowDraws draws(seed, 0, static_cast<Vertex>(d));
    switch (sampling_.rule) {
      case SaintRule::node:
        chosen.push_back(static_cast<Vertex>(place_of(sums_, uniform_of(draws))));
        break;
      case SaintRule::edge: {
        const std::int64_t entry = place_of(sums_, uniform_of(draws));
        chosen.push_back(graph_.columns[at(entry)]);
        chosen.push_back(row_of(graph_, entry));
        break;
      }
      case SaintRule::walk: {
        auto v = static_cast<Vertex>(draws.below(static_cast<std::uint32_t>(graph_.rows)));
        chosen.push_back(v);
        for (int step = 0; step < sampling_.steps; ++step) {
          const auto row = graph_.row(v);
          if (row.empty()) break;
          v = row[draws.below(static_cast<std::uint32_t>(row.size()))];
          chosen.push_back(v);
        }
        break;
      }
    }
  }
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

std::vector<bool> SaintSampler::drawable() const {
  std::vector<bool> may(at(graph_.rows), sampling_.rule == SaintRule::walk);
  if (sampling_.rule == SaintRule::node)
    for (std::size_t v = 0; v < may.size(); ++v) may[v] = sums_[v] > (v > 0 ? sums_[v - 1] : 0);
  if (sampling_.rule == SaintRule::edge)
    for (std::int64_t v = 0; v < graph_.rows; ++v)
      for (const Vertex u : graph_.row(v)) may[at(v)] = may[at(u)] = true;
  return may;
}

SaintNormalisation normalisation_of(const SaintSampler& sampler, int coverage, std::uint64_t seed) {
  const Csr& graph = sampler.graph();
  const std::int64_t wanted = coverage * graph.rows;
  std::vector<std::int32_t> of_entry(at(graph.nnz()), 0), of_vertex(at(graph.rows), 0);
  std::vector<bool> there(at(graph.rows), false);
  std::uint32_t subgraphs = 0;
  for (std::int64_t together = 0; together < wanted; ++subgraphs) {
    // No training step has this epoch.
    const auto vertices = sampler.vertices({seed, 0xFFFFFFFFU, subgraphs});
    if (vertices.empty()) break;  // nor has any other: there is nothing to draw
    together += std::ssize(vertices);
    for (const Vertex v : vertices) there[at(v)] = true;
    for (const Vertex v : vertices) {
      ++of_vertex[at(v)];
      for (EdgeIndex e = graph.offsets[at(v)]; e < graph.offsets[at(v) + 1]; ++e)
        if (there[at(graph.columns[at(e)])]) ++of_entry[at(e)];
    }
    for (const Vertex v : vertices) there[at(v)] = false;
  }
  SaintNormalisation result{std::vector<float>(at(graph.nnz()), 0),
                            std::vector<float>(at(graph.rows), 0)};
  const auto at_least_one = [](auto count) { return static_cast<float>(count > 0 ? count : 1); };
  for (std::int64_t v = 0; v < graph.rows; ++v) {
    const float times = at_least_one(of_vertex[at(v)]);
    result.vertices[at(v)] = times / at_least_one(subgraphs);
    for (EdgeIndex e = graph.offsets[at(v)]; e < graph.offsets[at(v) + 1]; ++e)
      result.entries[at(e)] = at_least_one(of_entry[at(e)]) / times;
  }
  return result;
}

}  // namespace orrery
