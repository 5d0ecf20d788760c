// Writes a data set as a folder of NumPy files with meta.json, completely or not at all.
#pragma once

#include <filesystem>
#include <vector>

#include "core/graph/dataset.hpp"
#include "core/graph/edges/edge_features.hpp"
#include "core/graph/files/vertex_names.hpp"

namespace orrery {

/// Throws what write_orrery() would throw for this place: before long work.
///
/// Errors    DataError: `folder` exists and not `force`, or it holds anything but a data set; nothing can
///           be made beside it
void require_place_for(const std::filesystem::path& folder, bool force);

/// Writes the folder format that load_dataset reads. Everything goes into a temporary folder beside
/// `folder`, which is renamed at the end; after an error nothing is left of it. Features are stored
/// sparse where that is smaller. `edge_weights`, `edge_features`: of the graph's entries
/// (edge_weights.hpp, edge_features.hpp). `names`: of its vertices (vertex_names.hpp).
///
/// Requires  the parent folder exists
/// Errors    DataError: `folder` exists and not `force`, or it holds anything but a data set; a
///           file cannot be written (the system's reason is named)
void write_orrery(const Dataset& dataset, const std::filesystem::path& folder, bool force = false,
                  const EdgeValues<float>* edge_weights = nullptr,
                  const EdgeFeatures* edge_features = nullptr, const VertexNames& names = {});

}  // namespace orrery
