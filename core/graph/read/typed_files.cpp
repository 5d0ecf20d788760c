#include "core/graph/read/typed_files.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/name.hpp"
#include "core/graph/csr.hpp"
#include "core/graph/files/npy.hpp"
#include "core/graph/plausible.hpp"
#include "core/terminal/words.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kRelationsOfFew = 8;  ///< as many as any graph of plausible size may have

void require_name(const MetaFile& meta, const std::string& key, const std::string& name) {
  if (!is_name(name))
    meta.fail(key, fmt::format("\"{}\" is no name: {}", one_line(name), kNameRule));
}

std::vector<VertexType> read_vertex_types(const MetaFile& meta, std::int64_t vertices) {
  const auto names = meta.get<std::vector<std::string>>("vertex_types");
  const auto counts = meta.counts("vertex_type_counts");
  if (counts.size() != names.size())
    meta.fail("vertex_type_counts", fmt::format("expected a count for each of the {} types of "
                                                "\"vertex_types\", found {}",
                                                names.size(), counts.size()));
  std::vector<VertexType> types;
  std::set<std::string> known;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    require_name(meta, "vertex_types", names[i]);
    if (!known.insert(names[i]).second)
      meta.fail("vertex_types", fmt::format("has \"{}\" twice", names[i]));
    if (counts[i] > vertices - first) break;  // they do not sum up
    types.push_back({names[i], first, counts[i]});
    first += counts[i];
  }
  if (types.empty() || types.size() != names.size() || first != vertices)
    meta.fail("vertex_type_counts", fmt::format("[{}] do not sum up to the {} vertices",
                                                fmt::join(counts, ", "), vertices));
  return types;
}

/// The relations without their edges.
std::vector<Relation> read_relations(const MetaFile& meta, const std::vector<VertexType>& types) {
  std::vector<std::string> known;
  for (const VertexType& type : types) known.push_back(type.name);
  const std::set<std::string> lookup(known.begin(), known.end());
  std::set<std::string> before;
  const auto require_type = [&](const std::string& name, const std::string& text) {
    if (!lookup.contains(name))
      meta.fail("relations", fmt::format("[{}] has {}", text, unknown("vertex type", name, known)));
  };
  std::vector<Relation> relations;
  for (const auto& words : meta.get<std::vector<std::vector<std::string>>>("relations")) {
    const std::string text = one_line(fmt::format("{}", fmt::join(words, ", ")));
    if (words.size() != 3)
      meta.fail("relations",
                fmt::format("expected [source type, name, destination type], found [{}]", text));
    require_type(words[0], text);
    require_name(meta, "relations", words[1]);
    require_type(words[2], text);
    if (!before.insert(text).second) meta.fail("relations", fmt::format("has [{}] twice", text));
    relations.push_back({words[0], words[1], words[2], nullptr});
  }
  if (relations.empty()) meta.fail("relations", "expected at least one, found none");
  return relations;
}

/// A relation takes memory for each vertex, so a short file may not name many of both.
void require_plausible(const fs::path& folder, const MetaFile& meta, std::size_t relations,
                       std::int64_t vertices) {
  std::error_code absent;
  const auto size = fs::file_size(folder / "edges.npy", absent);
  const std::int64_t most = kRelationsOfFew * most_plausible(absent ? 0 : std::int64_t(size));
  if (static_cast<std::int64_t>(relations) * vertices > most)
    meta.fail("relations", fmt::format("expected at most {} for {} vertices with so few edges, "
                                       "found {}",
                                       most / vertices, vertices, relations));
}

struct Ends {
  std::vector<Vertex> source, destination;
};

/// The edges of each relation, which lie between vertices of its types.
std::vector<Ends> read_edges(const fs::path& folder, const MetaFile& meta,
                             const TypedGraph& typed) {
  const NpyArray edges(folder / "edges.npy"), kinds(folder / kEdgeRelations);
  const auto ends = edges.values<std::int32_t>({2, meta.count("num_edges", -1)});
  const std::size_t count = ends.size() / 2;
  const auto of_edge = kinds.values<std::int32_t>({static_cast<std::int64_t>(count)});
  const RelationCheck check(typed, folder / "edges.npy");
  std::vector<Ends> of_relation(typed.relations.size());
  for (std::size_t e = 0; e < count; ++e) {
    check.require(static_cast<std::int64_t>(e), {ends[e], ends[count + e]}, of_edge[e]);
    of_relation[at(of_edge[e])].source.push_back(ends[e]);
    of_relation[at(of_edge[e])].destination.push_back(ends[count + e]);
  }
  return of_relation;
}

}  // namespace

std::optional<TypedGraph> read_types(const MetaFile& meta, std::int64_t vertices) {
  if (!meta.has("vertex_types")) {
    for (const char* key : {"vertex_type_counts", "relations"})
      if (meta.has(key))
        meta.fail(key, "needs \"vertex_types\", which is missing" + meta.misspelt("vertex_types"));
    return std::nullopt;
  }
  TypedGraph typed;
  typed.types = read_vertex_types(meta, vertices);
  typed.relations = read_relations(meta, typed.types);
  return typed;
}

std::optional<TypedGraph> read_types_of(const fs::path& folder, const MetaFile& meta,
                                        std::int64_t vertices) {
  std::optional<TypedGraph> typed = read_types(meta, vertices);
  if (!typed && fs::exists(folder / kEdgeRelations))
    meta.fail("vertex_types", fmt::format("expected the types that {} goes with, found none{}",
                                          kEdgeRelations, meta.misspelt("vertex_types")));
  return typed;
}

RelationCheck::RelationCheck(const TypedGraph& typed, const fs::path& edges)
    : vertices_(typed.types.back().first + typed.types.back().count),
      edges_file_(edges.string()),
      relations_file_((edges.parent_path() / kEdgeRelations).string()) {
  std::map<std::string, const VertexType*> types;
  for (const VertexType& type : typed.types) types[type.name] = &type;
  for (const Relation& relation : typed.relations)
    relations_.push_back(
        {*types.at(relation.source), *types.at(relation.destination), relation.text()});
}

void RelationCheck::refuse(std::int64_t e, std::int32_t relation) const {
  throw DataError(
      relations_file_, fmt::format("element {}", e),
      fmt::format("expected a relation from 0 to {}, found {}", relations_.size() - 1, relation));
}

void RelationCheck::refuse(std::int64_t e, int row, Vertex found, const VertexType& type,
                           const std::string& relation) const {
  const std::string place = fmt::format("element [{}, {}]", row, e);
  if (found < 0 || found >= vertices_)
    throw DataError(edges_file_, place,
                    fmt::format("expected a vertex from 0 to {}, found {}", vertices_ - 1, found));
  throw DataError(
      edges_file_, place,
      fmt::format("expected a vertex of type {} ({} to {}), as relation {} has it, found {}",
                  type.name, type.first, type.first + type.count - 1, relation, found));
}

std::optional<TypedGraph> read_typed_graph(const fs::path& folder, const MetaFile& meta,
                                           std::int64_t vertices, std::int64_t& merged) {
  std::optional<TypedGraph> typed = read_types_of(folder, meta, vertices);
  if (!typed) return std::nullopt;
  require_plausible(folder, meta, typed->relations.size(), vertices);
  auto edges = read_edges(folder, meta, *typed);
  for (std::size_t r = 0; r < edges.size(); ++r) {
    auto graph =
        std::make_shared<const Csr>(build_csr(vertices, edges[r].source, edges[r].destination));
    merged += std::ssize(edges[r].source) - graph->nnz();
    typed->relations[r].graph = std::move(graph);
    edges[r] = {};
  }
  return typed;
}

void write_typed_edges(const TypedGraph& typed, const fs::path& folder) {
  std::vector<Csr> by_source;
  for (const Relation& relation : typed.relations) by_source.push_back(transpose(*relation.graph));
  auto edges = NpyWriter::create<std::int32_t>(folder / "edges.npy", {2, typed.edges()});
  std::vector<std::int32_t> row;
  for (const Csr& graph : by_source)
    for (std::int64_t v = 0; v < graph.rows; ++v) {
      row.assign(at(graph.degree(v)), static_cast<Vertex>(v));
      edges.append<Vertex>(row);
    }
  for (const Csr& graph : by_source) edges.append<Vertex>(graph.columns);
  edges.close();
  auto kinds = NpyWriter::create<std::int32_t>(folder / kEdgeRelations, {typed.edges()});
  for (std::size_t r = 0; r < by_source.size(); ++r) {
    row.assign(by_source[r].columns.size(), static_cast<std::int32_t>(r));
    kinds.append<std::int32_t>(row);
  }
  kinds.close();
}

void add_types(nlohmann::ordered_json& meta, const TypedGraph& typed) {
  for (const VertexType& type : typed.types) {
    meta["vertex_types"].push_back(type.name);
    meta["vertex_type_counts"].push_back(type.count);
  }
  for (const Relation& relation : typed.relations)
    meta["relations"].push_back({relation.source, relation.name, relation.destination});
}

}  // namespace orrery
