// Generator: Chung-Lu, any degree distribution and nothing else.
#include "core/graph/generate/generate.hpp"
#include "core/graph/generate/stubs.hpp"

namespace orrery {

Dataset generate_chung_lu(const DatasetOptions& options) {
  const std::vector<DegreeClass> classes = degree_classes(options);
  const Stubs stubs(classes);
  const std::int64_t edges = options.generate_edges > 0 ? options.generate_edges : stubs.edges();
  const Scramble scramble(stubs.vertices(), options.seed);
  const auto draw = [&](Sequence& random) -> std::optional<Edge> {
    const std::int64_t u = stubs.draw(random);
    return Edge{scramble(u), scramble(stubs.draw(random))};
  };
  Dataset dataset = generated_dataset(
      draw_undirected(stubs.vertices(), edges, options.seed, {}, draw), options, edges);
  add_taught_labels(dataset, options);
  return dataset;
}

}  // namespace orrery
