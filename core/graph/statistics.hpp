// Statistics of a data set before training.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/graph/dataset.hpp"

namespace orrery {

struct DegreeStatistics {
  std::int64_t min = 0, max = 0, median = 0, p90 = 0, p99 = 0;
  double mean = 0;
  double skewness = 0;  ///< third standardised moment; 0 for a symmetric distribution
};

struct DatasetStatistics {
  std::int64_t vertices = 0, edges = 0, self_loops = 0;
  bool symmetric = false;
  std::int64_t isolated = 0;  ///< vertices without an edge to or from another vertex
  std::int64_t components = 0, largest_component = 0;  ///< weakly connected
  DegreeStatistics in_degree, out_degree;              ///< self-loops included
  /// Share of wedges (paths of two edges, directions ignored) that are closed; estimated from
  /// `sampled_wedges` random wedges, absent if there are none.
  std::optional<double> clustering;
  std::int64_t sampled_wedges = 0;
  std::vector<std::int64_t> label_counts;  ///< [classes]; multi-label: vertices that have the label
  std::int64_t unlabelled = 0;
  /// Share of edges between equal labels, among edges (no self-loops) between labelled vertices;
  /// absent without single labels.
  std::optional<double> homophily;
  std::array<std::int64_t, 4> split_counts{};  ///< train, validation, test, none
};

/// Counts everything; deterministic (the wedges are drawn with a fixed seed).
///
/// Cost      some passes over the edges; a symmetrised copy of a directed graph
DatasetStatistics dataset_statistics(const Dataset& dataset);

}  // namespace orrery
