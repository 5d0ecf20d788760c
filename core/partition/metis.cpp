#include "core/partition/metis.hpp"

#include <fmt/core.h>
#include <metis.h>

#include <algorithm>
#include <limits>

#include "core/base/error.hpp"

namespace orrery {

Partition metis_partition(const Csr& graph, int parts, std::uint64_t seed) {
  Partition result{parts, std::vector<std::int32_t>(static_cast<std::size_t>(graph.rows), 0)};
  if (parts == 1 || graph.rows == 0) return result;
  const Csr both = is_symmetric(graph) ? graph : symmetrise(graph);
  if (both.nnz() > std::numeric_limits<idx_t>::max())
    throw Error(fmt::format("metis: {} adjacency entries exceed its 32-bit indices", both.nnz()));
  std::vector<idx_t> offsets{0}, columns, weights;
  columns.reserve(both.columns.size());
  for (std::int64_t v = 0; v < both.rows; ++v) {
    for (const Vertex u : both.row(v))
      if (u != v) columns.push_back(u);
    offsets.push_back(static_cast<idx_t>(columns.size()));
    weights.push_back(1 + offsets.back() - offsets[offsets.size() - 2]);
  }
  idx_t n = static_cast<idx_t>(both.rows), constraints = 1, k = parts, cut = 0;
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = static_cast<idx_t>(seed % 1000000007U);
  std::vector<idx_t> owner(static_cast<std::size_t>(n));
  const int status =
      METIS_PartGraphKway(&n, &constraints, offsets.data(), columns.data(), weights.data(), nullptr,
                          nullptr, &k, nullptr, nullptr, options, &cut, owner.data());
  if (status != METIS_OK)
    throw Error(
        fmt::format("metis: partitioning into {} parts failed with status {}", parts, status));
  std::copy(owner.begin(), owner.end(), result.owner.begin());
  return result;
}

}  // namespace orrery
