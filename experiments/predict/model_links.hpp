// What the closed forms know about a cluster: how many links join the devices of one server, and
// the latency and rate between the members of a group.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/cost/mggcn.hpp"
#include "core/ops/ops.hpp"
#include "sim/price/profile.hpp"

namespace orrery {

/// The links among the devices of the ranks: direct ones if they connect all of them, else those of
/// each to one switch of their server. Nothing if neither exists, if devices are on several servers
/// or shared by ranks, or if links differ in rate.
std::optional<cost::Links> direct_links(const Cluster& cluster, const std::vector<int>& devices);

/// Latency and time per byte between the two worst connected members of a group; `both`: per byte
/// of both directions if both are busy.
struct AlphaBeta {
  double seconds_per_message = 0, seconds_per_byte = 0, seconds_per_byte_of_both = 0;
};

/// Bytes per second from a device to another server when all devices of its server send at once and
/// nothing comes the other way; 0 if all ranks are on one server.
double external_rate_per_device(const Cluster& cluster, const std::vector<int>& devices);

/// Prices collectives by closed forms.
class CollectiveTimes {
 public:
  /// `library`: adds its software's time to each message, and copies between ranks of one device.
  /// Requires  cluster and devices outlive the object
  CollectiveTimes(const Cluster& cluster, const std::vector<int>& devices, sim::Library library);

  /// Errors    Uncalibrated if ranks share a device and the library does not say how fast it
  ///           copies
  AlphaBeta between(const Group& group);

  /// Seconds of one collective of `group`, on one of its ranks. The number of links decides, where
  /// there are any: a broadcast takes bytes / (links · rate), a ring of q 2(q − 1)/q of that; else
  /// by latency and rate: a broadcast by tree lg q · α + β · bytes, a ring 2(q − 1) · α + 2(q −
  /// 1)/q · β · bytes, an all-to-all (q − 1) · α + β · the more of bytes sent and received (or the
  /// time of both together, where directions share a total and that takes longer).
  ///
  /// Source    MG-GCN section 5.1; CAGNET's α-β model
  /// Departs   an all-to-all moves its bytes at the rate of a broadcast; no contention, no waiting
  ///           for each other
  double seconds(const Op& op, const Group& group, int rank);

  const std::optional<cost::Links>& links() const { return links_; }

 private:
  double links_of(const Group& group);

  const Cluster& cluster_;
  const std::vector<int>& devices_;
  sim::Library library_;
  std::optional<cost::Links> links_;
  std::map<std::vector<int>, double> broadcast_links_;
  std::map<std::vector<int>, AlphaBeta> between_;
};

}  // namespace orrery
