#include "core/partition/metrics.hpp"

#include <algorithm>
#include <numeric>

namespace orrery {
namespace {

double most_over_mean(const std::vector<std::int64_t>& loads) {
  const auto sum = std::accumulate(loads.begin(), loads.end(), std::int64_t{0});
  if (sum == 0) return 1;
  return static_cast<double>(*std::max_element(loads.begin(), loads.end())) /
         (static_cast<double>(sum) / static_cast<double>(loads.size()));
}

}  // namespace

CutMetrics measure_cut(EdgeStream& edges, const Partition& partition, const Replicas& replicas,
                       Neighbours neighbours) {
  const auto parts = static_cast<std::size_t>(partition.parts);
  const auto n = static_cast<std::int64_t>(partition.owner.size());
  const auto owner = [&](Vertex v) { return partition.owner[static_cast<std::size_t>(v)]; };
  // Held for complete neighbourhoods, first without and then with the replicas: the halo is N
  // alone.
  Replicas needed(n, partition.parts);
  std::vector<std::int64_t> vertices(parts), ends(parts);
  for (std::int64_t v = 0; v < n; ++v) {
    needed.add(static_cast<Vertex>(v), owner(static_cast<Vertex>(v)));
    ++vertices[static_cast<std::size_t>(owner(static_cast<Vertex>(v)))];
  }
  std::int64_t all = 0, cut = 0;
  for_each_edge(
      edges,
      [&](const Edge& edge) {
        needed.fetch(edge.source);
        needed.fetch(edge.destination);
      },
      [&](const Edge& edge) {
        const std::int32_t p = owner(edge.source), q = owner(edge.destination);
        ++all;
        ++ends[static_cast<std::size_t>(p)];
        if (neighbours == Neighbours::both) ++ends[static_cast<std::size_t>(q)];
        if (p == q) return;
        ++cut;
        needed.add(edge.destination, p);
        if (neighbours == Neighbours::both) needed.add(edge.source, q);
      });

  CutMetrics m;
  m.halo_rows.assign(parts, 0);
  std::int64_t held = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto v = static_cast<Vertex>(i);
    for (std::int32_t p = 0; p < partition.parts; ++p) {
      const bool need = needed.has(v, p);
      held += need || (!replicas.empty() && replicas.has(v, p)) ? 1 : 0;
      m.halo_rows[static_cast<std::size_t>(p)] += need && p != owner(v) ? 1 : 0;
    }
  }
  if (n > 0) m.replication_factor = static_cast<double>(held) / static_cast<double>(n);
  if (all > 0) m.edge_cut = static_cast<double>(cut) / static_cast<double>(all);
  m.vertex_balance = most_over_mean(vertices);
  m.edge_balance = most_over_mean(ends);
  return m;
}

}  // namespace orrery
