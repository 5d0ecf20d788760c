// Servers, devices, switches and the links between them: the hardware that a run is forecast for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orrery {

/// What a node of the cluster is. A local switch (PCIe, NVSwitch) belongs to a server, a network
/// switch to none.
enum class NodeKind { kDevice, kHost, kNic, kNetworkSwitch, kLocalSwitch };
std::string to_string(NodeKind kind);

/// Number of the server of a network switch.
inline constexpr int kNoServer = -1;

struct ClusterNode {
  std::string name;  ///< "s0/gpu3", "leaf1"
  NodeKind kind;
  int server;  ///< from 0, or kNoServer
  bool operator==(const ClusterNode&) const = default;
};

/// Whether the two directions of a link have a capacity each or one for both.
enum class Duplex { kFull, kShared };

/// A connection of two nodes, usable in both directions.
/// Units     bytes_per_second: per direction where full; parallel cables are counted in, not apart
struct ClusterLink {
  int from, to;  ///< numbers of nodes
  double bytes_per_second;
  double latency_seconds;
  Duplex duplex = Duplex::kFull;
  std::string type;  ///< as the file names it: "nvlink", "pcie"
  int count = 1;     ///< parallel cables, all of them in bytes_per_second
  /// Of both directions together, where full and less than twice the rate; 0: no limit but theirs.
  double both_bytes_per_second = 0;
  bool operator==(const ClusterLink&) const = default;
};

/// What passes a link at most when both directions are busy.
/// Units     bytes of both directions per second
double both_directions(const ClusterLink& link);

/// Whether its two directions, each with a rate of its own, can hinder each other.
bool directions_meet(const ClusterLink& link);

/// What computes: a GPU, or a whole machine where a rank has one.
struct Device {
  int node;
  std::string type;     ///< as the file names it
  std::string profile;  ///< of its kernels' times
  std::int64_t memory_bytes;
  double memory_bytes_per_second;  ///< peak
  double flops_per_second;         ///< peak, single precision
  int cores = 0;  ///< of a CPU, which several ranks may share; 0: an accelerator of one rank
  bool operator==(const Device&) const = default;
};

/// What drives the devices of a server: its processors, which host tasks, the issue of operations
/// and the network stack share, and its main memory. Where servers have no node that is a host, a
/// device is the machine itself and these are its own. 0: not said.
struct ServerHost {
  int cores = 0;                       ///< of all sockets together
  double memory_bytes_per_second = 0;  ///< peak of the main memory
  std::int64_t memory_bytes = 0;       ///< main memory
  std::int64_t pinned_bytes = 0;       ///< of it, what may be pinned for copies to devices
  std::string profile;                 ///< of host tasks' times; none: that of the devices
  bool operator==(const ServerHost&) const = default;
};

/// A cluster as plain data. Ranks number the devices.
struct Cluster {
  std::string name, description;
  std::vector<ClusterNode> nodes;
  std::vector<ClusterLink> links;
  std::vector<Device> devices;         ///< in the order of ranks
  ServerHost host = {};                ///< of each server
  bool relay_through_devices = false;  ///< whether a route may pass a third device

  int servers() const;
  const ClusterNode& node_of(int rank) const;
  const std::string& name_of(int rank) const { return node_of(rank).name; }
  int server_of(int rank) const { return node_of(rank).server; }
  /// Whether servers have hosts beside their devices; else a device is its server's machine.
  bool has_hosts() const;
  /// Cores that a rank's kernels share with other work; 0: an accelerator, which has its own.
  int cores_of(int rank) const;
  bool operator==(const Cluster&) const = default;
};

/// Checks that a cluster can be simulated: names unique, ends known, rates positive, both
/// directions of a link together between once and twice its rate, a route between any two devices.
/// Errors    ConfigError whose path is the name of the offending node or link
/// Cost      O(devices x links)
void validate(const Cluster& cluster);

}  // namespace orrery
