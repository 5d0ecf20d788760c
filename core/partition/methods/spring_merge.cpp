#include "core/partition/methods/spring_merge.hpp"

#include <functional>
#include <numeric>
#include <queue>

#include "core/base/index.hpp"
#include "core/partition/methods/none.hpp"

namespace orrery {
namespace {

/// The vertices of each cluster as a skew heap, that of the richest neighbour on top.
class Merger {
 public:
  Merger(Clustering& clustering, const std::vector<std::uint32_t>& degree)
      : clustering_(clustering),
        degree_(degree),
        into_(at(clustering.clusters)),
        size_(cluster_sizes(clustering)),
        top_(at(clustering.clusters), kNone),
        left_(degree.size(), kNone),
        right_(degree.size(), kNone) {
    std::iota(into_.begin(), into_.end(), 0);
    for (std::size_t v = 0; v < clustering.cluster.size(); ++v)
      if (const auto c = clustering.cluster[v]; c >= 0)
        top_[at(c)] = meld(top_[at(c)], static_cast<Vertex>(v));
  }

  void merge(double most_vertices, bool persistent) {
    std::vector<Entry> entries(into_.size());
    for (std::size_t c = 0; c < entries.size(); ++c)
      entries[c] = {size_[c], static_cast<std::int32_t>(c)};
    std::priority_queue smallest(std::greater<>(), std::move(entries));
    while (!smallest.empty()) {
      const auto [size, c] = smallest.top();
      smallest.pop();
      if (into_[at(c)] != c || size_[at(c)] != size) continue;  // merged or grown since
      const std::int32_t target = target_of(c, most_vertices, persistent);
      if (target == kNone) continue;
      into_[at(c)] = target;
      size_[at(target)] += size;
      top_[at(target)] = meld(top_[at(target)], top_[at(c)]);
      smallest.push({size_[at(target)], target});
    }
  }

  void renumber() {
    std::vector<std::int32_t> number(into_.size(), kNone);
    clustering_.clusters = 0;
    for (auto& c : clustering_.cluster) {
      if (c < 0) continue;
      auto& renumbered = number[at(root(c))];
      if (renumbered < 0) renumbered = static_cast<std::int32_t>(clustering_.clusters++);
      c = renumbered;
    }
  }

 private:
  struct Entry {
    std::int32_t size, cluster;
    auto operator<=>(const Entry&) const = default;
  };

  /// The cluster that c may join. A neighbour that does not fit now never will, because clusters
  /// only grow, so the persistent search removes it from the heap.
  std::int32_t target_of(std::int32_t c, double most_vertices, bool persistent) {
    for (Vertex& top = top_[at(c)]; top != kNone; top = meld(left_[at(top)], right_[at(top)])) {
      const std::int32_t target = root(clustering_.cluster[at(clustering_.richest[at(top)])]);
      const double together = static_cast<double>(size_[at(c)]) + size_[at(target)];
      if (target != c && together < most_vertices) return target;
      if (!persistent) break;
    }
    return kNone;
  }

  /// Whether a comes before b: its richest neighbour is richer, or as rich and a < b.
  bool before(Vertex a, Vertex b) const {
    const auto riches = [&](Vertex v) { return degree_[at(clustering_.richest[at(v)])]; };
    return riches(a) != riches(b) ? riches(a) > riches(b) : a < b;
  }
  Vertex meld(Vertex a, Vertex b) {
    Vertex merged = kNone;
    Vertex* place = &merged;
    while (a != kNone && b != kNone) {
      if (before(b, a)) std::swap(a, b);
      *place = a;
      place = &left_[at(a)];
      const Vertex rest = right_[at(a)];
      right_[at(a)] = left_[at(a)];
      a = rest;
    }
    *place = a != kNone ? a : b;
    return merged;
  }
  std::int32_t root(std::int32_t c) {
    while (into_[at(c)] != c) c = into_[at(c)] = into_[at(into_[at(c)])];
    return c;
  }

  Clustering& clustering_;
  const std::vector<std::uint32_t>& degree_;
  std::vector<std::int32_t> into_, size_;  ///< where a cluster went (itself: nowhere); its vertices
  std::vector<Vertex> top_, left_, right_;
};

}  // namespace

std::vector<std::int32_t> cluster_sizes(const Clustering& clustering) {
  std::vector<std::int32_t> sizes(at(clustering.clusters));
  for (const auto c : clustering.cluster)
    if (c >= 0) ++sizes[at(c)];
  return sizes;
}

void merge_clusters(Clustering& clustering, const std::vector<std::uint32_t>& degree,
                    double most_vertices, bool persistent) {
  Merger merger(clustering, degree);
  merger.merge(most_vertices, persistent);
  merger.renumber();
}

}  // namespace orrery
