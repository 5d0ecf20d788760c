// What an inference takes over from a killed start: on which conditions, and what it keeps itself.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "experiments/config/experiment.hpp"
#include "experiments/infer/kept/kept_input.hpp"
#include "experiments/run/runner.hpp"

namespace orrery {

/// Whether the input can be described before its edges are read: they are in files that can be opened
/// without them, or a generator makes them.
bool keeps_input(const Experiment& experiment);
/// Whether rows of the graph are kept as well. What a generator makes is not: features come with it.
bool keeps_rows(const Experiment& experiment);

/// The store of rows and drawn neighbours, with those that are there; the same on all ranks of a job,
/// which all call it.
///
/// Requires  keeps_input()
/// Cost      the leading rank reads the files of edges, for their checksums
/// Errors    as open_kept_input
KeptInput open_input(const Experiment& experiment, const std::filesystem::path& folder, bool resume,
                     const Job& job);

}  // namespace orrery
