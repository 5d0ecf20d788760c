// Generator: planted communities whose vertices have the degrees of a power law, in the place of
// graphs of which only sizes, skew and what a cut costs are published.
#include <fmt/core.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/graph/generate/generate.hpp"
#include "core/graph/generate/stubs.hpp"

namespace orrery {
namespace {

/// Vertices in ascending order of degree are dealt to the communities in turn, so that all of them
/// have the same degrees.
class SkewedCommunities {
 public:
  SkewedCommunities(const std::vector<DegreeClass>& classes, std::int64_t count)
      : stubs_(classes), count_(count) {}

  std::int64_t vertices() const { return stubs_.vertices(); }
  std::int64_t edges() const { return stubs_.edges(); }
  std::int64_t of(std::int64_t v) const { return v % count_; }

  /// One end anywhere, the other inside its community or, with probability `mixing`, in another;
  /// both in proportion to their degrees.
  Edge draw(double mixing, Sequence& random) const {
    const std::int64_t u = stubs_.draw(random);
    std::int64_t community = of(u);
    if (count_ > 1 && random.uniform() < mixing)
      community = (community + 1 + below(random, count_ - 1)) % count_;
    return {static_cast<Vertex>(u), static_cast<Vertex>(draw_in(community, random))};
  }

 private:
  static std::int64_t below(Sequence& random, std::int64_t n) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(n)));
  }
  /// A vertex anywhere, and of those around it in the order of degrees that of the community.
  std::int64_t draw_in(std::int64_t community, Sequence& random) const {
    const std::int64_t anywhere = stubs_.draw(random);
    const std::int64_t here = anywhere - of(anywhere) + community;
    return here < vertices() ? here : here - count_;
  }

  Stubs stubs_;
  std::int64_t count_;
};

/// Communities are dealt to the classes in turn.
Labels labels_of(const SkewedCommunities& communities, const Scramble& scramble,
                 std::int64_t classes) {
  Labels labels{classes, false,
                std::vector<std::int32_t>(static_cast<std::size_t>(communities.vertices()))};
  parallel_for(communities.vertices(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v)
      labels.values[at(scramble(v))] = static_cast<std::int32_t>(communities.of(v) % classes);
  });
  return labels;
}

}  // namespace

Dataset generate_skewed_communities(const DatasetOptions& options) {
  const std::vector<DegreeClass> degrees = degree_classes(options);
  const SkewedCommunities communities(degrees, options.generate_communities);
  const std::int64_t n = communities.vertices();
  if (options.generate_communities < 1 || options.generate_communities > n)
    throw ConfigError("dataset.communities", fmt::format("expected 1 to {} communities, found {}",
                                                         n, options.generate_communities));
  const std::int64_t edges =
      options.generate_edges > 0 ? options.generate_edges : communities.edges();
  const Scramble scramble(n, options.seed);
  Dataset dataset = generated_dataset(
      draw_undirected(n, edges, options.seed, {},
                      [&](Sequence& random) -> std::optional<Edge> {
                        const Edge edge = communities.draw(options.mixing, random);
                        return Edge{scramble(edge.source), scramble(edge.destination)};
                      }),
      options, edges);
  if (options.generate_classes > 0) {
    dataset.labels = labels_of(communities, scramble, options.generate_classes);
    dataset.notes.push_back(
        fmt::format("labels: generated (the {} planted communities, assigned to {} classes in "
                    "turn)",
                    options.generate_communities, options.generate_classes));
  }
  if (options.generate_features > 0) {
    dataset.features =
        options.generate_classes > 0
            ? class_features(dataset.labels.values, options.generate_classes,
                             options.generate_features, options.feature_signal, options.seed)
            : random_features(n, options.generate_features, options.seed);
    dataset.notes.push_back("features: " + dataset.features->provenance());
  }
  return dataset;
}

}  // namespace orrery
