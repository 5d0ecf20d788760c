// A partitioner from outside: it takes the vertices in breadth-first order and cuts them into runs
// of equal work.
//
// Neighbours are close together in that order, so most edges stay within a run; the order costs one
// pass over the edges. `degree_weight` defines work: 0 cuts into equally many vertices, 1 into
// equal numbers of vertices and edges together.
#include "core/base/index.hpp"
#include "core/graph/reorder.hpp"
#include "core/partition/methods/partitioner.hpp"

namespace {

using namespace orrery;

const MethodParameter kDegreeWeight = number_parameter(
    "degree_weight", {.fallback = 1,
                      .least = 0,
                      .most = 1000,
                      .description = "work of a vertex is 1 and so much for each of its in-edges"});

/// A run ends where its share of the work is reached, so no run has more than its share and one
/// vertex.
Partition cut(const Csr& graph, int parts, const PartitionOptions& options,
              std::span<const Split>) {
  const double weight = number_of(kDegreeWeight, options);
  const double all = static_cast<double>(graph.rows) + weight * static_cast<double>(graph.nnz());
  Partition result{parts, std::vector<std::int32_t>(at(graph.rows))};
  double before = 0;
  for (const Vertex v : vertex_order(graph, "bfs")) {
    const double work = 1 + weight * static_cast<double>(graph.degree(v));
    result.owner[at(v)] = static_cast<std::int32_t>((before + work / 2) / all * parts);
    before += work;
  }
  return result;
}

const AddPartitioner added({.name = "bfs_chunks",
                            .description = "runs of equal work in breadth-first order",
                            .assigns = Assigns::vertices,
                            .parameters = {kDegreeWeight},
                            .cut = cut});

}  // namespace
