#include "core/base/error.hpp"
#include "core/partition/methods/metis.hpp"
#include "core/partition/partition_options.hpp"

namespace orrery {

Partition metis_partition(const Csr&, int, const PartitionOptions&, std::span<const Split>) {
  throw NotBuilt(
      "partition.method: \"metis\" is not in this build; install libmetis-dev and build again, or "
      "use block or random");
}

std::string metis_version() { return "none"; }

}  // namespace orrery
