// Edges in a text, read piece by piece.
#pragma once

#include <filesystem>
#include <memory>

#include "core/partition/edges/edge_stream.hpp"

namespace orrery {

/// See edge_file.hpp for the format.
///
/// Errors    DataError as open_edge_file; also a line longer than the buffer, and gzip data that is
///           damaged or cut short
std::unique_ptr<EdgeStream> open_edge_text(const std::filesystem::path& file);

}  // namespace orrery
