// What `orrery dataset sharing` says.
#pragma once

#include "core/graph/dataset.hpp"
#include "core/inference/sharing/network_sharing.hpp"

namespace orrery {

/// Sizes as shares of the vertices.
struct SharingShares {
  double merged = 0.06;  ///< targets of a batch of DGI: what Deal says fits for ogbn-products
  double cached = 0.1;   ///< input rows that SALIENT++ keeps
};

/// Counts and prints, for people or as JSON, how much of the sharing of all targets' ego networks each
/// system has; `settings` without the two sizes, which `shares` say.
///
/// Errors    ConfigError: a share outside of what it may be; as network_sharing()
void report_sharing(const Dataset& dataset, SharingSettings settings, const SharingShares& shares,
                    bool json);

}  // namespace orrery
