// The time of host tasks on this machine.
#pragma once

#include <cstdint>

#include "experiments/calibrate/grids.hpp"
#include "sim/price/profile.hpp"

namespace orrery::calibrate {

struct HostTasks {
  sim::HostPrice checkpoint;       ///< of a checkpoint, by its bytes
  sim::HostPrice write_rows;       ///< of a new array in a file, up to the page cache, by its bytes
  sim::HostPrice serve;            ///< of a request for rows of a store, by rows and their bytes
  sim::HostPrice sample;           ///< of a batch that is drawn and cut, by its edges
  sim::HostPrice sample_vertices;  ///< of one that a device relabels and transposes
  sim::HostPrice sample_relations;  ///< of one whose edges are drawn and grouped by relation
  sim::HostPrice sample_relation_vertices;  ///< of such a one that a device relabels and transposes
  sim::HostPrice scan;                 ///< of the entries that a batch of clusters is found among
  sim::HostPrice pairs;                ///< of links with negatives, whose rows are found, by pairs
  double memory_bytes_per_second = 0;  ///< that all cores together read and write
};

struct HostTasksBench {
  int cores = 1;
  int repetitions = 9;
  std::int64_t checkpoint_bytes = std::int64_t{16} << 20;
  /// The size of the table whose rows are served: more than the caches hold.
  std::int64_t table_bytes = std::int64_t{256} << 20;
  /// The graph in which batches are drawn: most caches cannot hold its edges.
  std::int64_t sampled_vertices = std::int64_t{1} << 19;
  /// Seeds of a batch. There are training vertices for one more batch than is repeated.
  int seeds = 1000;
};

HostTasksBench host_tasks_bench(Effort effort, int cores);

/// Writes checkpoints, which are flushed, and arrays, which are not, into the folder of temporary files;
/// copies rows of 64 bytes and of 1 KiB at
/// random places with one thread; draws batches of 1000 seeds and of one seed in a generated graph,
/// with numbers and without them, and by relation in a typed one, with one thread; finds the edges among
/// parts of a graph; draws negatives for links; copies the table with all cores.
///
/// Errors    Error (folder not writable, disk full)
HostTasks measure_host_tasks(const HostTasksBench& bench);

}  // namespace orrery::calibrate
