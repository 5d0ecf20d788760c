// How much of the common work of ego networks different systems do only once.
//
// The value of a vertex at a level (0: the input row, which is fetched; 1 to L − 1: the output of a
// layer) is used by every target whose ego network of L hops contains it. A system without sharing
// makes it once for each of them. The draws of a vertex in a layer are the same for all targets and
// systems, so only the sharing differs.
//
//   Deal       makes every value once: all targets are one batch
//   DGI        merges the ego networks of a batch, as large as memory allows: once a batch
//   DistDGL    the same with the small batches of a training
//   P3         level 0 once for all, all others once a target
//   SALIENT++  DistDGL's batches, and the input rows most likely to be asked for (vertex inclusion
//              probabilities) are kept: these are made once for all
//
// Source    Deal section 4.2, Table 5 and Figure 5, whose text gives no formula: what is saved of Σ over
//           targets, divided by what Deal saves, is ours
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/csr.hpp"

namespace orrery {

struct SharingSettings {
  /// for each layer, the first at the targets; like those of a sampler
  std::vector<int> fanouts;
  std::int64_t merged = 1;       ///< targets of a batch that DGI merges
  std::int64_t batch = 1024;     ///< targets of a small batch
  std::int64_t cached = 0;       ///< input rows that SALIENT++ keeps
  std::string order = "random";  ///< random | contiguous | bfs: the order of the targets
  std::int64_t networks = 1000;  ///< the most targets whose own networks are counted
  std::int64_t batches = 40;     ///< the most batches of a kind that are counted
  std::uint64_t seed = 0;
};

struct NetworkSharing {
  /// The values that a system makes, by level, over all targets.
  struct System {
    std::string name;
    std::vector<double> made;
  };
  std::int64_t vertices = 0;
  std::vector<double> used;       ///< by level: Σ over targets of distinct values
  std::vector<System> systems;    ///< Deal first
  bool networks_counted = false;  ///< of all targets; else of some drawn ones, scaled up
  bool batches_counted = false;   ///< all of every kind; likewise

  /// For a level, the saving of the system relative to Deal's; empty: nothing can be saved.
  std::optional<double> ratio(const System& system, int level) const;
  /// For all levels together.
  std::optional<double> ratio(const System& system) const;
  /// The mean over the levels in which something can be saved: each counts alike, whatever its
  /// size.
  std::optional<double> mean_ratio(const System& system) const;
};

/// Counts them for all vertices as targets.
///
/// Requires  a square graph
/// Cost      samples this many networks and batches; each thread holds one of them
/// Errors    ConfigError: fanouts as of NeighbourSampler, an unknown order, batches or counts
///           below 1, no vertices
NetworkSharing network_sharing(const Csr& graph, const SharingSettings& settings);

}  // namespace orrery
