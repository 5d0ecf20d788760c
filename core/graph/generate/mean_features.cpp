#include "core/graph/generate/mean_features.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "core/base/index.hpp"
#include "core/base/parallel.hpp"

namespace orrery {
namespace {

constexpr std::int64_t kVerticesPerBlock = 256;
constexpr std::int64_t kUnreached = -1;

/// For each type the number of relations on the way to the nearest type with features.
std::vector<std::int64_t> distances(const TypedGraph& typed, const std::vector<bool>& has) {
  std::map<std::string, std::size_t> number;
  for (std::size_t t = 0; t < typed.types.size(); ++t) number[typed.types[t].name] = t;
  struct Ends {
    std::size_t source, destination;
  };
  std::vector<Ends> joined;
  for (const Relation& relation : typed.relations)
    joined.push_back({number.at(relation.source), number.at(relation.destination)});
  std::vector<std::int64_t> distance(has.size(), kUnreached);
  for (std::size_t t = 0; t < has.size(); ++t)
    if (has[t]) distance[t] = 0;
  bool changed = true;
  for (std::int64_t d = 0; changed; ++d) {
    changed = false;
    const auto reach = [&](std::size_t from, std::size_t to) {
      if (distance[from] != d || distance[to] != kUnreached) return;
      distance[to] = d + 1;
      changed = true;
    };
    for (const auto [source, destination] : joined) {
      reach(source, destination);
      reach(destination, source);
    }
  }
  return distance;
}

}  // namespace

std::int64_t fill_with_means(std::vector<float>& values, std::int64_t width,
                             const std::vector<bool>& has, const TypedGraph& typed,
                             const Csr& graph) {
  const Csr neighbours = symmetrise(graph);
  const auto distance = distances(typed, has);
  // Bytes, because threads write beside each other. Types of one distance do not see each other.
  std::vector<std::uint8_t> known(at(graph.rows), 0), found(at(graph.rows), 0);
  std::int64_t without = 0;
  for (std::size_t t = 0; t < has.size(); ++t) {
    const VertexType& type = typed.types[t];
    if (has[t]) std::fill_n(known.begin() + type.first, type.count, std::uint8_t{1});
    if (distance[t] == kUnreached) without += type.count;
  }
  const auto fill = [&](const VertexType& type) {
    parallel_for(type.count, kVerticesPerBlock, [&](std::int64_t begin, std::int64_t end) {
      std::vector<double> sum(at(width));
      for (std::int64_t v = type.first + begin; v < type.first + end; ++v) {
        std::ranges::fill(sum, 0);
        std::int64_t count = 0;
        for (const Vertex u : neighbours.row(v)) {
          if (known[at(u)] == 0) continue;
          ++count;
          const float* row = values.data() + u * width;
          for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += row[c];
        }
        if (count == 0) continue;
        found[at(v)] = 1;
        std::ranges::transform(sum, values.begin() + v * width, [&](double x) {
          return static_cast<float>(x / static_cast<double>(count));
        });
      }
    });
  };
  const std::int64_t farthest = *std::ranges::max_element(distance);
  for (std::int64_t d = 1; d <= farthest; ++d) {
    for (std::size_t t = 0; t < has.size(); ++t)
      if (distance[t] == d) fill(typed.types[t]);
    for (std::size_t t = 0; t < has.size(); ++t) {
      if (distance[t] != d) continue;
      const auto first = found.begin() + typed.types[t].first;
      without += std::count(first, first + typed.types[t].count, std::uint8_t{0});
      std::copy_n(first, typed.types[t].count, known.begin() + typed.types[t].first);
    }
  }
  return without;
}

}  // namespace orrery
