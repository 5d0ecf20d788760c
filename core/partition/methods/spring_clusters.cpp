#include "core/partition/methods/spring_clusters.hpp"

#include <numeric>

#include "core/base/cache_line.hpp"
#include "core/base/index.hpp"
#include "core/partition/methods/none.hpp"

namespace orrery {
namespace {

class Pass {
 public:
  Pass(const std::vector<std::uint32_t>& degree, double max_volume_share)
      : degree_(degree), cluster_(degree.size(), kNone), richest_(degree.size(), kNone) {
    volume_.reserve(degree.size());  // grows in place: untouched pages cost nothing
    const auto sum = std::accumulate(degree.begin(), degree.end(), std::uint64_t{0});
    max_volume_ = max_volume_share * static_cast<double>(sum);
  }

  void fetch(const Edge& edge) const {
    for (const Vertex v : {edge.source, edge.destination}) {
      prefetch(&degree_[at(v)]);
      prefetch_to_write(&cluster_[at(v)]);
      prefetch_to_write(&richest_[at(v)]);
    }
  }

  void take(const Edge& edge) {
    const auto [u, v] = edge;
    begin_cluster(u);
    begin_cluster(v);
    join(u, v);
    enrich(u, v);
    enrich(v, u);
  }

  /// Numbers the clusters that have vertices left, in the order in which they began.
  Clustering result() && {
    std::vector<std::uint64_t>().swap(volume_);
    std::vector<std::int32_t> number(at(begun_), kNone);
    for (const auto c : cluster_)
      if (c != kNone) number[at(c)] = 0;
    Clustering found;
    for (auto& c : number)
      if (c != kNone) c = static_cast<std::int32_t>(found.clusters++);
    for (auto& c : cluster_)
      if (c != kNone) c = number[at(c)];
    found.cluster = std::move(cluster_);
    found.richest = std::move(richest_);
    return found;
  }

 private:
  void begin_cluster(Vertex v) {
    if (cluster_[at(v)] != kNone) return;
    cluster_[at(v)] = begun_++;
    volume_.push_back(degree_[at(v)]);
  }

  void join(Vertex u, Vertex v) {
    const std::int32_t c_u = cluster_[at(u)], c_v = cluster_[at(v)];
    if (c_u == c_v) return;
    auto &volume_u = volume_[at(c_u)], &volume_v = volume_[at(c_v)];
    if (static_cast<double>(volume_u) >= max_volume_ ||
        static_cast<double>(volume_v) >= max_volume_)
      return;
    if (volume_u <= volume_v) {
      volume_v += degree_[at(u)];
      volume_u -= degree_[at(u)];
      cluster_[at(u)] = c_v;
    } else {
      volume_u += degree_[at(v)];
      volume_v -= degree_[at(v)];
      cluster_[at(v)] = c_u;
    }
  }

  void enrich(Vertex v, Vertex neighbour) {
    auto& richest = richest_[at(v)];
    if (richest == kNone || degree_[at(neighbour)] > degree_[at(richest)]) richest = neighbour;
  }

  const std::vector<std::uint32_t>& degree_;
  std::vector<std::int32_t> cluster_;
  std::vector<Vertex> richest_;
  std::vector<std::uint64_t> volume_;
  std::int32_t begun_ = 0;
  double max_volume_ = 0;
};

}  // namespace

Clustering cluster_stream(EdgeStream& edges, const std::vector<std::uint32_t>& degree,
                          double max_volume_share) {
  Pass pass(degree, max_volume_share);
  for_each_edge(
      edges, [&](const Edge& edge) { pass.fetch(edge); },
      [&](const Edge& edge) { pass.take(edge); });
  return std::move(pass).result();
}

}  // namespace orrery
