// What caches of every policy and size would have of the rows that sampled training pulls, from one
// record of its batches.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/strategy/structure/sampled_batches.hpp"

namespace orrery {

/// Sums over all ranks and recorded epochs.
///
/// Shapes    [sizes that were asked for] each
struct CacheStudy {
  struct Policy {
    std::string name;  ///< as the key strategy.cache.policy has it
    std::vector<std::int64_t> hits;
    std::vector<std::int64_t> rows_kept;  ///< that are fetched once, before the first batch
  };
  int epochs = 0;
  std::int64_t batches = 0;        ///< of all ranks
  std::int64_t requests = 0;       ///< rows of other ranks, each once a batch
  std::int64_t distinct = 0;       ///< of them, those of each rank
  std::vector<std::int64_t> rows;  ///< that a rank can keep
  std::vector<Policy> policies;    ///< those there are for these batches
  std::vector<std::int64_t> most;  ///< hits that no policy exceeds
};

/// Draws `epochs` epochs and asks every policy. The ranks are worked
/// through one after the other, so memory is for the requests of one.
///
/// Shapes    rows: ascending
/// Errors    what `tell`, which is told which rank is being worked on, throws
CacheStudy study_caches(const SampledBatches& batches, int ranks, int epochs,
                        const std::vector<std::int64_t>& rows,
                        const std::function<void(int rank)>& tell);

}  // namespace orrery
