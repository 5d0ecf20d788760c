// Which rank owns which vertex.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/graph/csr.hpp"
#include "core/graph/edge_list.hpp"

namespace orrery {

/// owner[v] in [0, parts) for every vertex; parts may be empty.
///
/// Placement every rank holds the owner of every vertex
struct Partition {
  int parts = 1;
  std::vector<std::int32_t> owner;
  /// The edges of each part of an edge partitioner, if they were asked for (cut_into_fragments).
  std::shared_ptr<const std::vector<std::vector<Edge>>> fragments = nullptr;

  /// The vertices of every part, in ascending order.
  std::vector<std::vector<Vertex>> members() const;
};

/// Directed edges between different parts / all edges.
double edge_cut(const Csr& graph, const Partition& partition);

/// Vertices that the parts hold with complete neighbourhoods (own ones and in-neighbours) / all:
/// Σ_p |owned_p ∪ N(owned_p)| / |V|.
///
/// Source    CATGNN 5.2
double replication_factor(const Csr& graph, const Partition& partition);

/// Largest part / mean part, in vertices.
double balance(const Partition& partition);

}  // namespace orrery
