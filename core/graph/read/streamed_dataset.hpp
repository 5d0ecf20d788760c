// A data set folder that is opened and not read: for what is larger than memory.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/dataset.hpp"
#include "core/graph/dataset_options.hpp"
#include "core/graph/read/vertex_rows.hpp"

namespace orrery {

/// A data set whose edges and features stay on disk. In memory: a byte per vertex (the split), and
/// 4 more where the rows of the features are normalised.
struct StreamedDataset {
  std::string name;
  std::filesystem::path edges;  ///< edges.npy
  std::int64_t vertices = 0;
  bool mirrored = false;  ///< the reverse of every edge belongs to the graph as well
  /// meta.json says that every edge has its reverse among the edges, which nobody has held against them.
  bool says_undirected = false;
  bool generated = false;
  VertexRows rows;
  std::shared_ptr<const std::vector<Split>> split;  ///< empty when there is none
  std::vector<std::string> notes;
};

/// Opens a data set folder and applies the options, as load_dataset does.
///
/// Errors    as load_dataset, for values in their rows when these are read; ConfigError: a data set
///           that is no folder of NumPy arrays, an option that needs the graph in memory
StreamedDataset open_streamed_dataset(const DatasetOptions& options);

}  // namespace orrery
