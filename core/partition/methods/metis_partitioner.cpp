// METIS as a method, even if the build does not have it.
#include "core/partition/methods/metis.hpp"
#include "core/partition/methods/partitioner.hpp"

namespace orrery {
Partitioner metis_partitioner() {
  return {
      .name = "metis",
      .description = "METIS: least edge cut or communication volume",
      .assigns = Assigns::vertices,
      .drawn = true,
      .parameters = {{"objective",
                      [](const PartitionOptions& o) -> ParameterValue {
                        return std::string(o.metis.volume ? "volume" : "cut");
                      },
                      {}},
                     {"servers",
                      [](const PartitionOptions& o) -> ParameterValue {
                        return std::int64_t{o.metis.servers};
                      },
                      {}},
                     {"constraints",
                      [](const PartitionOptions& o) -> ParameterValue {
                        return names_of(o.metis.constraints);
                      },
                      {}},
                     {"balance",
                      [](const PartitionOptions& o) -> ParameterValue { return o.metis.balance; },
                      {}}},
      .cut = [](const Csr& graph, int parts, const PartitionOptions& o,
                std::span<const Split> split) { return metis_partition(graph, parts, o, split); }};
}

}  // namespace orrery
