#include "core/partition/partition.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <numeric>

#include "core/base/error.hpp"
#include "core/base/rng.hpp"
#include "core/partition/cut.hpp"
#include "core/partition/metis.hpp"

namespace orrery {
namespace {

/// Owner of position i when n positions are cut into equal runs (sizes differ by at most one).
std::int32_t run_of(std::int64_t i, std::int64_t n, int parts) {
  return static_cast<std::int32_t>(((i + 1) * parts - 1) / n);
}

Partition block_partition(std::int64_t n, int parts) {
  Partition p{parts, std::vector<std::int32_t>(static_cast<std::size_t>(n))};
  for (std::int64_t v = 0; v < n; ++v) p.owner[static_cast<std::size_t>(v)] = run_of(v, n, parts);
  return p;
}

/// Runs of vertex numbers; a part ends where its share of the work is reached.
Partition degree_block_partition(const Csr& graph, int parts) {
  Partition p{parts, std::vector<std::int32_t>(static_cast<std::size_t>(graph.rows))};
  const double all = static_cast<double>(graph.rows + graph.nnz());
  for (std::int64_t v = 0; v < graph.rows; ++v) {
    // The work before the middle of v decides, so that no part has more than its share and one v.
    const double before = static_cast<double>(v + graph.offsets[static_cast<std::size_t>(v)]) +
                          static_cast<double>(1 + graph.degree(v)) / 2;
    p.owner[static_cast<std::size_t>(v)] = static_cast<std::int32_t>(before / all * parts);
  }
  return p;
}

Partition random_partition(std::int64_t n, int parts, std::uint64_t seed) {
  std::vector<Vertex> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  Sequence draws(seed, Purpose::permutation, 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draws.below(i)]);
  Partition p{parts, std::vector<std::int32_t>(order.size())};
  for (std::int64_t i = 0; i < n; ++i)
    p.owner[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = run_of(i, n, parts);
  return p;
}

Partition read_partition(const std::string& file, std::int64_t n, int parts) {
  std::ifstream in(file);
  if (!in) throw DataError(file, "", "cannot be opened; expected one owner per line");
  Partition p{parts, {}};
  std::string line;
  for (std::int64_t number = 1; std::getline(in, line); ++number) {
    std::size_t used = 0;
    long owner = -1;
    try {
      owner = std::stol(line, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used == 0 || line.find_first_not_of(" \t\r", used) != std::string::npos || owner < 0 ||
        owner >= parts)
      throw DataError(file, fmt::format("line {}", number),
                      fmt::format("expected a part from 0 to {}, found \"{}\"", parts - 1, line));
    p.owner.push_back(static_cast<std::int32_t>(owner));
  }
  if (static_cast<std::int64_t>(p.owner.size()) != n)
    throw DataError(file, fmt::format("line {}", p.owner.size()),
                    fmt::format("expected {} lines, one per vertex, found {}", n, p.owner.size()));
  return p;
}

}  // namespace

std::vector<std::vector<Vertex>> Partition::members() const {
  std::vector<std::vector<Vertex>> lists(static_cast<std::size_t>(parts));
  for (std::size_t v = 0; v < owner.size(); ++v)
    lists[static_cast<std::size_t>(owner[v])].push_back(static_cast<Vertex>(v));
  return lists;
}

Partition partition_graph(const Csr& graph, int parts, const PartitionOptions& options,
                          std::span<const Split> split) {
  ORRERY_ASSERT(parts >= 1);
  if (options.method == "block") return block_partition(graph.rows, parts);
  if (options.method == "random") return random_partition(graph.rows, parts, options.seed);
  if (options.method == "degree_block") return degree_block_partition(graph, parts);
  if (options.method == "metis") return metis_partition(graph, parts, options, split);
  if (options.method == "file") return read_partition(options.file, graph.rows, parts);
  if (takes_edge_stream(options.method) || takes_vertex_stream(options.method))
    return cut_graph(graph, parts, options).partition;
  throw ConfigError("partition.method",
                    fmt::format("found \"{}\", allowed: {}, file", options.method,
                                fmt::join(compared_methods(), ", ")));
}

double edge_cut(const Csr& graph, const Partition& partition) {
  std::int64_t cut = 0;
  for (std::int64_t v = 0; v < graph.rows; ++v)
    for (const Vertex u : graph.row(v))
      if (partition.owner[static_cast<std::size_t>(u)] !=
          partition.owner[static_cast<std::size_t>(v)])
        ++cut;
  return graph.nnz() == 0 ? 0 : static_cast<double>(cut) / static_cast<double>(graph.nnz());
}

double replication_factor(const Csr& graph, const Partition& partition) {
  std::int64_t held = 0;
  std::vector<std::int32_t> seen(partition.owner.size(), -1);  // last part that counted a vertex
  const auto members = partition.members();
  for (std::size_t p = 0; p < members.size(); ++p) {
    const auto part = static_cast<std::int32_t>(p);
    const auto count = [&](Vertex v) {
      auto& mark = seen[static_cast<std::size_t>(v)];
      held += mark == part ? 0 : 1;
      mark = part;
    };
    for (const Vertex v : members[p]) {
      count(v);
      for (const Vertex u : graph.row(v)) count(u);
    }
  }
  return graph.rows == 0 ? 1 : static_cast<double>(held) / static_cast<double>(graph.rows);
}

double balance(const Partition& partition) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(partition.parts), 0);
  for (const auto p : partition.owner) ++sizes[static_cast<std::size_t>(p)];
  const double mean = static_cast<double>(partition.owner.size()) / partition.parts;
  return mean == 0 ? 1 : static_cast<double>(*std::max_element(sizes.begin(), sizes.end())) / mean;
}

}  // namespace orrery
