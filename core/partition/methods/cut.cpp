#include "core/partition/methods/cut.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <numeric>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/rng.hpp"
#include "core/partition/methods/metis.hpp"

namespace orrery {
namespace {

const std::array<std::string, 12> kCompared{"spring",     "metis",  "2ps-l", "hdrf",
                                            "powergraph", "dbh",    "ldg",   "fennel",
                                            "hash",       "random", "block", "degree_block"};
const std::array<std::string, 6> kEdgeMethods{"hash", "dbh",   "powergraph",
                                              "hdrf", "2ps-l", "spring"};
const std::array<std::string, 2> kVertexMethods{"ldg", "fennel"};

/// Owner of position i when n positions are cut into equal runs (sizes differ by at most one).
std::int32_t run_of(std::int64_t i, std::int64_t n, int parts) {
  return static_cast<std::int32_t>(((i + 1) * parts - 1) / n);
}

Partition block_partition(std::int64_t n, int parts) {
  Partition p{parts, std::vector<std::int32_t>(static_cast<std::size_t>(n))};
  for (std::int64_t v = 0; v < n; ++v) p.owner[at(v)] = run_of(v, n, parts);
  return p;
}

/// Runs of vertex numbers; a part ends where its share of the work is reached.
Partition degree_block_partition(const Csr& graph, int parts) {
  Partition p{parts, std::vector<std::int32_t>(static_cast<std::size_t>(graph.rows))};
  const double all = static_cast<double>(graph.rows + graph.nnz());
  for (std::int64_t v = 0; v < graph.rows; ++v) {
    // The work before the middle of v decides, so that no part has more than its share and one v.
    const double before = static_cast<double>(v + graph.offsets[at(v)]) +
                          static_cast<double>(1 + graph.degree(v)) / 2;
    p.owner[at(v)] = static_cast<std::int32_t>(before / all * parts);
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

bool among(std::span<const std::string> names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::span<const std::string> compared_methods() { return kCompared; }
bool takes_edge_stream(const std::string& method) { return among(kEdgeMethods, method); }
bool takes_vertex_stream(const std::string& method) { return among(kVertexMethods, method); }

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

StreamCut cut_stream(EdgeStream& edges, int parts, const PartitionOptions& options) {
  ORRERY_ASSERT(parts >= 1);
  const std::string& method = options.method;
  if (method == "hash") return hash_partition(edges, parts, options.seed);
  if (method == "dbh") return dbh_partition(edges, parts, options.seed);
  if (method == "powergraph")
    return powergraph_partition(edges, parts, options.seed, options.powergraph);
  if (method == "hdrf") return hdrf_partition(edges, parts, options.seed, options.hdrf);
  if (method == "2ps-l") return two_ps_l_partition(edges, parts, options.seed, options.two_ps_l);
  if (method == "spring") return spring_partition(edges, parts, options.spring);
  throw ConfigError("partition.method",
                    fmt::format("\"{}\" does not cut a stream of edges, use one of: {}", method,
                                fmt::join(kEdgeMethods, ", ")));
}

StreamCut cut_graph(const Csr& graph, int parts, const PartitionOptions& options,
                    std::span<const Split> split) {
  const bool by_edges = takes_edge_stream(options.method);
  if (!by_edges && !takes_vertex_stream(options.method))
    return {partition_graph(graph, parts, options, split), {}, {}, {}, {}};
  if (!is_symmetric(graph)) return cut_graph(symmetrise(graph), parts, options);
  if (by_edges) {
    CsrEdges edges(graph);
    return cut_stream(edges, parts, options);
  }
  CsrVertices vertices(graph);
  if (options.method == "ldg") return ldg_partition(vertices, parts, options.ldg);
  return fennel_partition(vertices, parts, options.fennel);
}

}  // namespace orrery
