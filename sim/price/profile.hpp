// A simulation's knowledge of a device: the time of each operation, the costs of its host, and
// the behaviour of its communication libraries.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/price/rate_by_size.hpp"

namespace orrery::sim {

/// A communication library on a kind of device. Times in seconds, rates in bytes per second.
struct Library {
  std::string name;          ///< nccl | mpi | threads: which algorithms it has
  double issue_seconds = 0;  ///< time of the host for every collective; 0: as for a kernel
  /// time of every collective on every rank, before its first message
  double collective_seconds = 0;
  double message_seconds = 0;  ///< time of software, added to the latency of each message
  /// Rate at which a core of the receiver copies messages between ranks of one server; not known:
  /// they go over the server's links.
  RateBySize copy_bytes_per_second = {};
  /// Time of a core at each end of a message over links (0: adapters do it).
  double core_seconds_per_byte = 0;
  /// Rate of incoming bytes at which a core forms the sums of collectives, by those of a message;
  /// not known: sums take no time.
  RateBySize reduce_bytes_per_second = {};
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
  double fit_error = 0;  ///< mean relative error of interpolation at left-out points
};

/// A roofline: seconds = launch + max(flops / (peak · efficiency), bytes / (peak · efficiency));
/// roofline.hpp has the bytes of a sparse product.
struct Roofline {
  double flops_per_second = 0, bytes_per_second = 0;   ///< peaks
  double cache_bytes = 0, cache_bytes_per_second = 0;  ///< last level: size and peak rate
  /// Multiprocessors of a GPU: each takes the rows of a sparse product one after the other. 1:
  /// unknown, and a long row delays nothing.
  double multiprocessors = 1;
  struct Efficiency {
    double flops = 1, bytes = 1;
  };
  /// Given per kind of operation: by price key ("gemm/transpose_a"), else by kind ("gemm").
  std::map<std::string, Efficiency> by_kind;
  double launch_seconds = 0;  ///< time of every kernel on the device, even without work
};

/// Time of a task of a kind on a host, alone: launch + (items · seconds_per_item + bytes /
/// bytes_per_second) / (1 + (threads − 1) · thread_efficiency). Its bytes also pass the host's
/// memory, whose rate concurrent tasks share.
struct HostPrice {
  double launch_seconds = 0;     ///< of a task, even without work
  double seconds_per_item = 0;   ///< time of a core
  double bytes_per_second = 0;   ///< rate of a core; 0: bytes take none of its time
  double thread_efficiency = 1;  ///< speed-up that each thread after the first adds, 0 to 1
  bool operator==(const HostPrice&) const = default;
};

/// One kind of device.
struct DeviceProfile {
  std::string name;
  std::string origin;  ///< "measured" or "derived"
  std::string source;  ///< when, on what, or from which figures
  /// Cores that other programs kept busy during the measurement: its times are then too long.
  double other_work_cores = 0;
  /// Keyed by price key (price_point.hpp); an entry here takes precedence over the roofline.
  std::map<std::string, PriceTable> tables;
  /// Keyed by price key. They hold factors in the place of seconds: an operation inside a training
  /// takes that many times as long as its table says, because it finds other data in the caches.
  std::map<std::string, PriceTable> in_place;
  /// The same for operations of sampled batches, whose operands another thread has just written. A key that
  /// is missing here has the factor of in_place.
  std::map<std::string, PriceTable> in_batches;
  Roofline roofline;
  /// Multiplies the price of a key, else of a kind, and of all by "*" (host tasks only by their
  /// kind): a fitted rate, which the result shows.
  std::map<std::string, double> scale;

  double issue_seconds = 0;     ///< time of the host for every submit
  double handover_seconds = 0;  ///< time from the end of what an operation waits for to its start
  double sync_seconds = 0;      ///< time from the end of what the host waits for to its next step
  /// Factor on the time of a kernel while the device also communicates (MG-GCN 6.4).
  double communication_slowdown = 1;
  /// Standard deviation of an operation's time over its mean, by what delays one device and not the others
  /// at the same time. Prices are means.
  double variation = 0;
  /// Of a CPU: how long a thread keeps a core while others wait for it; 0: cores are shared evenly.
  double turn_seconds = 0;
  std::map<std::string, Library> libraries;  ///< by name
  std::map<std::string, HostPrice> host;     ///< by kind of host task ("checkpoint")
};

}  // namespace orrery::sim
