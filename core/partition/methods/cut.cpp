#include "core/partition/methods/cut.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/partition/methods/partitioner.hpp"

namespace orrery {
namespace {

template <class Cut>
bool takes(const std::string& name) {
  const Partitioner* method = find_partitioner(name);
  return method != nullptr && std::holds_alternative<Cut>(method->cut);
}

/// The names of the methods with a property, in the order of the list.
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

/// For a method that needs another form of the graph.
ConfigError not_streaming(const std::string& name) {
  auto names = names_of(
      [](const Partitioner& other) { return !std::holds_alternative<CutGraph>(other.cut); });
  std::reverse(names.begin(), names.end());  // plain ones first
  return {"partition.method", fmt::format("\"{}\" does not cut a stream of edges, use one of: {}",
                                          name, fmt::join(names, ", "))};
}

/// The result of a method, which may be from outside.
///
/// Errors    Error naming the method
StreamCut checked(StreamCut cut, const Partitioner& method, int parts) {
  const auto refuse = [&](const std::string& why) {
    throw Error(fmt::format("the partitioner \"{}\" {}", method.name, why));
  };
  const std::vector<std::int32_t>& owner = cut.partition.owner;
  if (cut.partition.parts != parts)
    refuse(fmt::format("made {} parts, not {}", cut.partition.parts, parts));
  for (std::size_t v = 0; v < owner.size(); ++v)
    if (owner[v] < 0 || owner[v] >= parts)
      refuse(fmt::format("gave vertex {} to part {}, but there are {}", v, owner[v], parts));
  const bool gives_edges = !cut.part_edges.empty();
  if (gives_edges != (method.assigns == Assigns::edges))
    refuse(gives_edges ? "assigns edges, but its description says vertices"
                       : "says that it assigns edges, but returns no edges of parts");
  return cut;
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
  const Partitioner& method = method_of(options);
  if (const auto* cut = std::get_if<CutEdgeStream>(&method.cut))
    return checked((*cut)(edges, parts, options), method, parts);
  throw not_streaming(options.method);
}

StreamCut cut_vertices(VertexStream& vertices, int parts, const PartitionOptions& options) {
  ORRERY_ASSERT(parts >= 1);
  const Partitioner& method = method_of(options);
  if (const auto* cut = std::get_if<CutVertexStream>(&method.cut))
    return checked((*cut)(vertices, parts, options), method, parts);
  throw not_streaming(options.method);
}

bool assigns_edges(const std::string& method) {
  const Partitioner* found = find_partitioner(method);
  return found != nullptr && found->assigns == Assigns::edges;
}

Partition cut_into_fragments(const Csr& graph, int parts, const PartitionOptions& options) {
  if (!assigns_edges(method_of(options).name))
    throw ConfigError(
        "partition.method",
        fmt::format("\"{}\" assigns vertices, but fragments need a method that assigns edges: "
                    "use one of {}",
                    options.method,
                    fmt::join(names_of([](const Partitioner& method) {
                                return method.assigns == Assigns::edges;
                              }),
                              ", ")));
  std::vector<std::vector<Edge>> fragments(static_cast<std::size_t>(parts));
  const auto is_there = [&](Vertex u, Vertex v) {
    const auto row = graph.row(v);
    return std::binary_search(row.begin(), row.end(), u);
  };
  std::int64_t assigned = 0;
  PartitionOptions told = options;
  told.assigned = [&](const Edge& edge, std::int32_t part) {
    const auto [u, v] = edge;
    if (is_there(u, v)) fragments[at(part)].push_back({u, v});
    if (is_there(v, u)) fragments[at(part)].push_back({v, u});
    ++assigned;
  };
  StreamCut cut = cut_graph(graph, parts, told);
  if (assigned != std::accumulate(cut.part_edges.begin(), cut.part_edges.end(), std::int64_t{0}))
    throw Error(
        fmt::format("the partitioner \"{}\" does not report where each edge goes "
                    "(PartitionOptions::assigned), so its fragments are not known",
                    options.method));
  for (Vertex v = 0; v < graph.rows; ++v)
    if (is_there(v, v)) fragments[at(cut.partition.owner[at(v)])].push_back({v, v});
  const auto key = [](const Edge& edge) { return std::pair(edge.destination, edge.source); };
  for (std::vector<Edge>& edges : fragments) {
    std::sort(edges.begin(), edges.end(),
              [&](const Edge& a, const Edge& b) { return key(a) < key(b); });
    edges.erase(std::unique(edges.begin(), edges.end(),
                            [&](const Edge& a, const Edge& b) { return key(a) == key(b); }),
                edges.end());
  }
  cut.partition.fragments =
      std::make_shared<const std::vector<std::vector<Edge>>>(std::move(fragments));
  return std::move(cut.partition);
}

StreamCut cut_graph(const Csr& graph, int parts, const PartitionOptions& options,
                    std::span<const Split> split) {
  ORRERY_ASSERT(parts >= 1);
  const Partitioner& method = method_of(options);
  const auto of_all_vertices = [&](StreamCut cut) {
    if (static_cast<std::int64_t>(cut.partition.owner.size()) != graph.rows)
      throw Error(fmt::format("the partitioner \"{}\" gave a part to {} vertices, but there are {}",
                              method.name, cut.partition.owner.size(), graph.rows));
    return cut;
  };
  if (const auto* cut = std::get_if<CutGraph>(&method.cut))
    return of_all_vertices(
        checked({(*cut)(graph, parts, options, split), {}, {}, {}, {}}, method, parts));
  if (!is_symmetric(graph)) return cut_graph(symmetrise(graph), parts, options);
  if (takes_vertex_stream(options.method)) {
    CsrVertices vertices(graph);
    return of_all_vertices(cut_vertices(vertices, parts, options));
  }
  CsrEdges edges(graph);
  return of_all_vertices(cut_stream(edges, parts, options));
}

StreamCut cut_dataset(const Dataset& data, int parts, const PartitionOptions& options) {
  PartitionOptions of_data = options;
  if (data.typed)
    for (const VertexType& type : data.typed->types)
      of_data.metis.type_counts.push_back(type.count);
  return cut_graph(*data.graph, parts, of_data, data.split);
}

}  // namespace orrery
