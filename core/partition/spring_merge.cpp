#include "core/partition/spring_merge.hpp"

#include <functional>
#include <numeric>
#include <queue>

namespace orrery {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

class Merger {
 public:
  Merger(Clustering& clustering, const std::vector<std::uint32_t>& degree)
      : clustering_(clustering),
        degree_(degree),
        into_(at(clustering.clusters)),
        size_(cluster_sizes(clustering)),
        representative_(at(clustering.clusters), -1) {
    std::iota(into_.begin(), into_.end(), 0);
    for (std::size_t v = 0; v < clustering.cluster.size(); ++v)
      if (clustering.cluster[v] >= 0) offer(clustering.cluster[v], static_cast<Vertex>(v));
  }

  void merge(double most_vertices) {
    std::vector<Entry> entries(into_.size());
    for (std::size_t c = 0; c < entries.size(); ++c)
      entries[c] = {size_[c], static_cast<std::int32_t>(c)};
    std::priority_queue smallest(std::greater<>(), std::move(entries));
    while (!smallest.empty()) {
      const auto [size, c] = smallest.top();
      smallest.pop();
      if (into_[at(c)] != c || size_[at(c)] != size) continue;  // merged or grown since
      const Vertex rich = clustering_.richest[at(representative_[at(c)])];
      const std::int32_t target = root(clustering_.cluster[at(rich)]);
      if (target == c || static_cast<double>(size) + size_[at(target)] >= most_vertices) continue;
      into_[at(c)] = target;
      size_[at(target)] += size;
      offer(target, representative_[at(c)]);
      smallest.push({size_[at(target)], target});
    }
  }

  void renumber() {
    std::vector<std::int32_t> number(into_.size(), -1);
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

  std::uint32_t riches(Vertex v) const { return degree_[at(clustering_.richest[at(v)])]; }
  void offer(std::int32_t c, Vertex v) {
    auto& representative = representative_[at(c)];
    if (representative < 0 || riches(v) > riches(representative)) representative = v;
  }
  std::int32_t root(std::int32_t c) {
    while (into_[at(c)] != c) c = into_[at(c)] = into_[at(into_[at(c)])];
    return c;
  }

  Clustering& clustering_;
  const std::vector<std::uint32_t>& degree_;
  std::vector<std::int32_t> into_, size_;  ///< where a cluster went (itself: nowhere); its vertices
  std::vector<Vertex> representative_;
};

}  // namespace

std::vector<std::int32_t> cluster_sizes(const Clustering& clustering) {
  std::vector<std::int32_t> sizes(at(clustering.clusters));
  for (const auto c : clustering.cluster)
    if (c >= 0) ++sizes[at(c)];
  return sizes;
}

void merge_clusters(Clustering& clustering, const std::vector<std::uint32_t>& degree,
                    double most_vertices) {
  Merger merger(clustering, degree);
  merger.merge(most_vertices);
  merger.renumber();
}

}  // namespace orrery
