#include "core/partition/number_of_parts.hpp"

#include <fmt/core.h>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/graph/csr.hpp"

namespace orrery {

std::int64_t data_bytes(const DataFacts& facts) {
  return 2 * std::int64_t{sizeof(Vertex)} * facts.edges +
         std::int64_t{sizeof(float)} * facts.features * facts.vertices;
}

NumberOfParts number_of_parts(const DeviceNeeds& needs) {
  const std::int64_t working =
      needs.working_bytes > 0 ? needs.working_bytes : needs.device_bytes / 3 * 2;
  const std::int64_t room = needs.device_bytes - working;
  if (room <= 0)
    throw ConfigError("partition.working_bytes",
                      fmt::format("a working set of {} leaves no room for data on a device of {}",
                                  human_bytes(working), human_bytes(needs.device_bytes)));
  // ceil(ceil(D / room) / n) = ceil(D / (n room)), without an overflow
  const std::int64_t pieces = (needs.data_bytes + room - 1) / room;
  const std::int64_t rounds = pieces > 0 ? (pieces + needs.devices - 1) / needs.devices : 1;
  return {rounds * needs.devices,
          fmt::format("{} of data, {} device{} with {} each, of which the working set takes {} "
                      "(CATGNN 3.2)",
                      human_bytes(needs.data_bytes), needs.devices, needs.devices == 1 ? "" : "s",
                      human_bytes(needs.device_bytes), human_bytes(working))};
}

}  // namespace orrery
