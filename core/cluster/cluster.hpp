// Servers, devices, switches and the links between them: the hardware that a run is forecast for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orrery {

/// The kind of a node of the cluster. A local switch (PCIe, NVSwitch) belongs to a server, a
/// network switch to none.
enum class NodeKind { kDevice, kHost, kNic, kNetworkSwitch, kLocalSwitch };
std::string to_string(NodeKind kind);

/// The server number of a network switch.
inline constexpr int kNoServer = -1;

struct ClusterNode {
  std::string name;  ///< "s0/gpu3", "leaf1"
  NodeKind kind;
  int server;  ///< from 0, or kNoServer
  bool operator==(const ClusterNode&) const = default;
};

/// Whether each direction of a link has its own capacity, or both share one.
enum class Duplex { kFull, kShared };

/// A connection of two nodes, usable in both directions.
/// Units     bytes_per_second: per direction if full; parallel cables are included
struct ClusterLink {
  int from, to;  ///< numbers of nodes
  double bytes_per_second;
  double latency_seconds;
  Duplex duplex = Duplex::kFull;
  std::string type;  ///< its name in the file: "nvlink", "pcie"
  int count = 1;     ///< parallel cables, all counted in bytes_per_second
  /// Both directions together, if full and less than twice the rate; 0: no other limit.
  double both_bytes_per_second = 0;
  bool operator==(const ClusterLink&) const = default;
};

/// The most that passes a link when both directions are busy.
/// Units     bytes of both directions per second
double both_directions(const ClusterLink& link);

/// Whether its two directions, which have their own rates, can slow each other down.
bool directions_meet(const ClusterLink& link);

/// A device that computes: a GPU, or a whole machine if each has one rank.
struct Device {
  int node;
  std::string type;     ///< its name in the file
  std::string profile;  ///< profile of its kernels' times
  std::int64_t memory_bytes;
  double memory_bytes_per_second;  ///< peak
  double flops_per_second;         ///< peak, single precision
  /// cores of a CPU, which several ranks may share; 0: an accelerator with one rank
  int cores = 0;
  bool operator==(const Device&) const = default;
};

/// What drives the devices of a server: its processors (shared by host tasks, the issue of
/// operations and the network stack) and its main memory. If servers have no host node, a device is
/// the machine itself, and these are its own numbers. 0: not given.
struct ServerHost {
  int cores = 0;                       ///< cores of all sockets together
  double memory_bytes_per_second = 0;  ///< peak rate of the main memory
  std::int64_t memory_bytes = 0;       ///< main memory
  std::int64_t pinned_bytes = 0;       ///< main memory that may be pinned for copies to devices
  std::string profile;                 ///< profile of host tasks' times; empty: that of the devices
  bool operator==(const ServerHost&) const = default;
};

/// The source of files: a disk in each server, or one file system for all servers. Without a rate
/// (0), nobody has said how fast files come.
struct FileStorage {
  double server_bytes_per_second = 0;  ///< the most that the ranks of one server read together
  double shared_bytes_per_second = 0;  ///< the most that all servers read together; 0: no limit
  double latency_seconds = 0;          ///< before the first byte of each read
  bool has_rate() const { return server_bytes_per_second > 0; }
  bool operator==(const FileStorage&) const = default;
};

/// A cluster as plain data. Ranks are numbers of devices.
struct Cluster {
  std::string name, description;
  std::vector<ClusterNode> nodes;
  std::vector<ClusterLink> links;
  std::vector<Device> devices;         ///< in the order of ranks
  ServerHost host = {};                ///< the same for each server
  bool relay_through_devices = false;  ///< whether a route may pass a third device
  FileStorage storage = {};
  /// Servers that work on the cores of one machine, as those of a netcluster with more servers than
  /// cores do: server s on those of machine s mod machines(). 1: each server has its own.
  int servers_per_machine = 1;

  int servers() const;
  int machines() const { return servers() / servers_per_machine; }
  const ClusterNode& node_of(int rank) const;
  const std::string& name_of(int rank) const { return node_of(rank).name; }
  int server_of(int rank) const { return node_of(rank).server; }
  /// Whether servers have hosts beside their devices; else a device is its server's machine.
  bool has_hosts() const;
  /// Cores that a rank's kernels share with other work; 0: an accelerator, which has its own.
  int cores_of(int rank) const;
  bool operator==(const Cluster&) const = default;
};

/// Checks that a cluster can be simulated: unique names, known ends, positive rates, both
/// directions of a link together between once and twice its rate, and a route between any two
/// devices.
/// Errors    ConfigError whose path is the name of the offending node or link
/// Cost      O(devices x links)
void validate(const Cluster& cluster);

}  // namespace orrery
