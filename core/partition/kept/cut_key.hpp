// What a cut depends on, as a name for it.
#pragma once

#include <string>

#include "core/graph/dataset.hpp"
#include "core/partition/partition_options.hpp"

namespace orrery {

/// Raise it whenever a method of methods/ cuts some graph otherwise than before, so that cuts that
/// were kept are made again. A test holds cuts against this number.
constexpr int kCutsVersion = 1;

/// The name of the cut that cut_dataset() makes: 32 hexadecimal digits. It depends on the graph, the
/// split and the types of vertices, on the method with all its parameters and its seed, on the number
/// of parts, on kCutsVersion, and on METIS, PT-Scotch, C library and compiler, which have a say
/// in the result.
///
/// Requires  a method of this program: the code of one from outside has no version
/// Cost      one parallel pass over the arrays of the graph
std::string key_of_cut(const Dataset& data, int parts, const PartitionOptions& options);

}  // namespace orrery
