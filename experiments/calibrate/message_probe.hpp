// The output of the program message_probe: the times of its job's collectives as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "experiments/calibrate/collective_times.hpp"

namespace orrery::calibrate {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CollectiveTimes::Sized, bytes, exchange_seconds,
                                   all_reduce_seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CollectiveTimes, small_exchange_seconds,
                                   small_all_reduce_seconds, broadcast_seconds, sizes, left_out)

}  // namespace orrery::calibrate
