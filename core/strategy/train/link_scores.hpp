// How well scores tell links from pairs that are no links.
#pragma once

#include <span>
#include <vector>

#include "core/runtime/body.hpp"

namespace orrery {

/// Shapes    links [n], negatives [n · per_link], those of a link one after the other
/// Requires  n >= 1, per_link >= 1
/// Cost      a sort of all scores
/// Source    AUC by ranks: Mann and Whitney 1947; MRR and Hits@k of a link among its own pairs, ties
///           in their middle: Hu et al. 2020, OGB's evaluator
LinkScores link_scores(std::span<const float> links, std::span<const float> negatives,
                       const std::vector<int>& hits);

}  // namespace orrery
