#include "core/sample/cache/row_reuse.hpp"

#include <numeric>
#include <queue>

#include "core/base/index.hpp"

namespace orrery {
namespace {

/// Sums of ranges of numbers that change (a Fenwick tree).
class RangeSums {
 public:
  explicit RangeSums(std::size_t count) : sums_(count + 1, 0) {}
  void add(std::size_t i, std::int64_t value) {
    for (++i; i < sums_.size(); i += i & (~i + 1)) sums_[i] += value;
  }
  /// Sum of the first `count`.
  std::int64_t of_first(std::size_t count) const {
    std::int64_t sum = 0;
    for (; count > 0; count -= count & (~count + 1)) sum += sums_[count];
    return sum;
  }

 private:
  std::vector<std::int64_t> sums_;
};

constexpr std::int64_t kNever = -1;

}  // namespace

std::vector<std::int64_t> lru_hits(std::span<const Vertex> requests, std::int64_t vertices) {
  std::vector<std::int64_t> last(at(vertices), kNever);
  RangeSums latest(requests.size());  // 1 at the last request of a row so far
  std::vector<std::int64_t> hits(1, 0);
  for (std::size_t t = 0; t < requests.size(); ++t) {
    std::int64_t& before = last[at(requests[t])];
    if (before == kNever) {
      hits.push_back(0);  // one more distinct row
    } else {
      const auto distance = latest.of_first(t) - latest.of_first(at(before));
      ++hits[at(distance)];
      latest.add(at(before), -1);
    }
    latest.add(t, 1);
    before = static_cast<std::int64_t>(t);
  }
  std::partial_sum(hits.begin(), hits.end(), hits.begin());
  return hits;
}

std::vector<std::int64_t> fixed_hits(std::span<const Vertex> requests, std::int64_t vertices,
                                     std::span<const Vertex> kept) {
  std::vector<std::int64_t> times(at(vertices), 0);
  for (const Vertex v : requests) ++times[at(v)];
  std::vector<std::int64_t> hits(1, 0);
  for (const Vertex v : kept) hits.push_back(hits.back() + times[at(v)]);
  return hits;
}

std::int64_t most_hits(std::span<const Vertex> requests, std::int64_t vertices, std::int64_t rows) {
  constexpr std::size_t kNoMore = static_cast<std::size_t>(-1);
  std::vector<std::size_t> next(requests.size()), upcoming(at(vertices), kNoMore);
  for (std::size_t t = requests.size(); t-- > 0;) {
    next[t] = upcoming[at(requests[t])];
    upcoming[at(requests[t])] = t;
  }
  std::vector<bool> is_kept(requests.size(), false);  // until the request at that time
  // times of the rows that are kept, and past ones
  std::priority_queue<std::size_t> ends;
  std::int64_t number = 0, hits = 0;
  const auto keep_until = [&](std::size_t end) {
    if (end == kNoMore) return;
    is_kept[end] = true;
    ends.push(end);
    if (++number <= rows) return;
    is_kept[ends.top()] = false;
    ends.pop();
    --number;
  };
  for (const std::size_t first : upcoming) keep_until(first);
  for (std::size_t t = 0; t < requests.size(); ++t) {
    if (is_kept[t]) {
      ++hits;
      --number;
    }
    keep_until(next[t]);
  }
  return hits;
}

}  // namespace orrery
