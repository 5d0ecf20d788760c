// Writes the vertex data of a data set folder.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "core/graph/read/vertex_rows.hpp"

namespace orrery {

/// Writes features (sparse if that is smaller), labels.npy and split.npy, if they exist, some
/// megabytes at a time. Returns the `feature_storage` of meta.json.
///
/// Errors    DataError: a file cannot be written (the system's reason is named); those of the rows
nlohmann::ordered_json write_vertex_rows(const VertexRows& rows,
                                         const std::filesystem::path& folder);

}  // namespace orrery
