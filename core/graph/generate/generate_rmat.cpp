// Generator: R-MAT, skewed degrees without communities.
#include <bit>

#include "core/graph/generate/generate.hpp"

namespace orrery {
namespace {

constexpr int kAttempts = 64;  // each succeeds with probability 1/4 or more

/// One edge of the full 2^levels square: a quadrant per level.
Edge draw_edge(int levels, Sequence& random) {
  constexpr auto threshold = [](double p) { return static_cast<std::uint32_t>(p * 0x1.0p32); };
  std::uint32_t u = 0, v = 0;
  for (int level = 0; level < levels; ++level) {
    const std::uint32_t x = random.word();
    const bool lower = x >= threshold(0.76);
    const bool right = lower ? x >= threshold(0.95) : x >= threshold(0.57);
    u = 2 * u + lower;
    v = 2 * v + right;
  }
  return {static_cast<Vertex>(u), static_cast<Vertex>(v)};
}

}  // namespace

Dataset generate_rmat(const DatasetOptions& options) {
  const std::int64_t n = options.generate_vertices;
  const auto size = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
  const int levels = std::countr_zero(static_cast<std::uint64_t>(size));
  const Scramble scramble(size, options.seed);
  const auto draw = [&](Sequence& random) -> std::optional<Edge> {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const Edge edge = draw_edge(levels, random);
      const Edge scrambled{scramble(edge.source), scramble(edge.destination)};
      if (scrambled.source < n && scrambled.destination < n) return scrambled;
    }
    return std::nullopt;
  };
  Dataset dataset =
      generated_dataset(draw_undirected(n, options.generate_edges, options.seed, {}, draw), options,
                        options.generate_edges);
  add_taught_labels(dataset, options);
  return dataset;
}

}  // namespace orrery
