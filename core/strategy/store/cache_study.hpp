// The share that caches of every policy and size would hold of the rows that sampled training
// pulls, from one record of its batches.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/strategy/store/access_trace.hpp"
#include "core/strategy/structure/sampled_batches.hpp"

namespace orrery {

/// Sums over all ranks and recorded epochs.
///
/// Shapes    [requested sizes] each
struct CacheStudy {
  struct Policy {
    std::string name;  ///< as in the key strategy.cache.policy
    std::vector<std::int64_t> hits;
    std::vector<std::int64_t> rows_kept;  ///< rows that are fetched once, before the first batch
  };
  int epochs = 0;                  ///< that some of the batches are of
  std::int64_t batches = 0;        ///< summed over all ranks
  std::int64_t requests = 0;       ///< requested rows of other ranks, each once per batch
  std::int64_t distinct = 0;       ///< distinct rows of each rank, summed over ranks
  std::vector<std::int64_t> rows;  ///< rows that a rank can keep
  std::vector<Policy> policies;    ///< policies that suit these batches
  std::vector<std::int64_t> most;  ///< hits that no policy exceeds
};

/// Asks every policy for what `trace` says of each rank. Ranks are processed one after the other, so
/// memory holds the requests of one.
///
/// Shapes    rows: ascending
/// Errors    those of `trace`
CacheStudy study_caches(const SampledBatches& batches, int ranks,
                        const std::vector<std::int64_t>& rows,
                        const std::function<AccessTrace(int rank)>& trace);

}  // namespace orrery
