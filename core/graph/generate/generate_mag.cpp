// Generator: graphs of papers, authors, institutions and fields of study in the proportions of the sets
// that OGB took from the Microsoft Academic Graph.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/graph/generate/mean_features.hpp"
#include "core/graph/generate/planted.hpp"

namespace orrery {
namespace {

struct TypeShare {
  const char* name;
  double vertices;  ///< of the real set
  double skew;      ///< of how often one of its vertices is drawn (Planted)
};
struct RelationShare {
  const char *source, *name, *destination;
  double edges;  ///< of the real set
};

/// Source    OGB's documentation of ogbn-mag and MAG240M. Skews are chosen: hubs among fields of study and
///           institutions, as every paper and author has few of them
struct Proportions {
  std::vector<TypeShare> types;  ///< papers first
  std::vector<RelationShare> relations;
};
const Proportions kMag{{{"paper", 736389, 2},
                        {"author", 1134649, 2},
                        {"institution", 8740, 3},
                        {"field_of_study", 59965, 3}},
                       {{"author", "writes", "paper", 7145660},
                        {"paper", "cites", "paper", 5416271},
                        {"paper", "has_topic", "field_of_study", 7505078},
                        {"author", "affiliated_with", "institution", 1043998}}};
const Proportions kMagLsc{
    {{"paper", 121751666, 2}, {"author", 122383112, 2}, {"institution", 25721, 3}},
    {{"author", "writes", "paper", 386022720},
     {"paper", "cites", "paper", 1297748926},
     {"author", "affiliated_with", "institution", 44592586}}};

/// Types with their shares of n vertices, and at least one each.
std::vector<VertexType> types_of(const Proportions& like, std::int64_t n) {
  double all = 0;
  for (const TypeShare& type : like.types) all += type.vertices;
  std::vector<VertexType> types;
  std::int64_t rest = n;
  for (const TypeShare& type : like.types) {
    const auto share = static_cast<std::int64_t>(static_cast<double>(n) * type.vertices / all);
    types.push_back({type.name, 0, std::max<std::int64_t>(1, share)});
    rest -= types.back().count;
  }
  types.front().count += rest;
  std::int64_t first = 0;
  for (VertexType& type : types) first = (type.first = first) + type.count;
  return types;
}

}  // namespace

Dataset generate_mag(const DatasetOptions& options) {
  const Proportions& like = options.generator == "mag" ? kMag : kMagLsc;
  const std::int64_t n = options.generate_vertices,
                     classes = std::max<std::int64_t>(1, options.generate_classes);
  TypedGraph typed;
  typed.types = types_of(like, n);
  if (typed.types.front().count < classes)
    throw ConfigError("dataset.vertices",
                      fmt::format("found {}, of which {} are papers, but there are {} classes of "
                                  "papers: use more vertices or fewer classes",
                                  n, typed.types.front().count, classes));
  std::map<std::string, Planted> planted;
  for (std::size_t t = 0; t < typed.types.size(); ++t)
    planted.try_emplace(typed.types[t].name, typed.types[t],
                        std::min(classes, typed.types[t].count), options.seed, like.types[t].skew);

  double all = 0;
  for (const RelationShare& relation : like.relations) all += relation.edges;
  for (const RelationShare& relation : like.relations) {
    const Planted &from = planted.at(relation.source), &to = planted.at(relation.destination);
    const auto number = static_cast<std::uint32_t>(typed.relations.size());
    const auto edges = static_cast<std::int64_t>(static_cast<double>(options.generate_edges) *
                                                 relation.edges / all);
    const Csr both =
        draw_undirected(n, edges, derived_seed(options.seed, Purpose::edges, number), {},
                        [&](Sequence& random) -> std::optional<Edge> {
                          const auto [source, group] = from.draw(random);
                          const std::int64_t near = group * to.groups() / from.groups();
                          return ascending(source, to.draw_near(near, options.mixing, random));
                        });
    add_both_ways(typed, from.type(), relation.name, to.type(), both);
  }

  Dataset dataset;
  dataset.name = options.generator;
  dataset.generated = dataset.symmetric = true;
  dataset.notes.push_back(fmt::format(
      "graph: generated ({}, seed {}; types and relations in the proportions of {}; {} undirected "
      "edges requested, {} drawn, each stored in both directions)",
      options.generator, options.seed, options.generator == "mag" ? "ogbn-mag" : "MAG240M",
      options.generate_edges, typed.edges() / 2));
  std::vector<std::int32_t> classes_of(at(n), -1);
  planted.at("paper").for_each(
      [&](Vertex v, std::int64_t k) { classes_of[at(v)] = static_cast<std::int32_t>(k); });
  set_typed_graph(dataset, std::move(typed));
  if (options.generate_classes > 0) {
    dataset.labels = {classes, false, classes_of};
    dataset.notes.push_back(
        fmt::format("labels: generated (the {} planted communities of papers)", classes));
  }
  if (const std::int64_t width = options.generate_features; width > 0) {
    const auto papers =
        class_features(classes_of, classes, width, options.feature_signal, options.seed);
    // Papers alone have features, as in the real sets.
    const std::int64_t with = dataset.typed->types.front().count;
    std::vector<float> values(at(n * width));
    std::vector<Vertex> numbers(at(with));
    for (std::size_t v = 0; v < numbers.size(); ++v) numbers[v] = static_cast<Vertex>(v);
    papers->read(numbers, 0, width, values.data(), width);
    std::vector<bool> has(dataset.typed->types.size(), false);
    has.front() = true;
    fill_with_means(values, width, has, *dataset.typed, *dataset.graph);
    const std::string provenance =
        papers->provenance() + "; those of other types are the mean of their neighbours'";
    dataset.features = dense_features(n, width, std::move(values), provenance, true);
    dataset.notes.push_back("features: " + provenance);
  }
  return dataset;
}

}  // namespace orrery
