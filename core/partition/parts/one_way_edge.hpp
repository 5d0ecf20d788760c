// Whether every edge of a stream has its reverse there, found without keeping the edges in memory.
#pragma once

#include <optional>

#include "core/partition/edges/edge_stream.hpp"

namespace orrery {

/// An edge whose reverse is missing in the stream: the one with the smallest destination, and of
/// those the smallest source. None if every edge has its reverse (except for one case in 2^64).
///
/// Cost      one pass if every edge occurs as often as its reverse; else five more, and files of 16
///           bytes per edge and 32 bytes per vertex of memory while it searches
/// Errors    those of the stream; DataError where the files, in the folder for temporary ones, cannot
///           be written
std::optional<Edge> one_way_edge(EdgeStream& edges);

}  // namespace orrery
