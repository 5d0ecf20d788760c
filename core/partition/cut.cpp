#include "core/partition/cut.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/base/error.hpp"

namespace orrery {
namespace {

const std::array<std::string, 12> kCompared{"spring",     "metis",  "2ps-l", "hdrf",
                                            "powergraph", "dbh",    "ldg",   "fennel",
                                            "hash",       "random", "block", "degree_block"};
const std::array<std::string, 6> kEdgeMethods{"hash", "dbh",   "powergraph",
                                              "hdrf", "2ps-l", "spring"};
const std::array<std::string, 2> kVertexMethods{"ldg", "fennel"};

bool among(std::span<const std::string> names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::span<const std::string> compared_methods() { return kCompared; }
bool takes_edge_stream(const std::string& method) { return among(kEdgeMethods, method); }
bool takes_vertex_stream(const std::string& method) { return among(kVertexMethods, method); }

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
