#include "core/strategy/store/cache_study.hpp"

#include <algorithm>
#include <set>

#include "core/base/index.hpp"
#include "core/sample/cache/row_reuse.hpp"

namespace orrery {
namespace {

std::int64_t hits_of_clock(const AccessTrace& requests, std::int64_t vertices, std::int64_t rows) {
  if (rows == 0) return 0;
  RowCache cache = RowCache::clock(vertices, rows);
  for (std::size_t i = 0; i < requests.batches.size(); ++i) cache.ask(requests.of(i));
  return cache.hits();
}

/// The hits of a cache with this many rows; the curve knows the numbers that can differ.
std::int64_t hits_at(const std::vector<std::int64_t>& curve, std::int64_t rows) {
  return curve[std::min(at(rows), curve.size() - 1)];
}

}  // namespace

CacheStudy study_caches(const SampledBatches& batches, int ranks,
                        const std::vector<std::int64_t>& rows,
                        const std::function<AccessTrace(int rank)>& trace) {
  CacheStudy study;
  std::set<int> epochs;
  study.rows = rows;
  study.most.assign(rows.size(), 0);
  std::vector<CachePolicy> policies;
  for (const auto& [name, policy] : kCachePolicies) {
    if (policy == CachePolicy::vip && !batches.knows_chances()) continue;
    policies.push_back(policy);
    study.policies.push_back({std::string(name), study.most, study.most});
  }
  const auto vertices = std::ssize(batches.owners().owner);
  for (int rank = 0; rank < ranks; ++rank) {
    const AccessTrace requests = trace(rank);
    for (const AccessTrace::Batch& batch : requests.batches) epochs.insert(batch.step.epoch);
    study.batches += std::ssize(requests.batches);
    const std::vector<std::int64_t> recent = lru_hits(requests.rows, vertices);
    study.requests += std::ssize(requests.rows);
    study.distinct += std::ssize(recent) - 1;
    for (std::size_t p = 0; p < policies.size(); ++p) {
      CacheStudy::Policy& policy = study.policies[p];
      std::vector<std::int64_t> fixed;
      if (!keeps_recent(policies[p]))
        fixed = fixed_hits(requests.rows, vertices, batches.ranking(rank, policies[p]));
      for (std::size_t s = 0; s < rows.size(); ++s)
        if (policies[p] == CachePolicy::lru) {
          policy.hits[s] += hits_at(recent, rows[s]);
        } else if (policies[p] == CachePolicy::clock) {
          policy.hits[s] += hits_of_clock(requests, vertices, rows[s]);
        } else {
          policy.hits[s] += hits_at(fixed, rows[s]);
          policy.rows_kept[s] += std::min(rows[s], std::ssize(fixed) - 1);
        }
    }
    for (std::size_t s = 0; s < rows.size(); ++s)
      study.most[s] += most_hits(requests.rows, vertices, rows[s]);
  }
  study.epochs = static_cast<int>(epochs.size());
  return study;
}

}  // namespace orrery
