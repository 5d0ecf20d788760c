// Moves vertices of a cut to where their neighbours are, by more passes over the edges.
#pragma once

#include "core/partition/edges/edge_stream.hpp"
#include "core/partition/partition.hpp"

namespace orrery {

struct RefineOptions {
  int rounds = 1;
  double balance = 1.05;  ///< β: no part grows beyond β·n/k vertices
};

struct RefineResult {
  int rounds = 0;           ///< that were kept
  std::int64_t before = 0;  ///< vertices that the parts held with complete neighbourhoods
  std::int64_t after = 0;   ///< and hold now
};

/// Label propagation under a bound. A round is three passes: the first elects for each vertex v a
/// part other than its own by majority vote among its neighbours there (Boyer and Moore: one
/// candidate and one counter); the second counts the neighbours of v there and in its own part,
/// each neighbour u weighted 1/d(u), because one of few edges spares a replica where one of many
/// does not; then vertices move in descending order of what they gain, in even rounds to parts of
/// higher numbers, in odd ones to lower (two neighbours never swap), as long as parts stay within
/// the bound; the third counts what the parts hold. A round that does not lower that is undone, and
/// two of them in a row end it. Where parts are beyond the bound to begin with, vertices leave them
/// for less than nothing, and the round is kept if they are closer to it: only then may replication
/// grow.
///
/// Cost      3·rounds passes and O(n log n) for each; 32 + k/8 bytes per vertex with the cut
/// Source    Ugander, Backstrom 2013 (label propagation under a balance); Boyer, Moore 1981 (the
///           vote)
/// Departs   ours: the paper of SPRING ends with its schedule
RefineResult refine_cut(EdgeStream& edges, Partition& cut, const RefineOptions& options);

}  // namespace orrery
