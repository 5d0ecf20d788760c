// The number of parts that a graph needs on given devices.
#pragma once

#include <cstdint>
#include <string>

#include "core/graph/data_facts.hpp"

namespace orrery {

struct DeviceNeeds {
  std::int64_t devices = 1;
  std::int64_t device_bytes = 0;   ///< M, memory of one device
  std::int64_t data_bytes = 0;     ///< D, graph and features as they are on disk
  std::int64_t working_bytes = 0;  ///< a, the working set of a model on one device; 0: 2/3 of M
};

/// Size of graph and features on disk: two vertex numbers per edge, a float32 per feature.
std::int64_t data_bytes(const DataFacts& facts);

struct NumberOfParts {
  std::int64_t parts = 1;
  std::string reason;  ///< one readable line
};

/// The number of devices, n, if the data fits beside the working set, D <= n (M - a). Otherwise n
/// ceil(D / (n (M - a))): the fewest rounds of n parts at which a part fits.
///
/// Units     bytes
/// Source    CATGNN 3.2, and for D and a 3.4: "we just use the data size on the disk as an estimate
///           of their size in memory", "we use two-thirds of the total available memory space of a
///           single GPU as a conservative estimate". The symbols of 3.2 are lost in the text that
///           we have; the condition is derived from its words, and fits the two to three times of
///           the graph's size that 3.4 found for the total
/// Departs   the paper says no more than "a larger number" where the data does not fit; ours is
///           the smallest that gives every device as many parts. Replicas are not counted, there
///           as here
/// Errors    ConfigError: the working set leaves no room on a device
NumberOfParts number_of_parts(const DeviceNeeds& needs);

}  // namespace orrery
