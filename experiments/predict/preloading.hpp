// The cost of preloading: work that several servers repeat, and memory for rows of other servers.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/predict/prepared.hpp"

namespace orrery {

/// For a strategy whose servers hold more than their own vertices: the object "preloading" of
/// results; null for others.
///
///   vertices_ratio, edges_ratio  computed per owned one, summed over layers
///   rows, bytes                  of other servers' input features, summed over servers
///   essential_peak_bytes         of the rank whose peak is largest, if servers held nothing but
///                                their own vertices and the edges between them: a forecast
///   preloaded_peak_bytes         what its peak is more
///
/// `peaks`: forecast or measured device memory of each rank
nlohmann::ordered_json preloading_json(const PreparedExperiment& prepared,
                                       const std::vector<std::int64_t>& peaks);

/// The same as a readable line; empty if it is null.
std::string preloading_line(const nlohmann::ordered_json& preloading);

}  // namespace orrery
