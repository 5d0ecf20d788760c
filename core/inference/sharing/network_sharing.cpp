#include "core/inference/sharing/network_sharing.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <mutex>
#include <numeric>
#include <span>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/base/rng.hpp"
#include "core/graph/reorder.hpp"
#include "core/sample/inclusion.hpp"
#include "core/sample/neighbour_sampler.hpp"

namespace orrery {
namespace {

using LevelCounts = std::vector<double>;

/// Vertices in an order that depends only on the seed and `salt`.
std::vector<Vertex> drawn_order(std::int64_t vertices, std::uint64_t seed, std::uint32_t salt) {
  std::vector<std::pair<std::uint64_t, Vertex>> keys;
  for (std::int64_t v = 0; v < vertices; ++v) {
    const auto bits = random_bits(seed, Purpose::permutation, static_cast<std::uint32_t>(v), salt);
    keys.emplace_back(std::uint64_t{bits[0]} << 32U | bits[1], static_cast<Vertex>(v));
  }
  std::sort(keys.begin(), keys.end());
  std::vector<Vertex> order;
  for (const auto& [key, v] : keys) order.push_back(v);
  return order;
}

std::vector<Vertex> order_of(const Csr& graph, const SharingSettings& settings) {
  if (settings.order == "random") return drawn_order(graph.rows, settings.seed, 0);
  if (settings.order == "bfs") return vertex_order(graph, "bfs");
  if (settings.order != "contiguous")
    throw ConfigError("--order",
                      fmt::format("expected random, contiguous or bfs, found {}", settings.order));
  std::vector<Vertex> order(at(graph.rows));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// The rows that are most likely in a batch, `cached` of them.
std::vector<bool> most_likely(const Csr& graph, const SharingSettings& settings) {
  const double share =
      std::min(1.0, static_cast<double>(settings.batch) / static_cast<double>(graph.rows));
  const auto chance =
      inclusion_chances(graph, settings.fanouts, std::vector<double>(at(graph.rows), share));
  std::vector<Vertex> order(at(graph.rows));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](Vertex a, Vertex b) { return chance[at(a)] > chance[at(b)]; });
  std::vector<bool> kept(at(graph.rows), false);
  for (std::int64_t i = 0; i < std::min(settings.cached, graph.rows); ++i)
    kept[at(order[at(i)])] = true;
  return kept;
}

/// Counts levels of merged networks.
class Levels {
 public:
  Levels(const Csr& graph, const SharingSettings& settings)
      : sampler_(graph, {settings.fanouts}),
        key_{settings.seed},
        levels_(settings.fanouts.size()) {}

  /// Distinct values of each level below the targets, summed over batches [begin, end) of `size`
  /// targets in this order. `kept`: input rows that do not count; null: all count.
  LevelCounts sum(const std::vector<Vertex>& order, std::int64_t size,
                  const std::vector<std::int64_t>& batches, const std::vector<bool>* kept) const {
    const auto many = static_cast<std::int64_t>(batches.size());
    std::vector<std::int64_t> sums(levels_, 0);
    std::mutex adding;
    const std::int64_t block = std::max<std::int64_t>(1, many / 16);
    parallel_for(many, block, [&](std::int64_t begin, std::int64_t end) {
      auto scratch = sampler_.scratch(size);
      std::vector<std::int64_t> mine(levels_, 0);
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t first = batches[at(i)] * size;
        const auto last = std::min<std::int64_t>(first + size, std::ssize(order));
        const std::span<const Vertex> targets(order.data() + first, at(last - first));
        const MessageFlow flow = sampler_.sample(targets, key_, scratch);
        for (std::size_t level = 0; level < levels_; ++level) mine[level] += flow.rows[level];
        if (kept != nullptr)
          for (const Vertex v : flow.vertices) mine[0] -= (*kept)[at(v)] ? 1 : 0;
      }
      const std::lock_guard lock(adding);
      for (std::size_t level = 0; level < levels_; ++level) sums[level] += mine[level];
    });
    return {sums.begin(), sums.end()};
  }

 private:
  NeighbourSampler sampler_;
  DrawKey key_;
  std::size_t levels_;
};

/// At most `most` of the numbers below `total`, drawn, and how many numbers each of them stands
/// for.
struct Chosen {
  std::vector<std::int64_t> numbers;
  double each = 1;
};
Chosen choose(std::int64_t total, std::int64_t most, std::uint64_t seed) {
  Chosen chosen;
  const auto order = drawn_order(total, seed, 1);
  for (std::int64_t i = 0; i < std::min(total, most); ++i) chosen.numbers.push_back(order[at(i)]);
  chosen.each = static_cast<double>(total) / static_cast<double>(chosen.numbers.size());
  return chosen;
}

LevelCounts times(LevelCounts counts, double factor) {
  for (double& count : counts) count *= factor;
  return counts;
}

void require_settings(const Csr& graph, const SharingSettings& s) {
  if (graph.rows < 1) throw ConfigError("graph", "has no vertices");
  const auto positive = [](const char* name, std::int64_t value) {
    if (value < 1) throw ConfigError(name, fmt::format("found {}, expected at least 1", value));
  };
  positive("--merged", s.merged);
  positive("--batch", s.batch);
  positive("--networks", s.networks);
  positive("--batches", s.batches);
  if (s.cached < 0) throw ConfigError("--cached", "expected at least 0 rows");
}

}  // namespace

std::optional<double> NetworkSharing::ratio(const System& system, int level) const {
  const double most = used[at(level)] - systems.front().made[at(level)];
  if (most <= 0) return std::nullopt;
  return (used[at(level)] - system.made[at(level)]) / most;
}

std::optional<double> NetworkSharing::ratio(const System& system) const {
  const auto sum = [](const LevelCounts& counts) {
    return std::accumulate(counts.begin(), counts.end(), 0.0);
  };
  const double most = sum(used) - sum(systems.front().made);
  if (most <= 0) return std::nullopt;
  return (sum(used) - sum(system.made)) / most;
}

std::optional<double> NetworkSharing::mean_ratio(const System& system) const {
  double sum = 0, levels = 0;
  for (int level = 0; level < static_cast<int>(used.size()); ++level)
    if (const auto one = ratio(system, level)) {
      sum += *one;
      ++levels;
    }
  if (levels == 0) return std::nullopt;
  return sum / levels;
}

NetworkSharing network_sharing(const Csr& graph, const SharingSettings& settings) {
  require_settings(graph, settings);
  const Levels levels(graph, settings);
  const auto order = order_of(graph, settings);
  const auto vertices = static_cast<double>(graph.rows);
  NetworkSharing made;
  made.vertices = graph.rows;
  made.networks_counted = graph.rows <= settings.networks;
  made.batches_counted = true;

  const Chosen targets = choose(graph.rows, settings.networks, settings.seed);
  made.used = times(levels.sum(order, 1, targets.numbers, nullptr), targets.each);
  const auto in_batches = [&](std::int64_t size, const std::vector<bool>* kept) {
    size = std::min(size, graph.rows);
    const std::int64_t many = (graph.rows + size - 1) / size;
    if (many > settings.batches) made.batches_counted = false;
    const Chosen some = choose(many, settings.batches, settings.seed);
    return times(levels.sum(order, size, some.numbers, kept), some.each);
  };

  made.systems.push_back({"Deal", LevelCounts(settings.fanouts.size(), vertices)});
  made.systems.push_back({"DGI", in_batches(settings.merged, nullptr)});
  made.systems.push_back({"DistDGL", in_batches(settings.batch, nullptr)});
  LevelCounts p3 = made.used;
  p3.front() = vertices;
  made.systems.push_back({"P3", std::move(p3)});
  const auto kept = most_likely(graph, settings);
  LevelCounts salient = in_batches(settings.batch, &kept);
  salient.front() += static_cast<double>(std::min(settings.cached, graph.rows));
  made.systems.push_back({"SALIENT++", std::move(salient)});
  return made;
}

}  // namespace orrery
