// Which batches a simulation draws: the first ones of a run. Later steps take those of one of them.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace orrery {

/// A bootstrap over whole steps: a step takes the batches that all ranks have in one that was drawn, so
/// what belongs together stays together (blocks, rows of each owner, hits of a cache, pairs of links).
///
/// Source    Efron, "Bootstrap methods: another look at the jackknife" (1979)
class ResampledSteps {
 public:
  /// A step of an epoch.
  struct Step {
    int epoch = 0, number = 0;
    auto operator<=>(const Step&) const = default;
  };

  /// `drawn`: steps of each kind that are drawn, the first of the run; 0: all. Steps of one kind differ
  /// by chance alone.
  ///
  /// Shapes    kinds: [steps of an epoch], alike in all epochs
  ResampledSteps(int drawn, const std::vector<std::int64_t>& kinds, std::uint64_t seed);

  /// The step whose batches a step has: itself if it is drawn. A function of the seed and the step.
  Step of(const Step& step) const;
  bool all_drawn() const { return drawn_ == 0; }

 private:
  int drawn_;
  std::uint64_t seed_;
  std::vector<int> place_;  ///< of each step among those of its kind in an epoch
  std::vector<std::int64_t> kinds_;
  std::map<std::int64_t, std::vector<int>> steps_of_;  ///< of each kind
};

}  // namespace orrery
