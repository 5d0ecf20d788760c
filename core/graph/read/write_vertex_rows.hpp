// Writes what a data set folder holds of its vertices.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "core/graph/read/vertex_rows.hpp"

namespace orrery {

/// Writes features (sparse where that is smaller), labels.npy and split.npy, as far as they are
/// there, some megabytes at a time. Returns the `feature_storage` of meta.json.
///
/// Errors    DataError: a file cannot be written (the system's reason is named); those of the rows
nlohmann::ordered_json write_vertex_rows(const VertexRows& rows,
                                         const std::filesystem::path& folder);

}  // namespace orrery
