// Generator: planted communities of vertices of several types, whose labels only the kinds of the
// edges tell.
#include <fmt/core.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/graph/generate/planted.hpp"

namespace orrery {
namespace {

/// The other class of a pair: 0 and 1, 2 and 3, and so on.
std::int64_t partner(std::int64_t k) { return k ^ 1; }

class Generator {
 public:
  Generator(const DatasetOptions& options, std::int64_t classes, std::int64_t papers,
            std::int64_t venues)
      : o_(options),
        papers_({"paper", 0, papers}, classes, options.seed),
        pairs_(papers_.type(), classes / 2, options.seed),
        authors_({"author", papers, options.generate_vertices - papers - venues}, classes,
                 options.seed),
        venues_({"venue", options.generate_vertices - venues, venues}, classes / 2, options.seed) {
    typed_.types = {papers_.type(), authors_.type(), venues_.type()};
  }

  TypedGraph graph() {
    const std::int64_t third = 3 * o_.generate_edges / 10;
    add(authors_, "writes", third, [](std::int64_t k) { return k; });
    add(authors_, "reviews", third, partner);
    add(venues_, "publishes", o_.generate_edges - 3 * third, [](std::int64_t k) { return k / 2; });
    add(pairs_, "cites", third, [](std::int64_t k) { return k / 2; });
    return std::move(typed_);
  }
  /// The class of each paper, -1 for all others.
  std::vector<std::int32_t> labels() const {
    std::vector<std::int32_t> labels(at(o_.generate_vertices), -1);
    papers_.for_each(
        [&](Vertex v, std::int64_t k) { labels[at(v)] = static_cast<std::int32_t>(k); });
    return labels;
  }
  /// The centre that the features of each vertex surround; -1: none.
  std::vector<std::int32_t> centres(std::int64_t classes) const {
    std::vector<std::int32_t> centres(at(o_.generate_vertices), -1);
    authors_.for_each(
        [&](Vertex v, std::int64_t k) { centres[at(v)] = static_cast<std::int32_t>(k); });
    venues_.for_each(
        [&](Vertex v, std::int64_t k) { centres[at(v)] = static_cast<std::int32_t>(classes + k); });
    return centres;
  }

 private:
  /// A relation into papers, and its reverse: a paper of class k has edges from group(k).
  template <class Group>
  void add(const Planted& sources, const std::string& name, std::int64_t edges,
           const Group& group) {
    const auto number = static_cast<std::uint32_t>(typed_.relations.size());
    const Csr both =
        draw_undirected(o_.generate_vertices, edges, derived_seed(o_.seed, Purpose::edges, number),
                        {}, [&](Sequence& random) -> std::optional<Edge> {
                          const auto [paper, k] = papers_.draw(random);
                          return Edge{sources.draw_near(group(k), o_.mixing, random), paper};
                        });
    add_both_ways(typed_, sources.type(), name, papers_.type(), both);
  }

  const DatasetOptions& o_;
  Planted papers_, pairs_, authors_, venues_;  ///< pairs_: the same papers in pairs of classes
  TypedGraph typed_;
};

}  // namespace

Dataset generate_typed_communities(const DatasetOptions& options) {
  const std::int64_t n = options.generate_vertices, classes = options.generate_classes;
  if (classes < 2 || classes % 2 != 0)
    throw ConfigError("dataset.classes",
                      fmt::format("typed-communities has pairs of classes: expected an even number "
                                  "from 2 on, found {}",
                                  classes));
  const std::int64_t papers = n / 2, venues = std::max(classes / 2, n / 20);
  if (papers < classes || n - papers - venues < classes)
    throw ConfigError("dataset.vertices",
                      fmt::format("expected at least {}, so that each of the {} classes has papers "
                                  "and authors, found {}",
                                  3 * classes, classes, n));
  Generator generator(options, classes, papers, venues);
  Dataset dataset;
  dataset.name = options.generator;
  dataset.generated = dataset.symmetric = true;
  TypedGraph typed = generator.graph();
  dataset.notes.push_back(
      fmt::format("graph: generated ({}, seed {}; {} undirected edges requested, {} drawn, each "
                  "stored in both directions)",
                  options.generator, options.seed, options.generate_edges, typed.edges() / 2));
  set_typed_graph(dataset, std::move(typed));
  dataset.labels = {classes, false, generator.labels()};
  dataset.notes.push_back(fmt::format(
      "labels: generated (the {} planted communities of papers; their authors are of the same "
      "one, their reviewers of the other one of the pair)",
      classes));
  if (options.generate_features > 0) {
    dataset.features =
        class_features(generator.centres(classes), classes + classes / 2, options.generate_features,
                       options.feature_signal, options.seed);
    dataset.notes.push_back("features: " + dataset.features->provenance() +
                            "; papers have noise alone");
  }
  return dataset;
}

}  // namespace orrery
