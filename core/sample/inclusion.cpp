#include "core/sample/inclusion.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/index.hpp"
#include "core/sample/neighbour_sampler.hpp"

namespace orrery {

std::vector<double> inclusion_chances(const Csr& graph, std::span<const int> fanouts,
                                      std::vector<double> seeds) {
  std::vector<double> chance = std::move(seeds), missed(chance.size());
  for (const int fanout : fanouts) {
    for (std::size_t v = 0; v < chance.size(); ++v) missed[v] = std::log1p(-chance[v]);
    for (std::int64_t v = 0; v < graph.rows; ++v) {
      const auto row = graph.row(v);
      if (chance[at(v)] == 0 || row.empty()) continue;
      const double drawn =
          fanout == kAllNeighbours
              ? 1
              : std::min(1.0, static_cast<double>(fanout) / static_cast<double>(row.size()));
      const double missed_by_v = std::log1p(-drawn * chance[at(v)]);
      for (const Vertex u : row) missed[at(u)] += missed_by_v;
    }
    for (std::size_t v = 0; v < chance.size(); ++v) chance[v] = -std::expm1(missed[v]);
  }
  return chance;
}

}  // namespace orrery
