// Edges in a text, read piece by piece.
#pragma once

#include <filesystem>
#include <memory>

#include "core/partition/edges/edge_stream.hpp"

namespace orrery {

/// Largest number of vertices that a file of edges may claim, because all numbers up to the largest
/// take memory.
std::int64_t most_vertices(const std::filesystem::path& file);

/// Words of an error if that is less than the numbering allows.
inline constexpr const char* kOfItsSize =
    " in a file of its size (every number up to the largest takes memory)";

/// See edge_file.hpp for the format.
///
/// Errors    DataError as open_edge_file; also a line longer than the buffer, and gzip data that is
///           damaged or cut short
std::unique_ptr<EdgeStream> open_edge_text(const std::filesystem::path& file);

}  // namespace orrery
