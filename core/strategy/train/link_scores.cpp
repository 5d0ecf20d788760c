#include "core/strategy/train/link_scores.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery {
namespace {

/// The chance that one of `links` is above one of `others`.
double chance_above(std::span<const float> links, std::span<const float> others) {
  std::vector<float> sorted(others.begin(), others.end());
  std::sort(sorted.begin(), sorted.end());
  double below = 0;
  for (const float score : links) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), score);
    below += static_cast<double>(first - sorted.begin()) + static_cast<double>(last - first) / 2;
  }
  return below / static_cast<double>(links.size()) / static_cast<double>(others.size());
}

}  // namespace

LinkScores link_scores(std::span<const float> links, std::span<const float> negatives,
                       const std::vector<int>& hits) {
  ORRERY_ASSERT(!links.empty() && !negatives.empty() && negatives.size() % links.size() == 0);
  const std::size_t each = negatives.size() / links.size();
  const auto n = static_cast<double>(links.size());
  LinkScores scores;
  scores.auc = chance_above(links, negatives);
  scores.hits.assign(hits.size(), 0);
  for (std::size_t i = 0; i < links.size(); ++i) {
    std::int64_t above = 0, equal = 0;
    for (const float other : negatives.subspan(i * each, each)) {
      above += other > links[i] ? 1 : 0;
      equal += other == links[i] ? 1 : 0;
    }
    const double rank = 1 + static_cast<double>(above) + static_cast<double>(equal) / 2;
    scores.mrr += 1 / rank / n;
    for (std::size_t k = 0; k < hits.size(); ++k) scores.hits[k] += rank <= hits[k] ? 1 / n : 0;
  }
  return scores;
}

}  // namespace orrery
