// Moves vertices of a cut to their neighbours, by more passes over the edges.
#pragma once

#include "core/partition/edges/edge_stream.hpp"
#include "core/partition/partition.hpp"

namespace orrery {

struct RefineOptions {
  int rounds = 1;
  double balance = 1.05;  ///< β: no part grows beyond β·n/k vertices
};

struct RefineResult {
  int rounds = 0;           ///< rounds that were kept
  std::int64_t before = 0;  ///< vertices that the parts held with complete neighbourhoods
  std::int64_t after = 0;   ///< and hold now
};

/// Label propagation under a bound. A round is three passes. The first elects for each vertex v
/// another part than its own by majority vote among its neighbours there (Boyer and Moore: one
/// candidate and one counter). The second counts the neighbours of v there and in its own part.
/// Each neighbour u is weighted 1/d(u), because one of few edges spares a replica where one of many
/// does not. Then vertices move in descending order of their gain, as long as parts stay within the
/// bound: in even rounds to parts with higher numbers, in odd ones to lower, so that two neighbours
/// never swap. The third pass counts what the parts hold. A round that does not lower that is
/// undone; two such rounds in a row end it. If parts exceed the bound at the start, vertices may
/// leave them at a loss, and the round is kept if the parts are closer to the bound. Only then may
/// replication grow.
///
/// Cost      3·rounds passes and O(n log n) for each; 32 + k/8 bytes per vertex with the cut
/// Source    Ugander, Backstrom 2013 (label propagation under a balance); Boyer, Moore 1981 (the
///           vote)
/// Departs   ours: the paper of SPRING ends with its schedule
RefineResult refine_cut(EdgeStream& edges, Partition& cut, const RefineOptions& options);

}  // namespace orrery
