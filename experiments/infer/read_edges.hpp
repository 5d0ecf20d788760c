// The rows of a graph from edges that the ranks of an inference read in ranges.
#pragma once

#include <filesystem>
#include <optional>

#include "experiments/infer/prepare_inference.hpp"

namespace orrery {

/// A data set folder whose edges can be read in ranges.
std::optional<std::filesystem::path> folder_of_ranges(const Experiment& experiment);

/// For such a folder, in a job over MPI: each rank reads a range of edges.npy and ends up with the
/// rows of its part.
///
/// Errors    as open_streamed_dataset; DataError: edges without the reverse that meta.json promises
LoadedInference load_ranges(const Experiment& experiment, const Job& job);

/// For files of edges (dataset.edge_list): over MPI as above, otherwise one process reads all of
/// them. If the number of vertices is not given, the files are first read once for the largest one.
///
/// Errors    as EdgeListFiles
LoadedInference load_edge_list(const Experiment& experiment, const Job& job);

/// The same as load_ranges and load_edge_list, or as reading such a folder as a whole, with rows that a
/// killed start kept.
///
/// Errors    as KeptInput::take_rows
LoadedInference load_kept(const Experiment& experiment, const KeptInput& kept, const Job& job);

}  // namespace orrery
