#include "core/partition/metis.hpp"

#include <fmt/core.h>
#include <metis.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/base/error.hpp"

namespace orrery {
namespace {

/// K-way partition of a symmetric graph.
std::vector<std::int32_t> kway(const Csr& both, int parts, const PartitionOptions& wanted) {
  std::vector<std::int32_t> result(static_cast<std::size_t>(both.rows), 0);
  if (parts == 1 || both.rows == 0) return result;
  if (both.rows <= parts) {  // METIS wants no parts without vertices
    std::iota(result.begin(), result.end(), 0);
    return result;
  }
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
  options[METIS_OPTION_SEED] = static_cast<idx_t>(wanted.seed % 1000000007U);
  options[METIS_OPTION_OBJTYPE] = wanted.volume ? METIS_OBJTYPE_VOL : METIS_OBJTYPE_CUT;
  std::vector<idx_t> owner(static_cast<std::size_t>(n));
  const int status =
      METIS_PartGraphKway(&n, &constraints, offsets.data(), columns.data(), weights.data(), nullptr,
                          nullptr, &k, nullptr, nullptr, options, &cut, owner.data());
  if (status != METIS_OK)
    throw Error(
        fmt::format("metis: partitioning into {} parts failed with status {}", parts, status));
  std::copy(owner.begin(), owner.end(), result.begin());
  return result;
}

/// The graph among some vertices, in their order.
Csr induced(const Csr& graph, const std::vector<Vertex>& vertices, std::vector<Vertex>& number) {
  std::fill(number.begin(), number.end(), -1);
  for (std::size_t i = 0; i < vertices.size(); ++i)
    number[static_cast<std::size_t>(vertices[i])] = static_cast<Vertex>(i);
  Csr part;
  part.rows = part.cols = static_cast<std::int64_t>(vertices.size());
  for (const Vertex v : vertices) {
    for (const Vertex u : graph.row(v))
      if (number[static_cast<std::size_t>(u)] >= 0)
        part.columns.push_back(number[static_cast<std::size_t>(u)]);
    part.offsets.push_back(part.nnz());
  }
  return part;
}

}  // namespace

Partition metis_partition(const Csr& graph, int parts, const PartitionOptions& options) {
  ORRERY_ASSERT(parts % options.servers == 0);
  const Csr symmetrised = is_symmetric(graph) ? Csr{} : symmetrise(graph);
  const Csr& both = symmetrised.rows == 0 ? graph : symmetrised;
  if (options.servers == 1) return {parts, kway(both, parts, options)};
  const int each = parts / options.servers;
  const Partition servers{options.servers, kway(both, options.servers, options)};
  Partition result{parts, std::vector<std::int32_t>(servers.owner.size())};
  std::vector<Vertex> number(servers.owner.size());
  std::int32_t first = 0;
  for (const auto& vertices : servers.members()) {
    const auto inside = kway(induced(both, vertices, number), each, options);
    for (std::size_t i = 0; i < vertices.size(); ++i)
      result.owner[static_cast<std::size_t>(vertices[i])] = first + inside[i];
    first += each;
  }
  return result;
}

}  // namespace orrery
