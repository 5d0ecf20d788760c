#include "core/partition/metrics.hpp"

#include <algorithm>
#include <numeric>

#include "core/base/index.hpp"

namespace orrery {
namespace {

double most_over_mean(const std::vector<std::int64_t>& loads) {
  const auto sum = std::accumulate(loads.begin(), loads.end(), std::int64_t{0});
  if (sum == 0) return 1;
  return static_cast<double>(*std::max_element(loads.begin(), loads.end())) /
         (static_cast<double>(sum) / static_cast<double>(loads.size()));
}

/// What each part holds after adding the neighbours of what it held.
Replicas one_hop_more(EdgeStream& edges, const Replicas& held, Neighbours neighbours) {
  Replicas more = held;
  for_each_edge(
      edges,
      [&](const Edge& edge) {
        more.fetch(edge.source);
        more.fetch(edge.destination);
      },
      [&](const Edge& edge) {
        more.add_all(edge.destination, held, edge.source);
        if (neighbours == Neighbours::both) more.add_all(edge.source, held, edge.destination);
      });
  return more;
}

/// Vertices that each part holds.
std::vector<std::int64_t> rows_of(const Replicas& held, std::int64_t vertices, int parts) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(parts));
  for (std::int64_t v = 0; v < vertices; ++v)
    for (std::int32_t p = 0; p < parts; ++p)
      rows[at(p)] += held.has(static_cast<Vertex>(v), p) ? 1 : 0;
  return rows;
}

/// Vertices that the parts hold with complete neighbourhoods, including replicas.
std::int64_t copies(const Replicas& held, const Replicas& replicas, std::int64_t vertices,
                    int parts) {
  if (replicas.empty()) return held.total();
  std::int64_t sum = 0;
  for (std::int64_t v = 0; v < vertices; ++v)
    for (std::int32_t p = 0; p < parts; ++p)
      sum += held.has(static_cast<Vertex>(v), p) || replicas.has(static_cast<Vertex>(v), p) ? 1 : 0;
  return sum;
}

}  // namespace

CutMetrics measure_cut(EdgeStream& edges, const Partition& partition, const Replicas& replicas,
                       Neighbours neighbours, int hops) {
  const auto parts = static_cast<std::size_t>(partition.parts);
  const auto n = static_cast<std::int64_t>(partition.owner.size());
  const auto owner = [&](Vertex v) { return partition.owner[at(v)]; };
  Replicas held(n, partition.parts);
  std::vector<std::int64_t> vertices(parts), ends(parts);
  for (std::int64_t v = 0; v < n; ++v) {
    held.add(static_cast<Vertex>(v), owner(static_cast<Vertex>(v)));
    ++vertices[at(owner(static_cast<Vertex>(v)))];
  }
  std::int64_t all = 0, cut = 0;
  for_each_edge(
      edges,
      [&](const Edge& edge) {
        held.fetch(edge.source);
        held.fetch(edge.destination);
      },
      [&](const Edge& edge) {
        const std::int32_t p = owner(edge.source), q = owner(edge.destination);
        ++all;
        ++ends[at(p)];
        if (neighbours == Neighbours::both) ++ends[at(q)];
        if (p == q) return;
        ++cut;
        held.add(edge.destination, p);
        if (neighbours == Neighbours::both) held.add(edge.source, q);
      });

  CutMetrics m;
  if (n > 0)
    m.replication_factor =
        static_cast<double>(copies(held, replicas, n, partition.parts)) / static_cast<double>(n);
  if (all > 0) m.edge_cut = static_cast<double>(cut) / static_cast<double>(all);
  m.vertex_balance = most_over_mean(vertices);
  m.edge_balance = most_over_mean(ends);
  auto nearer = std::move(vertices);
  for (int hop = 1; hop <= hops; ++hop) {
    if (hop > 1) held = one_hop_more(edges, held, neighbours);
    auto rows = rows_of(held, n, partition.parts);
    m.halo_rows.push_back(rows);
    for (std::size_t p = 0; p < parts; ++p) m.halo_rows.back()[p] -= nearer[p];
    nearer = std::move(rows);
  }
  return m;
}

}  // namespace orrery
