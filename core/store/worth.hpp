// Which rows are worth keeping: how often batches need them, computed or counted.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/graph/csr.hpp"

namespace orrery {

/// The probability that a batch needs the input row of each vertex, if the draws of its layers were
/// independent: with P₀ the probability to be a seed,
///   Pₕ(u) = 1 − (1 − Pₕ₋₁(u)) · Π over v with u ∈ N(v) of (1 − min(1, fₕ/d(v)) · Pₕ₋₁(v)),
/// because a vertex that is in a batch stays in it and draws again in the next layer.
///
/// Shapes    seeds [rows], in [0, 1] · fanouts: the first at the seeds, −1 = all · result [rows]
/// Cost      one pass over the edges per layer
/// Source    Kaler et al. 2023, SALIENT++, Proposition 1 (there for layers apart)
std::vector<double> inclusion_probabilities(const Csr& graph, std::span<const double> seeds,
                                            std::span<const int> fanouts);

/// At most `most` rows of positive worth among the candidates, the worthiest first; of equal worth
/// the lower number first.
///
/// Shapes    worth [vertices]
std::vector<Vertex> worthiest(std::span<const double> worth,
                              const std::function<bool(Vertex)>& is_candidate, std::int64_t most);

}  // namespace orrery
