// The output of `orrery dataset sharing`.
#pragma once

#include "core/graph/dataset.hpp"
#include "core/inference/sharing/network_sharing.hpp"

namespace orrery {

/// Sizes as shares of the vertices.
struct SharingShares {
  /// targets of a batch of DGI: the size that fits for ogbn-products, according to Deal
  double merged = 0.06;
  double cached = 0.1;  ///< input rows that SALIENT++ keeps
};

/// Counts and prints, for people or as JSON, how much of the sharing of all targets' ego networks
/// each system has; `settings` without the two sizes, which `shares` gives.
///
/// Errors    ConfigError: a share outside its range; as network_sharing()
void report_sharing(const Dataset& dataset, SharingSettings settings, const SharingShares& shares,
                    bool json);

}  // namespace orrery
