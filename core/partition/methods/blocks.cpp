// Cuts by number alone, and by numbers and degrees: what other methods are compared with.
#include <algorithm>
#include <numeric>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/rng.hpp"
#include "core/partition/methods/partitioner.hpp"

namespace orrery {
namespace {

/// Owner of position i when n positions are cut into equal runs (sizes differ by at most one).
std::int32_t run_of(std::int64_t i, std::int64_t n, int parts) {
  return static_cast<std::int32_t>(((i + 1) * parts - 1) / n);
}

Partition block_partition(std::int64_t n, int parts) {
  Partition p{parts, std::vector<std::int32_t>(static_cast<std::size_t>(n))};
  for (std::int64_t v = 0; v < n; ++v) p.owner[at(v)] = run_of(v, n, parts);
  return p;
}

/// Runs of vertex numbers; a part ends when it has its share of the work.
Partition degree_block_partition(const Csr& graph, int parts) {
  Partition p{parts, std::vector<std::int32_t>(static_cast<std::size_t>(graph.rows))};
  const double all = static_cast<double>(graph.rows + graph.nnz());
  for (std::int64_t v = 0; v < graph.rows; ++v) {
    // The work before the middle of v decides, so no part exceeds its share by more than one v.
    const double before = static_cast<double>(v + graph.offsets[at(v)]) +
                          static_cast<double>(1 + graph.degree(v)) / 2;
    p.owner[at(v)] = static_cast<std::int32_t>(before / all * parts);
  }
  return p;
}

/// Runs of vertex numbers with equal numbers of training vertices: those of a run end where its share
/// of them is reached, and the vertices between two training ones go with the one before.
Partition training_block_partition(std::span<const Split> split, int parts) {
  const auto all = std::count(split.begin(), split.end(), Split::train);
  if (all == 0)
    throw ConfigError(
        "partition.method",
        "\"training_block\" gives each part as many training vertices, and the data set "
        "has none: use \"block\"");
  Partition p{parts, std::vector<std::int32_t>(split.size())};
  std::int64_t met = 0;
  for (std::size_t v = 0; v < split.size(); ++v) {
    if (split[v] == Split::train) ++met;
    p.owner[v] = run_of(std::max<std::int64_t>(met - 1, 0), all, parts);
  }
  return p;
}

Partition random_partition(std::int64_t n, int parts, std::uint64_t seed) {
  std::vector<Vertex> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  Sequence draws(seed, Purpose::permutation, 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draws.below(i)]);
  Partition p{parts, std::vector<std::int32_t>(order.size())};
  for (std::int64_t i = 0; i < n; ++i) p.owner[at(order[at(i)])] = run_of(i, n, parts);
  return p;
}

}  // namespace

Partitioner block_partitioner() {
  return {.name = "block",
          .description = "equal runs of vertex numbers",
          .parameters = {},
          .cut = [](const Csr& graph, int parts, const PartitionOptions&, std::span<const Split>) {
            return block_partition(graph.rows, parts);
          }};
}

Partitioner degree_block_partitioner() {
  return {.name = "degree_block",
          .description = "runs of vertex numbers with equal work",
          .parameters = {},
          .cut = [](const Csr& graph, int parts, const PartitionOptions&, std::span<const Split>) {
            return degree_block_partition(graph, parts);
          }};
}

Partitioner training_block_partitioner() {
  return {.name = "training_block",
          .description = "runs of vertex numbers with equal training vertices",
          .compared = false,
          .parameters = {},
          .cut = [](const Csr&, int parts, const PartitionOptions&, std::span<const Split> split) {
            return training_block_partition(split, parts);
          }};
}

Partitioner random_partitioner() {
  return {
      .name = "random",
      .description = "equal runs of a random permutation",
      .drawn = true,
      .parameters = {},
      .cut = [](const Csr& graph, int parts, const PartitionOptions& o, std::span<const Split>) {
        return random_partition(graph.rows, parts, o.seed);
      }};
}

}  // namespace orrery
