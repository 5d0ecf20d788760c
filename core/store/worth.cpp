#include "core/store/worth.hpp"

#include <algorithm>

#include "core/base/index.hpp"

namespace orrery {

std::vector<double> inclusion_probabilities(const Csr& graph, std::span<const double> seeds,
                                            std::span<const int> fanouts) {
  std::vector<double> within(seeds.begin(), seeds.end());
  std::vector<double> missed(within.size());
  for (const int fanout : fanouts) {
    for (std::size_t u = 0; u < within.size(); ++u) missed[u] = 1 - within[u];
    for (Vertex v = 0; v < graph.rows; ++v) {
      const auto degree = static_cast<double>(graph.degree(v));
      const double drawn = fanout < 0 || degree <= fanout ? 1 : fanout / degree;
      const double by_v = drawn * within[at(v)];
      if (by_v == 0) continue;
      for (const Vertex u : graph.row(v)) missed[at(u)] *= 1 - by_v;
    }
    for (std::size_t u = 0; u < within.size(); ++u) within[u] = 1 - missed[u];
  }
  return within;
}

std::vector<Vertex> worthiest(std::span<const double> worth,
                              const std::function<bool(Vertex)>& is_candidate, std::int64_t most) {
  std::vector<Vertex> rows;
  for (Vertex v = 0; v < static_cast<Vertex>(worth.size()); ++v)
    if (worth[at(v)] > 0 && is_candidate(v)) rows.push_back(v);
  const auto kept = std::min(std::ssize(rows), std::max<std::int64_t>(most, 0));
  std::partial_sort(rows.begin(), rows.begin() + kept, rows.end(), [&](Vertex a, Vertex b) {
    return worth[at(a)] != worth[at(b)] ? worth[at(a)] > worth[at(b)] : a < b;
  });
  rows.resize(at(kept));
  return rows;
}

}  // namespace orrery
