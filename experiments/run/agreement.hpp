// What all processes of a job over MPI must have in common, compared before they begin.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "experiments/config/experiment.hpp"
#include "experiments/run/runner.hpp"

namespace orrery {

/// Compares the version and the settings of all processes with those of rank 0. Where files lie may differ
/// from machine to machine. All processes of the job call it; rank 0 judges.
///
/// Errors    Error: another version · ConfigError: the first key that differs
void require_same_settings(const Job& job, const std::vector<Experiment>& experiments);

/// Compares what tells the data of one process from that of another, as its fingerprint, with that of rank 0.
/// All processes of the job call it before they use the data; rank 0 judges.
///
/// Errors    Error: other data
void require_same_data(const Job& job, const std::string& fingerprint);

/// Waits until this process sees the folder that rank 0 has made: a shared file system may take a minute.
///
/// Errors    Error, if it does not see it, or may not write there
void require_shared_folder(const Job& job, const std::filesystem::path& folder);

}  // namespace orrery
