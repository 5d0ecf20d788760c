// Features of vertices of several types, of which each has a table of its own or none.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/features.hpp"
#include "core/graph/files/meta_file.hpp"
#include "core/graph/typed_graph.hpp"

namespace orrery {

/// Features of all vertices from those of each type. Rows of types with fewer columns end in zeros. Types
/// without features get what `missing_features` says: "mean" or "" (fill_with_means; all rows are then in
/// memory), or "zero". Notes both. `origin` says where the features come from.
///
/// Shapes    of_types [types]: features of the type's vertices, or null
/// Requires  a type has features; graph is the union of the relations
/// Errors    ConfigError under "dataset.missing_features": it is given, and no type of the set `name` needs
///           it
std::shared_ptr<const Features> join_features(
    const std::vector<std::shared_ptr<const Features>>& of_types, const TypedGraph& typed,
    const Csr& graph, const std::string& missing_features, const std::string& name,
    const std::string& origin, std::vector<std::string>& notes);

/// Whether meta.json says that types have files of their own.
bool has_features_by_type(const MetaFile& meta);

/// The features of a folder whose meta.json names types under "feature_storage/types":
/// features_TYPE.npy of each, mapped, float32 or float16 [vertices of the type, any width].
///
/// Errors    DataError: no types, one that is unknown (the nearest is named) or comes twice, a file of
///           another type or shape, or than "feature_storage/shape" states; means that take more
///           memory than files of this size make plausible. ConfigError as join_features
std::shared_ptr<const Features> read_features_by_type(const std::filesystem::path& folder,
                                                      const MetaFile& meta, const TypedGraph& typed,
                                                      const Csr& graph,
                                                      const std::string& missing_features,
                                                      std::vector<std::string>& notes);

}  // namespace orrery
