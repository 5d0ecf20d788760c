// Files that the servers of a simulated cluster read and write before an epoch, over its storage.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "experiments/predict/prepared.hpp"
#include "experiments/predict/simulator.hpp"

namespace orrery {

/// Bytes that each rank reads.
using BytesOfRanks = std::vector<std::int64_t>;

/// Each server reads so many bytes once, for all of its ranks: by its first rank.
BytesOfRanks by_each_server(const Experiment& experiment, std::int64_t bytes);
/// The first server alone reads or writes them.
BytesOfRanks by_first_server(const Experiment& experiment, std::int64_t bytes);
/// Each rank reads its parts: ranks take parts in turn, and where several ranks have copies of a part,
/// each of them reads it.
BytesOfRanks by_owners(const Experiment& experiment, const BytesOfRanks& parts);

/// Size of all files below a folder.
std::int64_t bytes_below(const std::filesystem::path& folder);

/// Until the last rank has its files: they pass the storage together, as in a replay. What is written
/// takes as long as what is read, because a cluster file has one rate for both.
///
/// Requires  the experiment's cluster has storage with a rate
/// Units     seconds; decoding what was read is not in them
double storage_seconds(const Experiment& experiment, const BytesOfRanks& bytes,
                       Simulator& simulator);

/// The object "loading" of a simulated result: what is read before the first epoch, by whom, and how
/// long that takes; null if the cluster has no storage.
nlohmann::ordered_json loading_json(const PreparedExperiment& prepared, Simulator& simulator);

}  // namespace orrery
