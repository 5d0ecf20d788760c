// The probability that a vertex is in a batch, without drawing one.
#pragma once

#include <span>
#include <vector>

#include "core/graph/csr.hpp"

namespace orrery {

/// The probability of each vertex to be in a batch of sampled neighbours, as if the draws of
/// different vertices were independent. `fanouts` as in NeighbourSampling.
///
/// Shapes    seeds [|V|]: the chance of each vertex to be a seed of the batch · the result [|V|]
/// Cost      a pass over the edges for each layer
/// Source    Kaler et al. 2023, SALIENT++, 3.2 (vertex inclusion probabilities)
/// Departs   a vertex that was met draws again on all deeper levels, as NeighbourSampler's do
std::vector<double> inclusion_chances(const Csr& graph, std::span<const int> fanouts,
                                      std::vector<double> seeds);

}  // namespace orrery
