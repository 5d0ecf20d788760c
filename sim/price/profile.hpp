// What a simulation knows of a device: how long each operation takes on it, what its host adds, and
// how the libraries that connect it behave.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace orrery::sim {

/// A communication library on a kind of device. Times in seconds, rates in bytes per second.
struct Library {
  std::string name;               ///< nccl | mpi | threads: which algorithms it has
  double issue_seconds = 0;       ///< of the host for every collective; 0: as for a kernel
  double collective_seconds = 0;  ///< of every collective on every rank, before its first message
  double message_seconds = 0;     ///< of software, added to the latency of each message
  /// Messages between ranks of one server are copied by a core of the receiver at this rate; 0:
  /// they go over the server's links.
  double copy_bytes_per_second = 0;
  /// Time of a core at each end of a message that goes over links (0: adapters do it).
  double core_seconds_per_byte = 0;
  /// Sums of collectives are formed at this rate of incoming bytes, by a core; 0: in passing.
  double reduce_bytes_per_second = 0;
  bool operator==(const Library&) const = default;
};

/// A table of measured times of one kind of operation on a full grid, interpolated in between.
/// Seconds are row-major over the axes, the last one varying fastest.
struct PriceTable {
  struct Axis {
    std::string name;            ///< "rows", "nnz", "width", "skew", "threads", ...
    std::vector<double> points;  ///< positive, ascending
  };
  std::vector<Axis> axes;
  std::vector<double> seconds;
  double fit_error = 0;  ///< mean relative error of interpolation at points that were left out
};

/// A roofline: seconds = launch + max(flops / (peak · efficiency), bytes / (peak · efficiency));
/// the bytes of a sparse product are told in roofline.hpp.
struct Roofline {
  double flops_per_second = 0, bytes_per_second = 0;   ///< peaks
  double cache_bytes = 0, cache_bytes_per_second = 0;  ///< last level: size and peak rate
  /// Of a GPU: each takes the rows of a sparse product one after the other. 1: unknown, and a long
  /// row holds up nothing.
  double multiprocessors = 1;
  struct Efficiency {
    double flops = 1, bytes = 1;
  };
  /// Stated per kind of operation: by price key ("gemm/transpose_a"), else by kind ("gemm").
  std::map<std::string, Efficiency> by_kind;
  double launch_seconds = 0;  ///< of every kernel on the device, also of one without work
};

/// What a task of a kind takes on a host, alone: launch + (items · seconds_per_item + bytes /
/// bytes_per_second) / (1 + (threads − 1) · thread_efficiency). Its bytes also pass the host's
/// memory, whose rate concurrent tasks share.
struct HostPrice {
  double launch_seconds = 0;     ///< of a task, also of one without work
  double seconds_per_item = 0;   ///< of a core
  double bytes_per_second = 0;   ///< of a core; 0: bytes take none of its time
  double thread_efficiency = 1;  ///< what each thread after the first adds, 0 to 1
  bool operator==(const HostPrice&) const = default;
};

/// One kind of device.
struct DeviceProfile {
  std::string name;
  std::string origin;  ///< "measured" or "derived"
  std::string source;  ///< when, on what, or from which figures
  /// Of the machine, kept busy by other programs while it was measured: times are then too long.
  double other_work_cores = 0;
  /// By price key (price_point.hpp); one that is here goes before the roofline.
  std::map<std::string, PriceTable> tables;
  /// By price key: factors (in place of seconds) by which an operation inside of a training takes
  /// longer than its table says of it alone, because it finds other things in the caches.
  std::map<std::string, PriceTable> in_place;
  Roofline roofline;
  /// Multiplies the price of a key, else of a kind, and of all by "*" (of host tasks by their kind
  /// alone): a rate that was fitted, and said so in the result.
  std::map<std::string, double> scale;

  double issue_seconds = 0;     ///< of the host for every submit
  double handover_seconds = 0;  ///< from the end of what an operation waited for to its start
  double sync_seconds = 0;      ///< from the end of what the host waits for to its going on
  /// A kernel takes so many times as long while the device also communicates (MG-GCN 6.4).
  double communication_slowdown = 1;
  std::map<std::string, Library> libraries;  ///< by name
  std::map<std::string, HostPrice> host;     ///< by kind of host task ("checkpoint")
};

}  // namespace orrery::sim
