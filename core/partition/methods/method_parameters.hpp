// What a folder of parts tells of how it was cut.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/partition/partition.hpp"
#include "core/partition/partition_options.hpp"

namespace orrery {

/// All parameters that the method of `options` looks at, by name, defaults included.
nlohmann::ordered_json method_parameters(const PartitionOptions& options);

}  // namespace orrery
