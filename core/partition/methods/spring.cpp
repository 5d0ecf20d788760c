#include <algorithm>
#include <cmath>

#include "core/base/index.hpp"
#include "core/partition/methods/list_scheduling.hpp"
#include "core/partition/methods/partitioner.hpp"
#include "core/partition/methods/refine.hpp"
#include "core/partition/methods/spring_merge.hpp"
#include "core/partition/methods/streaming.hpp"
#include "core/partition/partition_options.hpp"

namespace orrery {
namespace {

ClusterSizes summary(const std::vector<std::int32_t>& sizes) {
  ClusterSizes s;
  s.count = static_cast<std::int64_t>(sizes.size());
  s.single = std::count(sizes.begin(), sizes.end(), 1);
  if (sizes.empty()) return s;
  double square = 0;
  for (const double size : sizes) s.mean += size / static_cast<double>(s.count);
  for (const double size : sizes) square += (size - s.mean) * (size - s.mean);
  s.deviation = std::sqrt(square / static_cast<double>(s.count));
  return s;
}

}  // namespace

StreamCut spring_partition(EdgeStream& edges, int parts, const SpringOptions& options) {
  StreamCounts counts = count_edges(edges);
  const auto n = static_cast<double>(counts.vertices());
  Clustering clustering = cluster_stream(edges, counts.degree, options.max_volume / parts);
  StreamCut cut;
  cut.before = summary(cluster_sizes(clustering));
  merge_clusters(clustering, counts.degree, options.balance * n / parts, options.persistent);
  std::vector<std::uint32_t>().swap(counts.degree);
  std::vector<Vertex>().swap(clustering.richest);

  const std::vector<std::int32_t> sizes = cluster_sizes(clustering);
  cut.after = summary(sizes);
  LeastLoaded loads(parts);
  const std::vector<std::int32_t> part = schedule(std::span<const std::int32_t>(sizes), loads);
  cut.partition = {parts, std::move(clustering.cluster)};
  for (auto& c : cut.partition.owner) c = c < 0 ? loads.take(1) : part[at(c)];
  if (options.refine > 0) refine_cut(edges, cut.partition, {options.refine, options.balance});
  return cut;
}

Partitioner spring_partitioner() {
  return {
      .name = "spring",
      .description = "merged clusters of vertices",
      .assigns = Assigns::vertices,
      .drawn = false,
      .parameters = {{"max_volume",
                      [](const PartitionOptions& o) -> ParameterValue {
                        return o.spring.max_volume;
                      },
                      {}},
                     {"balance",
                      [](const PartitionOptions& o) -> ParameterValue { return o.spring.balance; },
                      {}},
                     {"merge",
                      [](const PartitionOptions& o) -> ParameterValue {
                        return std::string(o.spring.persistent ? "persistent" : "representative");
                      },
                      {}},
                     {"refine",
                      [](const PartitionOptions& o) -> ParameterValue {
                        return std::int64_t{o.spring.refine};
                      },
                      {}}},
      .cut = [](EdgeStream& edges, int parts, const PartitionOptions& o) {
        return spring_partition(edges, parts, o.spring);
      }};
}

}  // namespace orrery
