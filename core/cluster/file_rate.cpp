#include "core/cluster/file_rate.hpp"

#include <algorithm>

#include "core/base/index.hpp"

namespace orrery {

double file_rate(const Cluster& cluster, int server) {
  const double said = cluster.storage.server_bytes_per_second;
  if (cluster.storage.shared_bytes_per_second == 0) return said;
  double links = 0;
  for (const ClusterLink& link : cluster.links) {
    const int from = cluster.nodes[at(link.from)].server, to = cluster.nodes[at(link.to)].server;
    if (std::min(from, to) == kNoServer && std::max(from, to) == server)
      links += link.bytes_per_second;
  }
  return links > 0 ? std::min(said, links) : said;  // one server alone has no network in the file
}

}  // namespace orrery
