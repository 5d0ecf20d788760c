// Generator: planted communities of vertices of several types, whose labels only the kinds of the
// edges tell.
#include <fmt/core.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/graph/generate/generate.hpp"

namespace orrery {
namespace {

/// Vertices of a type in groups of equal size (to within one), with scrambled numbers.
class Planted {
 public:
  Planted(VertexType type, std::int64_t groups, std::uint64_t seed)
      : type_(std::move(type)), groups_(groups), scramble_(type_.count, seed) {}

  const VertexType& type() const { return type_; }
  /// Calls f(vertex, group) for each of them.
  template <class F>
  void for_each(const F& f) const {
    for (std::int64_t i = 0; i < type_.count; ++i) f(vertex(i), i * groups_ / type_.count);
  }
  /// One of all, with its group.
  std::pair<Vertex, std::int64_t> draw(Sequence& random) const {
    const auto i = below(type_.count, random);
    return {vertex(i), i * groups_ / type_.count};
  }
  /// One of a group or, with probability `mixing`, of another one.
  Vertex draw_near(std::int64_t group, double mixing, Sequence& random) const {
    const std::int64_t begin = begin_of(group), size = begin_of(group + 1) - begin;
    if (groups_ == 1 || random.uniform() >= mixing) return vertex(begin + below(size, random));
    const std::int64_t i = below(type_.count - size, random);
    return vertex(i < begin ? i : i + size);
  }

 private:
  static std::int64_t below(std::int64_t n, Sequence& random) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(n)));
  }
  std::int64_t begin_of(std::int64_t group) const {
    return (group * type_.count + groups_ - 1) / groups_;
  }
  Vertex vertex(std::int64_t i) const { return static_cast<Vertex>(type_.first + scramble_(i)); }

  VertexType type_;
  std::int64_t groups_;
  Scramble scramble_;
};

/// The other class of a pair: 0 and 1, 2 and 3, and so on.
std::int64_t partner(std::int64_t k) { return k ^ 1; }

/// The entries (v, u) that are wanted.
template <class Wanted>
std::shared_ptr<const Csr> entries_of(const Csr& graph, const Wanted& wanted) {
  auto result = std::make_shared<Csr>();
  result->rows = result->cols = graph.rows;
  result->offsets.reserve(at(graph.rows) + 1);
  for (std::int64_t v = 0; v < graph.rows; ++v) {
    for (const Vertex u : graph.row(v))
      if (wanted(v, u)) result->columns.push_back(u);
    result->offsets.push_back(result->nnz());
  }
  return result;
}

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
    const VertexType &source = sources.type(), &paper = papers_.type();
    const auto leads_to_paper = [&](std::int64_t v, std::int64_t u) {
      return source.name == paper.name ? u > v : paper.has(v);
    };
    typed_.relations.push_back({source.name, name, paper.name, entries_of(both, leads_to_paper)});
    typed_.relations.push_back(
        {paper.name, kReversePrefix + name, source.name,
         entries_of(both, [&](std::int64_t v, std::int64_t u) { return !leads_to_paper(v, u); })});
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
