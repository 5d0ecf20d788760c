#include "sim/collectives/rings.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/index.hpp"

namespace orrery::sim {
namespace {

/// Backtracking over rings in the order of their discovery; each is taken or left.
class Packing {
 public:
  explicit Packing(const std::vector<int>& cables)
      : n_(static_cast<int>(std::lround(std::sqrt(cables.size())))), left_(cables) {}

  std::vector<Ring> best() {
    if (n_ < 2) return {};
    Ring ring{0};
    find_rings(ring);
    std::stable_sort(rings_.begin(), rings_.end(), [&](const Ring& a, const Ring& b) {
      return narrowest(a) > narrowest(b);  // wide links first: the rest then fits
    });
    bound_ = bound();
    take(0);
    std::vector<Ring> found;
    for (const int number : best_) found.push_back(rings_[at(number)]);
    return found;
  }

 private:
  int& left(int from, int to) { return left_[at(from * n_ + to)]; }
  int after(const Ring& ring, int i) const { return ring[at((i + 1) % n_)]; }

  void find_rings(Ring& ring) {
    if (++steps_ > kRingSteps / 2) return;
    if (static_cast<int>(ring.size()) == n_) {
      if (left(ring.back(), 0) > 0) rings_.push_back(ring);
      return;
    }
    for (int next = 1; next < n_; ++next) {
      if (left(ring.back(), next) == 0) continue;
      if (std::find(ring.begin(), ring.end(), next) != ring.end()) continue;
      ring.push_back(next);
      find_rings(ring);
      ring.pop_back();
    }
  }

  int narrowest(const Ring& ring) {
    int least = std::numeric_limits<int>::max();
    for (int i = 0; i < n_; ++i) least = std::min(least, left(ring[at(i)], after(ring, i)));
    return least;
  }

  /// Each ring leaves and enters every member by a cable of its own.
  int bound() {
    int least = std::numeric_limits<int>::max();
    for (int a = 0; a < n_; ++a) {
      int out = 0, in = 0;
      for (int b = 0; b < n_; ++b) {
        out += left(a, b);
        in += left(b, a);
      }
      least = std::min({least, out, in});
    }
    return least;
  }

  void use(const Ring& ring, int by) {
    for (int i = 0; i < n_; ++i) left(ring[at(i)], after(ring, i)) -= by;
  }

  void take(std::size_t from) {
    if (taken_.size() > best_.size()) best_ = taken_;
    if (static_cast<int>(taken_.size()) + bound() <= static_cast<int>(best_.size())) return;
    for (std::size_t i = from; i < rings_.size() && static_cast<int>(best_.size()) < bound_; ++i) {
      if (++steps_ > kRingSteps) return;
      if (narrowest(rings_[i]) == 0) continue;
      use(rings_[i], 1);
      taken_.push_back(static_cast<int>(i));
      take(i);  // the same ring may use more cables
      taken_.pop_back();
      use(rings_[i], -1);
    }
  }

  int n_;
  std::vector<int> left_;  // cables that no ring uses yet, by direction
  std::vector<Ring> rings_;
  std::vector<int> taken_, best_;
  int bound_ = 0;
  long steps_ = 0;
};

}  // namespace

std::vector<Ring> pack_rings(const std::vector<int>& cables) { return Packing(cables).best(); }

}  // namespace orrery::sim
