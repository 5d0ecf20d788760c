// Rings over the cables that join devices directly.
#pragma once

#include <vector>

namespace orrery::sim {

/// A cyclic order of a group's members.
using Ring = std::vector<int>;

/// Finds as many directed rings over all members as their cables allow. Each cable is used once in
/// each direction. The result is empty if no ring exists.
///
/// `cables` [n · n]: number of cables between members a and b, symmetric. Two members form one ring
/// for each cable. Every ring begins with member 0.
///
/// Cost      exhaustive up to kRingSteps steps of the search, which suffice for the meshes of eight
///           devices that are built; then the best so far
/// Source    the rings that NCCL searches for (src/graph/search.cc), without its speed classes
std::vector<Ring> pack_rings(const std::vector<int>& cables);
inline constexpr long kRingSteps = 2'000'000;

}  // namespace orrery::sim
