// Generator: Chung-Lu, any degree distribution and nothing else.
#include <algorithm>

#include "core/graph/generate.hpp"

namespace orrery {
namespace {

/// Ends of edges ("stubs") laid out vertex by vertex, so that a uniform stub is a vertex drawn in
/// proportion to its degree.
class Stubs {
 public:
  explicit Stubs(const std::vector<DegreeClass>& classes) : classes_(classes) {
    for (const DegreeClass& c : classes) {
      first_vertex_.push_back(vertices_);
      first_stub_.push_back(stubs_);
      vertices_ += c.vertices;
      stubs_ += c.vertices * c.degree;
    }
  }
  std::int64_t vertices() const { return vertices_; }
  std::int64_t edges() const { return stubs_ / 2; }
  std::int64_t draw(Sequence& random) const {
    const auto stub = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(stubs_)));
    const auto c = static_cast<std::size_t>(std::ranges::upper_bound(first_stub_, stub) -
                                            first_stub_.begin() - 1);
    return first_vertex_[c] + (stub - first_stub_[c]) / classes_[c].degree;
  }

 private:
  const std::vector<DegreeClass>& classes_;
  std::vector<std::int64_t> first_vertex_, first_stub_;
  std::int64_t vertices_ = 0, stubs_ = 0;
};

}  // namespace

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
