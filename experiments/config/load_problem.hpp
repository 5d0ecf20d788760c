// From an experiment's settings to the problem that a strategy works on.
#pragma once

#include <memory>
#include <string>

#include "core/partition/number_of_parts.hpp"
#include "core/runtime/ledger.hpp"
#include "core/strategy/strategy.hpp"
#include "experiments/config/experiment.hpp"

namespace orrery {

/// Words for loading the data set: "generating rmat graph of 1000000 vertices", "reading cora".
std::string loading_words(const DatasetOptions& dataset);

/// Loads data sets and keeps the last one: the combinations of a sweep mostly share it.
class DatasetCache {
 public:
  ProblemData load(const Experiment& experiment);

 private:
  std::string key_;
  ProblemData last_;
};

/// Rejects experiments that only a simulation can run, before any data is loaded.
///
/// Errors    ConfigError if only statistics are given and the backend trains
void require_data(const Experiment& experiment);

/// How many parts the experiment's strategy needs on its ranks. If it takes any number of parts,
/// nobody states the number, and the device memory is known: the number that number_of_parts()
/// derives from it and the bytes of the data (data_bytes()).
///
/// Errors    ConfigError if partition.parts has another number, partition.working_bytes cannot
///           be honoured, or more parts are needed than possible; those of parts_for
NumberOfParts parts_of(const Experiment& experiment, std::int64_t data_bytes);

/// The cut of the data for the experiment's ranks, taken from folder_of_cuts() if it is there. Parts
/// that were cut before, or cannot be cut, are only counted.
///
/// Errors    ConfigError (parts of another number), and those of partition_graph
Partition make_partition(const Experiment& experiment, const ProblemData& data);

/// Number of parts that own no vertex; 0 if owners are not known.
int empty_parts(const Partition& partition);

Problem make_problem(const Experiment& experiment, const ProblemData& data, Partition partition);

/// The memory of each rank by space, as far as the experiment's cluster gives it: that of its
/// device, and the rank's share of its server's host memory and pinned memory. The limits of a
/// host's spaces hold separately, not together.
Capacities memory_capacities(const Experiment& experiment);

}  // namespace orrery
