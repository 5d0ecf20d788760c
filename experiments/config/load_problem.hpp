// From an experiment's settings to the problem that a strategy works on.
#pragma once

#include <memory>
#include <string>

#include "core/partition/number_of_parts.hpp"
#include "core/runtime/ledger.hpp"
#include "core/strategy/strategy.hpp"
#include "experiments/config/experiment.hpp"

namespace orrery {

/// What loading the data set is, for people: "generating rmat graph of 1000000 vertices", "reading
/// cora".
std::string loading_words(const DatasetOptions& dataset);

/// Loads data sets, keeping the last one: the combinations of a sweep mostly share theirs.
class DatasetCache {
 public:
  ProblemData load(const Experiment& experiment);

 private:
  std::string key_;
  ProblemData last_;
};

/// Tells apart, before anything is loaded, what cannot run for real.
///
/// Errors    ConfigError where only statistics are given and the backend is one that trains
void require_data(const Experiment& experiment);

/// How many parts the experiment's strategy needs on its ranks. Where it deals any number of parts,
/// nobody says how many, and the device memory is known: those that number_of_parts() draws from it
/// and the bytes of the data (data_bytes()).
///
/// Errors    ConfigError where partition.parts says another number, partition.working_bytes cannot
///           be honoured, or more parts are needed than can be; those of parts_for
NumberOfParts parts_of(const Experiment& experiment, std::int64_t data_bytes);

/// The cut of the data for the experiment's ranks; parts that were cut before, or cannot be, are
/// only counted.
/// Errors    ConfigError (parts of another number), and those of partition_graph
Partition make_partition(const Experiment& experiment, const ProblemData& data);

/// How many parts own no vertex; 0 where nobody says which vertex is whose.
int empty_parts(const Partition& partition);

Problem make_problem(const Experiment& experiment, const ProblemData& data, Partition partition);

/// The memory of each rank by space, as far as the experiment's cluster says it: its device's, and
/// the rank's share of what its server's host has and may pin. What ranks of a server share
/// (Space::server_host) may take all of it. The spaces of a host are held to their limits one by
/// one, not together.
Capacities memory_capacities(const Experiment& experiment);

}  // namespace orrery
