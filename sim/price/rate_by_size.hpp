// A rate at which memory moves, which depends on what fits into caches.
#pragma once

#include <utility>
#include <vector>

namespace orrery::sim {

/// Bytes per second by the bytes of a message. Without a point: not known.
struct RateBySize {
  struct Point {
    double bytes = 0, bytes_per_second = 0;
    bool operator==(const Point&) const = default;
  };
  std::vector<Point> points;  ///< positive, ascending in bytes

  RateBySize() = default;
  explicit RateBySize(std::vector<Point> by_size) : points(std::move(by_size)) {}
  /// The same rate at all sizes; 0: not known.
  RateBySize(double bytes_per_second) {
    if (bytes_per_second > 0) points.push_back({1, bytes_per_second});
  }

  bool known() const { return !points.empty(); }
  /// Interpolated in the logarithms of both; the rate of the first or last point outside of them.
  /// Requires  known()
  double of(double bytes) const { return points.size() == 1 ? of_largest() : interpolated(bytes); }
  /// The rate of the largest messages; 0 if it is not known.
  double of_largest() const { return known() ? points.back().bytes_per_second : 0; }
  bool operator==(const RateBySize&) const = default;

 private:
  double interpolated(double bytes) const;
};

}  // namespace orrery::sim
