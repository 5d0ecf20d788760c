// A data set folder that is opened but not read: for data larger than memory.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/dataset.hpp"
#include "core/graph/dataset_options.hpp"
#include "core/graph/read/vertex_rows.hpp"

namespace orrery {

/// A data set whose edges and features stay on disk. In memory: a byte per vertex (the split), and
/// 4 more if the rows of the features are normalised.
struct StreamedDataset {
  std::string name;
  std::filesystem::path edges;  ///< edges.npy
  std::int64_t vertices = 0;
  bool mirrored = false;  ///< the graph also has the reverse of every edge
  /// meta.json says that every edge has its reverse; nobody has checked it.
  bool says_undirected = false;
  bool generated = false;
  /// Types and relations without edges, as the folder names them: edge_relations.npy beside the
  /// edges has the relation of each. Nothing if it has none.
  std::optional<TypedGraph> typed;
  VertexRows rows;
  std::shared_ptr<const std::vector<Split>> split;  ///< empty if there is none
  std::vector<std::string> notes;
  /// How many of the notes are on the origin of the data, and how many on that and the reading.
  std::size_t notes_on_origin = 0, notes_on_reading = 0;
};

/// Opens a data set folder and applies the options, as load_dataset does.
///
/// Errors    as load_dataset, for values in their rows when these are read; ConfigError: a data set
///           that is no folder of NumPy arrays, an option that needs the graph in memory
StreamedDataset open_streamed_dataset(const DatasetOptions& options);

}  // namespace orrery
