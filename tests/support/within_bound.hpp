// The bound of the memory of batches holds in real runs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "core/base/index.hpp"
#include "core/strategy/train/record.hpp"
#include "tests/support/problems.hpp"

namespace orrery::testing {

/// On every rank a run takes no more device and pinned memory, as the allocator counts it, than it
/// would with the largest batches. On the largest rank that is at most `times` what the run takes.
/// Drawn batches take no more host memory than the bound says.
inline void expect_within_bound(const Problem& problem,
                                double times = std::numeric_limits<double>::infinity()) {
  const auto strategy = make_strategy(problem);
  const auto largest = strategy->with_largest_batches();
  ASSERT_NE(largest, nullptr);
  const auto bound = record_training(*largest, problem, 1, {});
  const Outcome real = execute_on_threads(TrainingBody(*strategy, problem), watched("cpu"), {});
  ASSERT_EQ(real.ranks.size(), bound.size());
  std::int64_t peak = 0, most = 0;
  for (std::size_t r = 0; r < bound.size(); ++r) {
    EXPECT_LE(real.ranks[r].peak_bytes, bound[r].peak_bytes[at(Space::device)]) << "rank " << r;
    EXPECT_LE(real.ranks[r].pinned_peak_bytes, bound[r].peak_bytes[at(Space::pinned_host)])
        << "rank " << r;
    peak = std::max(peak, real.ranks[r].peak_bytes);
    most = std::max(most, bound[r].peak_bytes[at(Space::device)]);
  }
  EXPECT_LE(static_cast<double>(most), times * static_cast<double>(peak));

  const BatchSizes sizes = *strategy->batch_sizes();
  EXPECT_GT(sizes.host_bytes.most, 0);
  EXPECT_LE(sizes.host_bytes.most, sizes.host_bytes.bound);
  EXPECT_LE(sizes.shared_host_bytes.most, sizes.shared_host_bytes.bound);
  for (const auto* list : {&sizes.vertices, &sizes.edges})
    for (const BatchSizes::Size& size : *list) EXPECT_LE(size.most, size.bound);
}

/// The same graph in which all vertices are trained on.
inline std::shared_ptr<const Dataset> all_trained(const std::shared_ptr<const Dataset>& data) {
  auto made = std::make_shared<Dataset>(*data);
  std::fill(made->split.begin(), made->split.end(), Split::train);
  return made;
}

}  // namespace orrery::testing
