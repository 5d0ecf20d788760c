// Generator: planted communities with labels and features that a graph network can learn.
#include <fmt/core.h>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/graph/generate/generate.hpp"

namespace orrery {
namespace {

/// `count` communities of equal size (to within one) over the unscrambled numbers 0..vertices-1.
struct Communities {
  std::int64_t vertices, count;

  std::int64_t of(std::int64_t v) const { return v * count / vertices; }
  std::int64_t begin(std::int64_t k) const { return (k * vertices + count - 1) / count; }
};

/// One end anywhere, the other inside the same community or, with probability `mixing`, outside.
Edge draw_edge(const Communities& communities, double mixing, Sequence& random) {
  const auto draw_below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(n)));
  };
  const std::int64_t u = draw_below(communities.vertices), k = communities.of(u);
  const std::int64_t begin = communities.begin(k), size = communities.begin(k + 1) - begin;
  std::int64_t v = 0;
  if (communities.count > 1 && random.uniform() < mixing) {
    v = draw_below(communities.vertices - size);
    if (v >= begin) v += size;
  } else {
    v = begin + draw_below(size);
  }
  return {static_cast<Vertex>(u), static_cast<Vertex>(v)};
}

}  // namespace

Dataset generate_communities(const DatasetOptions& options) {
  const std::int64_t n = options.generate_vertices;
  if (options.generate_classes < 1 || options.generate_classes > n)
    throw ConfigError("dataset.classes", fmt::format("expected 1 to {} communities, found {}", n,
                                                     options.generate_classes));
  const Communities communities{n, options.generate_classes};
  const Scramble scramble(n, options.seed);
  Dataset dataset = generated_dataset(
      draw_undirected(n, options.generate_edges, options.seed, {},
                      [&](Sequence& random) -> std::optional<Edge> {
                        const Edge edge = draw_edge(communities, options.mixing, random);
                        return Edge{scramble(edge.source), scramble(edge.destination)};
                      }),
      options, options.generate_edges);

  dataset.labels = {communities.count, false,
                    std::vector<std::int32_t>(static_cast<std::size_t>(n))};
  parallel_for(n, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v)
      dataset.labels.values[at(scramble(v))] = static_cast<std::int32_t>(communities.of(v));
  });
  dataset.notes.push_back(
      fmt::format("labels: generated (the {} planted communities)", communities.count));
  if (options.generate_features > 0) {
    dataset.features =
        class_features(dataset.labels.values, communities.count, options.generate_features,
                       options.feature_signal, options.seed);
    dataset.notes.push_back("features: " + dataset.features->provenance());
  }
  return dataset;
}

}  // namespace orrery
