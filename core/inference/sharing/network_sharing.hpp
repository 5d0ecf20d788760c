// How much of what ego networks have in common different systems compute once.
//
// The value of a vertex at a level (0: the input row, which is fetched; 1 to L − 1: what a layer makes of
// it) is used by every target in whose ego network of L hops it is. A system that shares nothing makes it
// once for each of them. What is drawn of a vertex in a layer is the same for all targets and systems, so
// that only the sharing differs.
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
  std::vector<int> fanouts;      ///< of each layer, the first at the targets; as of a sampler
  std::int64_t merged = 1;       ///< targets of a batch that DGI merges
  std::int64_t batch = 1024;     ///< targets of a small batch
  std::int64_t cached = 0;       ///< input rows that SALIENT++ keeps
  std::string order = "random";  ///< random | contiguous | bfs: which targets follow each other
  std::int64_t networks = 1000;  ///< so many targets' own networks are counted, at most
  std::int64_t batches = 40;     ///< so many batches of a kind are counted, at most
  std::uint64_t seed = 0;
};

struct NetworkSharing {
  /// What a system makes, by level, over all targets.
  struct System {
    std::string name;
    std::vector<double> made;
  };
  std::int64_t vertices = 0;
  std::vector<double> used;       ///< by level: Σ over targets of distinct values
  std::vector<System> systems;    ///< Deal first
  bool networks_counted = false;  ///< of all targets; else of some, drawn, and scaled up
  bool batches_counted = false;   ///< all of every kind; likewise

  /// Of a level, what the system saves in units of what Deal does; nothing: nothing can be saved.
  std::optional<double> ratio(const System& system, int level) const;
  /// Of all levels together.
  std::optional<double> ratio(const System& system) const;
  /// The mean over the levels in which something can be saved: each counts alike, however large.
  std::optional<double> mean_ratio(const System& system) const;
};

/// Counts them for all vertices as targets.
///
/// Requires  a square graph
/// Cost      samples so many networks and batches; memory of one of them a thread
/// Errors    ConfigError: fanouts as of NeighbourSampler, an order that there is not, batches or counts
///           below 1, no vertices
NetworkSharing network_sharing(const Csr& graph, const SharingSettings& settings);

}  // namespace orrery
