// The largest mini-batches whose memory an experiment's cluster has.
#pragma once

#include "core/strategy/structure/problem.hpp"
#include "experiments/config/experiment.hpp"

namespace orrery {

/// The largest strategy.batch that fits into the device memory of every rank, and into host memory as
/// far as the cluster says how much there is. BatchFit::any: of any batch, by bounds and without
/// drawing (but for what a cache of presampled rows draws). BatchFit::drawn: of all batches that the
/// run draws; without training, that a simulation or a plan draws. At most the number with which an
/// epoch is one step.
///
/// Departs   drawn: the result fits and one seed more does not; but memory grows with the number of
///           seeds only on the whole, so that a larger number might fit by chance
/// Cost      a recording of a few steps of all ranks for every tried number, of which there are about
///           log2(most seeds). Drawn: also all batches of two epochs for as many numbers, and of all
///           epochs for some; those that do not fit end with the first batch that is too large
/// Errors    ConfigError: the device memory is not known; not even one seed fits, by how much and what
///           would help; batches that the strategy cannot make
std::int64_t largest_batch(const Experiment& experiment, const Problem& problem);

}  // namespace orrery
