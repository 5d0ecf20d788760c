// What the servers of a cluster cost for the time of an epoch.
#pragma once

#include <optional>
#include <string>

#include "experiments/config/experiment.hpp"

namespace orrery {

/// The experiment's servers for so many seconds, at the price in its cluster file.
///
/// Units     US dollars; nothing: the file names no price (server.usd_per_hour), or there is none
std::optional<double> usd_per_epoch(const Experiment& experiment, double epoch_seconds);

/// "$0.0125", "$1.25e-05".
std::string dollars(double usd);

}  // namespace orrery
