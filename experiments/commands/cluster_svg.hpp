// A drawing of a cluster.
#pragma once

#include <string>

#include "core/cluster/cluster.hpp"

namespace orrery {

/// An SVG image: servers as boxes with their devices, switches and NICs, the network above, links
/// as wide as their rate and coloured by type, a legend with units. Of a cluster with many devices
/// the first server is drawn whole and the others as boxes of servers that hang on the same
/// switches.
std::string draw_cluster(const Cluster& cluster);

}  // namespace orrery
