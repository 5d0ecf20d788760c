// How fast a server gets files.
#pragma once

#include "core/cluster/cluster.hpp"

namespace orrery {

/// The most that a server reads in a second: what the storage says of one server. A file system that
/// servers share is beyond the network, so the links of the server to it bound the rate as well.
///
/// Requires  cluster.storage.has_rate()
double file_rate(const Cluster& cluster, int server);

}  // namespace orrery
