// Shared by edge partitioners: which parts hold a vertex, how many edges each part has, and a hash.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/base/index.hpp"
#include "core/partition/methods/streaming.hpp"

namespace orrery {

/// A part for a vertex, the same in every pass: splitmix64's finaliser, mapped to [0, parts).
inline std::int32_t hashed_part(Vertex v, int parts, std::uint64_t seed) {
  std::uint64_t x = static_cast<std::uint32_t>(v) + 0x9e3779b97f4a7c15U * (seed + 1);
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  x ^= x >> 31U;
  return static_cast<std::int32_t>(((x >> 32U) * static_cast<std::uint64_t>(parts)) >> 32U);
}

/// The parts of an edge partitioner while edges arrive.
class EdgeAssignment {
 public:
  /// No part may have more than `balance` times the mean of `edges`. `sink`, if set, is called with
  /// every edge and must outlive this.
  EdgeAssignment(std::int64_t vertices, int parts, std::int64_t edges, double balance,
                 const EdgeSink& sink)
      : replicas(vertices, parts),
        load(static_cast<std::size_t>(parts)),
        most_(std::max(
            static_cast<std::int64_t>(std::ceil(balance * static_cast<double>(edges) / parts)),
            (edges + parts - 1) / parts)),
        sink_(sink) {}

  int parts() const { return static_cast<int>(load.size()); }
  bool full(std::int32_t part) const { return load[at(part)] >= most_; }
  void assign(const Edge& edge, std::int32_t part) {
    if (sink_) sink_(edge, part);
    ++load[at(part)];
    replicas.add(edge.source, part);
    replicas.add(edge.destination, part);
  }
  /// The least loaded part that is not full and that `wanted` accepts; -1: none.
  template <class Wanted>
  std::int32_t least_loaded(const Wanted& wanted) const {
    std::int32_t best = -1;
    for (std::int32_t p = 0; p < parts(); ++p)
      if (!full(p) && wanted(p) && (best < 0 || load[at(p)] < load[at(best)])) best = p;
    return best;
  }
  std::int32_t least_loaded() const {
    return least_loaded([](std::int32_t) { return true; });
  }
  void fetch(const Edge& edge) const {
    replicas.fetch(edge.source);
    replicas.fetch(edge.destination);
  }
  StreamCut cut(std::int64_t vertices, std::uint64_t seed) && {
    StreamCut result;
    result.partition = draw_owners(replicas, vertices, parts(), seed);
    result.replicas = std::move(replicas);
    result.part_edges = std::move(load);
    return result;
  }

  Replicas replicas;
  std::vector<std::int64_t> load;  ///< edges of each part

 private:
  std::int64_t most_;
  const EdgeSink& sink_;
};

}  // namespace orrery
