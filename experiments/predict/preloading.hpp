// What preloading costs: work that several servers do, and memory for what is not a server's own.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/predict/prepared.hpp"

namespace orrery {

/// Of a strategy whose servers hold more than their own vertices, as it stands in results under
/// "preloading"; null of others.
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

/// The same as a line for people; empty where it is null.
std::string preloading_line(const nlohmann::ordered_json& preloading);

}  // namespace orrery
