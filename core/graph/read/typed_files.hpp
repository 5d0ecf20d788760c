// The types of vertices and edges in a data set folder: meta.json says which there are, and
// edge_relations.npy has the relation of each edge of edges.npy.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/edge_list.hpp"
#include "core/graph/files/meta_file.hpp"
#include "core/graph/typed_graph.hpp"

namespace orrery {

/// The relations of a folder with `vertices` vertices; nothing if meta.json names no types of
/// vertices. Edges that come several times in a relation are merged; `merged` is increased by their
/// number.
///
/// Errors    DataError: names that are no names or come twice, counts that do not sum up to the
///           vertices, a relation with an unknown type (the nearest one is named), an edge between
///           vertices of other types than its relation's, another number of relations than edges
std::optional<TypedGraph> read_typed_graph(const std::filesystem::path& folder,
                                           const MetaFile& meta, std::int64_t vertices,
                                           std::int64_t& merged);

/// The types and relations of a meta.json, without edges; nothing if it names no types.
///
/// Errors    DataError as above
std::optional<TypedGraph> read_types(const MetaFile& meta, std::int64_t vertices);

/// The same of a folder, which has relations of its edges only where it names types.
std::optional<TypedGraph> read_types_of(const std::filesystem::path& folder, const MetaFile& meta,
                                        std::int64_t vertices);

/// Has the relation of each edge of edges.npy: int32 [edges].
inline constexpr const char* kEdgeRelations = "edge_relations.npy";

/// Compares edges of a folder with the types of their relations.
class RelationCheck {
 public:
  /// `edges`: the path of edges.npy, which errors name.
  RelationCheck(const TypedGraph& typed, const std::filesystem::path& edges);

  /// Throws unless edge number `e`, counted from 0, lies between vertices of its relation's types.
  ///
  /// Errors    DataError: a relation or a vertex that is not there, a vertex of another type
  void require(std::int64_t e, Edge edge, std::int32_t relation) const {
    if (relation < 0 || relation >= std::ssize(relations_)) refuse(e, relation);
    const Ends& ends = relations_[at(relation)];
    if (!ends.source.has(edge.source)) refuse(e, 0, edge.source, ends.source, ends.text);
    if (!ends.destination.has(edge.destination))
      refuse(e, 1, edge.destination, ends.destination, ends.text);
  }

 private:
  struct Ends {
    VertexType source, destination;
    std::string text;
  };
  [[noreturn]] void refuse(std::int64_t e, std::int32_t relation) const;
  [[noreturn]] void refuse(std::int64_t e, int row, Vertex found, const VertexType& type,
                           const std::string& relation) const;

  std::vector<Ends> relations_;
  std::int64_t vertices_;
  std::string edges_file_, relations_file_;
};

/// Writes edges.npy and edge_relations.npy: relation by relation, each in the order (source,
/// destination).
void write_typed_edges(const TypedGraph& typed, const std::filesystem::path& folder);

/// Adds to meta.json what read_types() reads.
void add_types(nlohmann::ordered_json& meta, const TypedGraph& typed);

}  // namespace orrery
