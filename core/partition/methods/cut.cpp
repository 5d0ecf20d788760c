#include "core/partition/methods/cut.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/partition/methods/partitioner.hpp"

namespace orrery {
namespace {

template <class Cut>
bool takes(const std::string& name) {
  const Partitioner* method = find_partitioner(name);
  return method != nullptr && std::holds_alternative<Cut>(method->cut);
}

/// The names of the methods for which `holds`, in the order of the list.
template <class Holds>
std::vector<std::string> names_of(const Holds& holds) {
  std::vector<std::string> names;
  for (const Partitioner& method : partitioners())
    if (holds(method)) names.push_back(method.name);
  return names;
}

const Partitioner& method_of(const PartitionOptions& options) {
  if (const Partitioner* method = find_partitioner(options.method)) return *method;
  throw ConfigError(
      "partition.method",
      fmt::format("found \"{}\", allowed: {}", options.method,
                  fmt::join(names_of([](const Partitioner&) { return true; }), ", ")));
}

}  // namespace

std::span<const std::string> compared_methods() {
  static const std::vector<std::string> names =
      names_of([](const Partitioner& method) { return method.compared; });
  return names;
}
bool takes_edge_stream(const std::string& method) { return takes<CutEdgeStream>(method); }
bool takes_vertex_stream(const std::string& method) { return takes<CutVertexStream>(method); }

Partition partition_graph(const Csr& graph, int parts, const PartitionOptions& options,
                          std::span<const Split> split) {
  return cut_graph(graph, parts, options, split).partition;
}

StreamCut cut_stream(EdgeStream& edges, int parts, const PartitionOptions& options) {
  ORRERY_ASSERT(parts >= 1);
  if (const auto* cut = std::get_if<CutEdgeStream>(&method_of(options).cut))
    return (*cut)(edges, parts, options);
  auto names = names_of(
      [](const Partitioner& method) { return std::holds_alternative<CutEdgeStream>(method.cut); });
  std::reverse(names.begin(), names.end());  // plain ones first
  throw ConfigError("partition.method",
                    fmt::format("\"{}\" does not cut a stream of edges, use one of: {}",
                                options.method, fmt::join(names, ", ")));
}

StreamCut cut_graph(const Csr& graph, int parts, const PartitionOptions& options,
                    std::span<const Split> split) {
  ORRERY_ASSERT(parts >= 1);
  const Partitioner& method = method_of(options);
  if (const auto* cut = std::get_if<CutGraph>(&method.cut))
    return {(*cut)(graph, parts, options, split), {}, {}, {}, {}};
  if (!is_symmetric(graph)) return cut_graph(symmetrise(graph), parts, options);
  if (const auto* cut = std::get_if<CutVertexStream>(&method.cut)) {
    CsrVertices vertices(graph);
    return (*cut)(vertices, parts, options);
  }
  CsrEdges edges(graph);
  return cut_stream(edges, parts, options);
}

}  // namespace orrery
