// The types of vertices and edges in a data set folder: meta.json says which there are, and
// edge_relations.npy has the relation of each edge of edges.npy.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

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

/// Writes edges.npy and edge_relations.npy: relation by relation, each in the order (source,
/// destination).
void write_typed_edges(const TypedGraph& typed, const std::filesystem::path& folder);

/// Adds to meta.json what read_types() reads.
void add_types(nlohmann::ordered_json& meta, const TypedGraph& typed);

}  // namespace orrery
