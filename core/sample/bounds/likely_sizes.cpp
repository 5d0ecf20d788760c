#include "core/sample/bounds/likely_sizes.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/index.hpp"

namespace orrery {
namespace {

/// What a sum of independent terms in [0, `most`] exceeds its mean by with probability e^-L at most.
double bernstein(double variance, double most, double L) {
  const double third = most * L / 3;
  return third + std::sqrt(third * third + 2 * variance * L);
}

class Sizes {
 public:
  Sizes(const Csr& graph, std::span<const int> fanouts,
        const std::vector<std::vector<Vertex>>& lists, std::int64_t seeds, double chance)
      : graph_(graph), fanouts_(fanouts), lists_(lists), seeds_(seeds) {
    // A size takes one inequality for each hop before it, and one for the seeds.
    const auto hops = static_cast<double>(fanouts.size());
    log_ = std::log((hops + 1) * (hops + 2) / chance);
    find_hubs();
  }

  /// Edges that a vertex draws in a hop.
  std::vector<double> drawn(std::size_t hop) const {
    std::vector<double> edges;
    for (Vertex v = 0; v < graph_.rows; ++v) edges.push_back(count(hop, v));
    return edges;
  }
  /// The largest bound, over all lists, of the sum of f over the vertices of a batch after so many hops.
  std::int64_t most(std::size_t hops, std::vector<double> f) const {
    const std::vector<double> sums = sums_after(hops, std::move(f));
    return static_cast<std::int64_t>(std::ceil(*std::max_element(sums.begin(), sums.end())));
  }

 private:
  double count(std::size_t hop, Vertex v) const {
    const auto degree = static_cast<double>(graph_.degree(v));
    return fanouts_[hop] < 0 ? degree : std::min<double>(degree, fanouts_[hop]);
  }

  /// Vertices that are expected in a batch more than once after each hop, on average over the lists.
  void find_hubs() {
    std::vector<double> expected(at(graph_.rows), 0);
    double listed = 0, taken = 0;
    for (const auto& list : lists_) {
      listed += static_cast<double>(list.size());
      taken += static_cast<double>(std::min<std::int64_t>(seeds_, std::ssize(list)));
    }
    const double batches = static_cast<double>(lists_.size());
    for (const auto& list : lists_)
      for (const Vertex v : list) expected[at(v)] = taken / batches / listed;
    for (std::size_t hop = 0; hop < fanouts_.size(); ++hop) {
      std::vector<double> next = expected;
      for (Vertex v = 0; v < graph_.rows; ++v) {
        if (graph_.degree(v) == 0) continue;
        const double each =
            std::min(1.0, expected[at(v)]) * count(hop, v) / static_cast<double>(graph_.degree(v));
        for (const Vertex u : graph_.row(v)) next[at(u)] += each;
      }
      expected = std::move(next);
      std::vector<bool>& hubs = hubs_.emplace_back();
      for (const double times : expected) hubs.push_back(times >= 1);
    }
  }

  /// For each list.
  std::vector<double> sums_after(std::size_t hops, std::vector<double> f) const {
    if (hops == 0) return sums_over_seeds(f);
    const std::size_t hop = hops - 1;
    double of_hubs = 0;
    for (std::size_t v = 0; v < f.size(); ++v)
      if (hubs_[hop][v]) of_hubs += std::exchange(f[v], 0.0);
    const double most = *std::max_element(f.begin(), f.end());
    std::vector<double> before = f;  // a vertex stays, and draws
    for (Vertex v = 0; v < graph_.rows; ++v) {
      if (graph_.degree(v) == 0) continue;
      double sum = 0;
      for (const Vertex u : graph_.row(v)) sum += f[at(u)];
      before[at(v)] += sum * count(hop, v) / static_cast<double>(graph_.degree(v));
    }
    std::vector<double> sums = sums_after(hop, std::move(before));
    // A term is at most `most`, so the sum of the variances at most that times the mean.
    for (double& sum : sums) sum += of_hubs + bernstein(most * sum, most, log_);
    return sums;
  }

  std::vector<double> sums_over_seeds(const std::vector<double>& f) const {
    std::vector<double> sums;
    for (const auto& list : lists_) {
      double sum = 0, squares = 0, most = 0;
      for (const Vertex v : list) {
        sum += f[at(v)];
        squares += f[at(v)] * f[at(v)];
        most = std::max(most, f[at(v)]);
      }
      const auto n = static_cast<double>(list.size()), k = static_cast<double>(seeds_);
      if (k >= n) {  // all of them: nothing is drawn
        sums.push_back(sum);
        continue;
      }
      const double mean = sum / n, variance = std::max(0.0, squares / n - mean * mean);
      sums.push_back(std::min(k * mean + bernstein(k * variance, most, log_), k * most));
    }
    return sums;
  }

  const Csr& graph_;
  std::span<const int> fanouts_;
  const std::vector<std::vector<Vertex>>& lists_;
  std::int64_t seeds_;
  double log_;
  std::vector<std::vector<bool>> hubs_;  ///< after each hop
};

}  // namespace

LikelySizes likely_sizes(const Csr& graph, std::span<const int> fanouts,
                         const std::vector<std::vector<Vertex>>& lists, std::int64_t seeds,
                         double chance) {
  const Sizes sizes(graph, fanouts, lists, seeds,
                    chance / (2 * static_cast<double>(fanouts.size())));
  const std::vector<double> each(at(graph.rows), 1.0);
  LikelySizes likely{{sizes.most(0, each)}, {}};
  for (std::size_t hop = 0; hop < fanouts.size(); ++hop) {
    likely.edges.push_back(sizes.most(hop, sizes.drawn(hop)));
    likely.vertices.push_back(std::min(
        {graph.rows, sizes.most(hop + 1, each), likely.vertices.back() + likely.edges.back()}));
  }
  return likely;
}

}  // namespace orrery
