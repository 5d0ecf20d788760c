// A random share of a rank's halo (BNS-GCN): which rows of other ranks it receives in an epoch.
#pragma once

#include "core/strategy/structure/halo_structure.hpp"

namespace orrery {

/// The probability that a distinct halo row is kept, and the key of the draws.
struct BoundarySampling {
  double rate = 1;  ///< in (0, 1]
  std::uint64_t seed = 0;
};

/// The part with the epoch's sample as its halo. Every row that travels between two ranks is kept
/// with probability `rate`. The values of its columns are scaled by 1 / rate, so that the mean of
/// each product and its adjoint is exact. Both ends draw the same without a message: the k-th row
/// from one rank to another is kept if the number drawn for (epoch, sender, receiver, k) is below
/// the rate. `own_block` is that of `whole`.
///
/// Shapes    index: of this rank in the group
/// Source    Wan et al. 2022, BNS-GCN
/// Departs   its code keeps exactly ⌊rate·n⌋ of the n rows of a pair of ranks, which receiver and
///           sender tell each other in every epoch, and scales by n / ⌊rate·n⌋
HaloStructure sample_boundary(const HaloStructure& whole, const BoundarySampling& sampling,
                              int epoch, int index);

}  // namespace orrery
