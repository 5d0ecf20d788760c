// Types of vertices and edges: their files, their reverses, and the generator that makes them.
#include "core/graph/read/typed_files.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/graph/edges/edge_features.hpp"
#include "core/graph/edges/edge_weights.hpp"
#include "core/graph/generate/generate.hpp"
#include "core/graph/read/load.hpp"
#include "core/graph/read/write_orrery.hpp"
#include "tests/graph/files.hpp"

namespace orrery {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using ::testing::Not;

class TypedFilesTest : public FilesTest {
 protected:
  /// Two papers (0, 1) and two authors (2, 3): 2 and 3 write 0, 3 reviews 0 and 1, 1 cites 0.
  void write_set(const std::string& types = R"("vertex_types": ["paper", "author"])",
                 const std::string& counts = R"("vertex_type_counts": [2, 2])",
                 const std::string& relations =
                     R"("relations": [["author", "writes", "paper"], ["author", "reviews", "paper"],
                                      ["paper", "cites", "paper"]])") const {
    std::string meta = R"({"num_nodes": 4, "num_edges": 5)";
    for (const std::string& key : {types, counts, relations})
      if (!key.empty()) meta += ", " + key;
    write("meta.json", meta + "}");
    write_npy<std::int32_t>("edges.npy", {2, 5}, {2, 3, 3, 3, 1, 0, 0, 0, 1, 0});
    write_npy<std::int32_t>("edge_relations.npy", {5}, {0, 0, 1, 1, 2});
    write_npy<std::int32_t>("labels.npy", {4}, {1, 0, -1, -1});
  }
  Dataset load() const { return read_dataset(folder_.string()); }
  std::string error() const {
    return data_error([&] { load(); });
  }
};

TEST_F(TypedFilesTest, AreReadAsRelationsWhoseUnionIsTheGraph) {
  write_set();

  const Dataset dataset = load();

  ASSERT_TRUE(dataset.typed);
  const TypedGraph& typed = *dataset.typed;
  EXPECT_THAT(typed.texts(),
              ElementsAre("author.writes.paper", "author.reviews.paper", "paper.cites.paper"));
  EXPECT_EQ(typed.type("author")->first, 2);
  EXPECT_EQ(typed.type("author")->count, 2);
  EXPECT_THAT(typed.relations[0].graph->row(0), ElementsAre(2, 3));
  EXPECT_THAT(typed.relations[1].graph->row(0), ElementsAre(3));
  EXPECT_THAT(typed.relations[1].graph->row(1), ElementsAre(3));
  EXPECT_THAT(typed.relations[2].graph->row(0), ElementsAre(1));
  EXPECT_THAT(dataset.graph->row(0), ElementsAre(1, 2, 3));
  EXPECT_EQ(dataset.edges(), 4) << "author 3 writes and reviews paper 0";
  EXPECT_EQ(typed.edges(), 5);
  EXPECT_THAT(dataset.notes,
              Contains("typed: 2 vertex types (paper 2, author 2), 3 relations "
                       "(author.writes.paper 2, author.reviews.paper 2, paper.cites.paper 1)"));
}

TEST_F(TypedFilesTest, EdgesThatComeTwiceInARelationAreMerged) {
  write_set();
  write_npy<std::int32_t>("edge_relations.npy", {5}, {0, 0, 0, 1, 2});

  const Dataset dataset = load();

  EXPECT_EQ(dataset.typed->edges(), 4);
  EXPECT_THAT(dataset.notes, Contains("1 duplicate edges merged"));
}

TEST_F(TypedFilesTest, WrongNamesAreErrorsThatSayWhichThereAre) {
  const std::string types = R"("vertex_types": ["paper", "author"])",
                    counts = R"("vertex_type_counts": [2, 2])";
  const auto with = [&](const std::string& relations) {
    write_set(types, counts, R"("relations": )" + relations);
    return error();
  };
  EXPECT_THAT(with(R"([["authorr", "writes", "paper"]])"),
              HasSubstr("meta.json:key relations: [authorr, writes, paper] has the unknown vertex "
                        "type \"authorr\"; did you mean \"author\"? there are paper, author"));
  EXPECT_THAT(with(R"([["author", "writes", "institution"]])"),
              AllOf(HasSubstr("unknown vertex type \"institution\""),
                    HasSubstr("there are paper, author")));
  EXPECT_THAT(with(R"([["author", "writes"]])"),
              HasSubstr("expected [source type, name, destination type], found [author, writes]"));
  EXPECT_THAT(with(R"([["author", "writes to", "paper"]])"), HasSubstr("is no name"));
  EXPECT_THAT(with(R"([["author", "a", "paper"], ["author", "a", "paper"]])"),
              HasSubstr("has [author, a, paper] twice"));
  EXPECT_THAT(with("[]"), HasSubstr("relations: expected at least one"));
  EXPECT_THAT(with(R"(["author", "writes", "paper"])"), HasSubstr("relations: expected a list"));
  write_set(R"("vertex_types": ["paper", "paper"])");
  EXPECT_THAT(error(), HasSubstr("vertex_types: has \"paper\" twice"));
  write_set(R"("vertex_types": ["paper", "An author"])");
  EXPECT_THAT(error(), HasSubstr("\"An author\" is no name"));
}

TEST_F(TypedFilesTest, WrongCountsAreErrors) {
  for (const char* counts : {"[2, 3]", "[2, 1]", "[9223372036854775807, 2]"}) {
    write_set(R"("vertex_types": ["paper", "author"])",
              fmt::format(R"("vertex_type_counts": {})", counts));
    EXPECT_THAT(error(), HasSubstr("do not sum up to the 4 vertices")) << counts;
  }
  write_set(R"("vertex_types": ["paper", "author"])", R"("vertex_type_counts": [4])");
  EXPECT_THAT(error(), HasSubstr("expected a count for each of the 2 types"));
  write_set(R"("vertex_types": ["paper", "author"])", R"("vertex_type_counts": [5, -1])");
  EXPECT_THAT(error(), HasSubstr("vertex_type_counts: expected counts, found -1"));
}

TEST_F(TypedFilesTest, TypesAndRelationsComeTogether) {
  write_set("");
  EXPECT_THAT(error(), HasSubstr("vertex_type_counts: needs \"vertex_types\""));
  write_set("", "", "");
  EXPECT_THAT(error(), HasSubstr("vertex_types: expected the types that edge_relations.npy goes"));
  write_set(R"("vertex_types": ["paper", "author"])", R"("vertex_type_counts": [2, 2])", "");
  EXPECT_THAT(error(), HasSubstr("relations: expected a list"));
  write_set();
  std::filesystem::remove(file("edge_relations.npy"));
  EXPECT_THAT(error(), HasSubstr("edge_relations.npy"));
}

TEST_F(TypedFilesTest, AMisspeltKeyIsNamedWhereTheRightOneIsMissing) {
  const std::string types = R"("vertex_types": ["paper", "author"])",
                    counts = R"("vertex_type_counts": [2, 2])",
                    typs = R"("vertex_typs": ["paper", "author"])",
                    slip = R"("vertex_typs" is there: did you mean "vertex_types"?)";
  write_set(typs);
  EXPECT_THAT(error(),
              AllOf(HasSubstr("key vertex_type_counts: needs \"vertex_types\", which is missing; "),
                    HasSubstr(slip)));
  write_set(typs, "", "");
  EXPECT_THAT(error(),
              AllOf(HasSubstr("edge_relations.npy goes with, found none; "), HasSubstr(slip)));
  write_set(types, counts, R"("relation": [["author", "writes", "paper"]])");
  EXPECT_THAT(error(), AllOf(HasSubstr("key relations: expected a list"),
                             HasSubstr(R"("relation" is there: did you mean "relations"?)")));
  write_set(types, R"("vertex_type_count": [2, 2])");
  EXPECT_THAT(error(), HasSubstr(R"(did you mean "vertex_type_counts"?)"));
}

TEST_F(TypedFilesTest, WrongEdgesAreErrorsWithTheirPlace) {
  write_set();
  write_npy<std::int32_t>("edge_relations.npy", {5}, {0, 0, 1, 3, 2});
  EXPECT_THAT(error(), HasSubstr("edge_relations.npy:element 3: expected a relation from 0 to 2, "
                                 "found 3"));
  write_npy<std::int32_t>("edge_relations.npy", {5}, {0, 0, 1, 2, 2});
  EXPECT_THAT(error(),
              HasSubstr("edges.npy:element [0, 3]: expected a vertex of type paper (0 to 1), as "
                        "relation paper.cites.paper has it, found 3"));
  write_npy<std::int32_t>("edge_relations.npy", {4}, {0, 0, 1, 1});
  EXPECT_THAT(error(), HasSubstr("edge_relations.npy"));
  write_set();
  write_npy<std::int32_t>("edges.npy", {2, 5}, {2, 3, 3, 3, 1, 0, 0, 0, 7, 0});
  EXPECT_THAT(error(), HasSubstr("expected a vertex from 0 to 3, found 7"));
}

TEST_F(TypedFilesTest, AShortFileMayNotNameRelationsThatTakeAllMemory) {
  std::string names = R"(["paper", "r0", "paper"])";
  for (int r = 1; r < 3000; ++r) names += fmt::format(R"(, ["paper", "r{}", "paper"])", r);
  write_set(R"("vertex_types": ["paper"])", R"("vertex_type_counts": [1000000])",
            R"("relations": [)" + names + "]");
  std::string meta = read("meta.json");
  meta.replace(meta.find("4,"), 1, "1000000");
  write("meta.json", meta);
  std::filesystem::remove(file("labels.npy"));

  EXPECT_THAT(error(), HasSubstr("for 1000000 vertices with so few edges, found 3000"));
}

TEST_F(TypedFilesTest, ReversesAreAddedAsRelationsWhereTheyAreMissing) {
  write_set(R"("vertex_types": ["paper", "author"])", R"("vertex_type_counts": [2, 2])",
            R"("relations": [["author", "writes", "paper"], ["author", "reviews", "paper"],
                             ["paper", "rev_cites", "paper"]])");
  DatasetOptions options;
  options.path = folder_.string();
  options.symmetric = true;

  const Dataset dataset = load_dataset(options);

  EXPECT_TRUE(dataset.symmetric);
  EXPECT_THAT(
      dataset.typed->texts(),
      ElementsAre("author.writes.paper", "author.reviews.paper", "paper.rev_cites.paper",
                  "paper.rev_writes.author", "paper.rev_reviews.author", "paper.cites.paper"));
  EXPECT_THAT(dataset.typed->relations[4].graph->row(3), ElementsAre(0, 1));
  EXPECT_EQ(*dataset.graph, symmetrise(*dataset.graph));
  EXPECT_THAT(dataset.notes, Contains(HasSubstr("6 relations")));
  EXPECT_THAT(dataset.notes, Not(Contains(HasSubstr("3 relations"))));
}

TEST_F(TypedFilesTest, ARelationThatIsNoReverseOfItsNamesakeIsAnError) {
  write_set(R"("vertex_types": ["paper", "author"])", R"("vertex_type_counts": [2, 2])",
            R"("relations": [["author", "writes", "paper"], ["paper", "rev_writes", "author"]])");
  write_npy<std::int32_t>("edges.npy", {2, 5}, {2, 3, 0, 0, 1, 0, 0, 2, 3, 3});
  write_npy<std::int32_t>("edge_relations.npy", {5}, {0, 0, 1, 1, 1});
  DatasetOptions options;
  options.path = folder_.string();
  options.symmetric = true;

  EXPECT_THAT(config_error([&] { load_dataset(options); }),
              HasSubstr("dataset.symmetric: paper.rev_writes.author is no reverse of "
                        "author.writes.paper"));
}

TEST_F(TypedFilesTest, VerticesAreNotRenumberedAcrossTypes) {
  write_set();
  DatasetOptions options;
  options.path = folder_.string();
  options.reorder = "bfs";

  EXPECT_THAT(config_error([&] { load_dataset(options); }), HasSubstr("dataset.reorder"));
}

DatasetOptions communities() {
  DatasetOptions options;
  options.generator = "typed-communities";
  options.generate_vertices = 2000;
  options.generate_edges = 16000;
  options.generate_classes = 6;
  options.generate_features = 8;
  options.mixing = 0.2;
  options.seed = 11;
  return options;
}

void expect_equal_types(const Dataset& a, const Dataset& b) {
  EXPECT_EQ(*a.graph, *b.graph);
  EXPECT_EQ(a.typed->texts(), b.typed->texts());
  for (std::size_t r = 0; r < a.typed->relations.size(); ++r)
    EXPECT_EQ(*a.typed->relations[r].graph, *b.typed->relations[r].graph) << r;
  for (std::size_t t = 0; t < a.typed->types.size(); ++t) {
    EXPECT_EQ(a.typed->types[t].name, b.typed->types[t].name);
    EXPECT_EQ(a.typed->types[t].first, b.typed->types[t].first);
    EXPECT_EQ(a.typed->types[t].count, b.typed->types[t].count);
  }
  EXPECT_EQ(a.labels.values, b.labels.values);
}

TEST_F(TypedFilesTest, WhatIsWrittenIsReadAgain) {
  const Dataset made = generate(communities());

  write_orrery(made, file("set"));
  const Dataset read = read_dataset(file("set").string());

  expect_equal_types(read, made);
  EXPECT_EQ(fingerprint_of(read), fingerprint_of(made));
  write_orrery(read, file("set"), true);
  expect_equal_types(read_dataset(file("set").string()), made);
}

/// The weight of the edge from u to v.
float weight_of(const EntryValues<float>& of, Vertex v, Vertex u) {
  return of.values[at(entry_of(*of.graph, v, u))];
}

TEST_F(TypedFilesTest, WeightsOfEdgesAreThoseOfTheirRelation) {
  write_set();
  write_npy<std::int32_t>("edge_relations.npy", {5}, {0, 0, 0, 1, 2});  // 3 writes 0 twice
  write_npy<float>("edge_weights.npy", {5}, {0.5F, 2, 3, 4, 0});
  Dataset dataset = load();
  add_reverse_edges(dataset);

  const EdgeWeights weights = read_edge_weights(folder_, dataset);

  const auto& of = weights->of_relations;
  ASSERT_EQ(of.size(), 6U);
  EXPECT_EQ(weight_of(of[0], 0, 2), 0.5F);
  EXPECT_EQ(weight_of(of[0], 0, 3), 5) << "2 and 3";
  EXPECT_EQ(weight_of(of[1], 1, 3), 4);
  EXPECT_EQ(weight_of(of[2], 0, 1), 0);
  EXPECT_EQ(weight_of(of[3], 3, 0), 5) << "written by";
  EXPECT_EQ(weight_of(of[4], 3, 1), 4) << "reviewed by";
  EXPECT_EQ(weight_of(weights->of_graph, 0, 3), 5);
  EXPECT_EQ(weight_of(weights->of_graph, 3, 1), 4);
  write_orrery(dataset, file("copy"), false, weights.get());
  const EdgeWeights read = read_edge_weights(file("copy"), read_dataset(file("copy").string()));
  for (std::size_t r = 0; r < 6; ++r) EXPECT_EQ(read->of_relations[r].values, of[r].values) << r;
}

/// The features of the edge from u to v.
std::vector<float> features_of(const EdgeFeatures& features, Vertex v, Vertex u,
                               std::optional<std::uint32_t> relation) {
  const Vertex row = features.row_of(v, u, relation);
  std::vector<float> values(at(features.width()));
  features.rows->read({&row, 1}, 0, features.width(), values.data(), features.width());
  return values;
}

TEST_F(TypedFilesTest, FeaturesOfEdgesAreThoseOfTheirRelation) {
  write_set();
  write_npy<float>("edge_features.npy", {5, 2}, {0, 1, 10, 11, 20, 21, 30, 31, 40, 41});
  Dataset dataset = load();
  add_reverse_edges(dataset);
  ASSERT_EQ(dataset.typed->relations.size(), 6U);

  const auto features = read_edge_features(folder_, dataset);

  EXPECT_THAT(features_of(*features, 0, 3, 0), ElementsAre(10, 11)) << "3 writes 0";
  EXPECT_THAT(features_of(*features, 0, 3, 1), ElementsAre(20, 21)) << "3 reviews 0";
  EXPECT_THAT(features_of(*features, 0, 3, {}), ElementsAre(10, 11)) << "the first of both";
  EXPECT_THAT(features_of(*features, 3, 0, 4), ElementsAre(20, 21)) << "reviewed by";
  EXPECT_THAT(features_of(*features, 3, 0, {}), ElementsAre(10, 11));
  EXPECT_THAT(features_of(*features, 1, 3, 1), ElementsAre(30, 31));
  EXPECT_THAT(features_of(*features, 0, 1, 2), ElementsAre(40, 41));
  EXPECT_THAT(features_of(*features, 2, 2, {}), ElementsAre(0, 0)) << "no edge";

  write_orrery(dataset, file("copy"), false, nullptr, features.get());
  const Dataset copy = read_dataset(file("copy").string());
  const auto read = read_edge_features(file("copy"), copy);
  for (std::uint32_t r = 0; r < 6; ++r) {
    const Csr& graph = *dataset.typed->relations[r].graph;
    for (Vertex v = 0; v < 4; ++v)
      for (const Vertex u : graph.row(v))
        EXPECT_EQ(features_of(*read, v, u, r), features_of(*features, v, u, r)) << r;
  }
}

TEST_F(TypedFilesTest, FeaturesOfAnEdgeOfTwoRelationsAreThoseOfTheFirstRelation) {
  write_set();
  write_npy<std::int32_t>("edge_relations.npy", {5},
                          {0, 1, 0, 1, 2});  // 3 reviews 0, then writes it
  write_npy<float>("edge_features.npy", {5, 1}, {0, 1, 2, 3, 4});
  const Dataset dataset = load();

  const auto features = read_edge_features(folder_, dataset);

  EXPECT_THAT(features_of(*features, 0, 3, {}), ElementsAre(2));
  write_orrery(dataset, file("copy"), false, nullptr, features.get());
  const auto read = read_edge_features(file("copy"), read_dataset(file("copy").string()));
  EXPECT_THAT(features_of(*read, 0, 3, {}), ElementsAre(2)) << "written relation by relation";
}

TEST_F(TypedFilesTest, WrongFeaturesOfEdgesAreErrors) {
  write_set();
  const Dataset dataset = load();
  const auto refused = [&](std::vector<std::int64_t> shape, const std::vector<float>& values) {
    write_npy<float>("edge_features.npy", std::move(shape), values);
    return data_error([&] { read_edge_features(folder_, dataset); });
  };
  EXPECT_THAT(refused({4, 1}, {1, 2, 3, 4}), HasSubstr("edge_features.npy"));
  EXPECT_THAT(refused({5}, {1, 2, 3, 4, 5}), HasSubstr("edge_features.npy"));
  EXPECT_THAT(refused({5, 0}, {}), HasSubstr("at least one column"));
  EXPECT_THAT(refused({5, 1}, {1, 2, std::nanf(""), 4, 5}),
              HasSubstr("element [2, 0]: expected a finite number"));
  write_npy<float>("edge_features.npy", {5, 1}, {1, 2, 3, 4, 5});
  write_npy<std::int32_t>("edge_relations.npy", {5}, {0, 0, 1, 1, 7});
  EXPECT_THAT(data_error([&] { read_edge_features(folder_, dataset); }),
              HasSubstr("the file has changed"));
}

TEST_F(TypedFilesTest, TheFingerprintCountsTheRelationOfEachEdge) {
  const Dataset made = generate(communities());
  Dataset renamed = made, untyped = made;
  TypedGraph typed = *made.typed;
  std::swap(typed.relations[0].graph, typed.relations[2].graph);
  renamed.typed = std::make_shared<const TypedGraph>(std::move(typed));
  untyped.typed = nullptr;

  EXPECT_NE(fingerprint_of(renamed), fingerprint_of(made));
  EXPECT_NE(fingerprint_of(untyped), fingerprint_of(made));
}

// ---- the generator

TEST(TypedCommunities, DependOnTheSeedAndNotOnThreads) {
  const Dataset serial = generate(communities());
  for (const int threads : {2, 5}) {
    const ThreadPool pool(threads);
    expect_equal_types(generate(communities()), serial);
  }
  DatasetOptions options = communities();
  options.seed = 12;
  EXPECT_NE(*generate(options).graph, *serial.graph);
}

TEST(TypedCommunities, HaveTheirEdgesBetweenTheirTypesAndReversesOfEach) {
  const Dataset data = generate(communities());
  const TypedGraph& typed = *data.typed;
  EXPECT_TRUE(data.generated);
  EXPECT_TRUE(data.symmetric);
  EXPECT_EQ(*data.graph, union_of(typed));
  std::map<std::string, double> edges;
  for (const Relation& relation : typed.relations) {
    edges[relation.name] = static_cast<double>(relation.graph->nnz());
    for (Vertex v = 0; v < 2000; ++v)
      for (const Vertex u : relation.graph->row(v)) {
        ASSERT_TRUE(typed.type(relation.destination)->has(v));
        ASSERT_TRUE(typed.type(relation.source)->has(u));
      }
    if (relation.name.starts_with(kReversePrefix)) continue;
    const Relation* reverse =
        typed.relation(relation.destination, kReversePrefix + relation.name, relation.source);
    ASSERT_NE(reverse, nullptr);
    EXPECT_EQ(*reverse->graph, transpose(*relation.graph));
  }
  for (const char* name : {"writes", "reviews", "cites"})
    EXPECT_NEAR(edges[name], 4800, 0.002 * 4800) << name;
  EXPECT_NEAR(edges["publishes"], 1600, 4);
  for (Vertex v = 0; v < 2000; ++v)
    EXPECT_EQ(data.labels.values[at(v)] >= 0, typed.type("paper")->has(v));
}

// Over all relations the classes of a pair have the same neighbours; each relation tells them apart.
TEST(TypedCommunities, ReviewersOfAPaperAreAuthorsOfPapersOfTheOtherClass) {
  const Dataset data = generate(communities());
  const auto relation = [&](const char* name) -> const Csr& {
    return *data.typed->relation("author", name, "paper")->graph;
  };
  // The class of most papers that an author writes: a second way to know the author's.
  std::map<Vertex, std::map<std::int32_t, int>> written;
  for (Vertex v = 0; v < 2000; ++v)
    for (const Vertex u : relation("writes").row(v)) ++written[u][data.labels.values[at(v)]];
  const auto most = [&](Vertex author) {
    return std::ranges::max_element(written[author], {}, [](const auto& e) { return e.second; })
        ->first;
  };
  std::map<std::string, int> reviews;
  for (Vertex v = 0; v < 2000; ++v)
    for (const Vertex u : relation("reviews").row(v)) {
      if (written[u].empty()) continue;
      const auto k = data.labels.values[at(v)], other = most(u);
      ++reviews[other == (k ^ 1) ? "pair's other" : other == k ? "same" : "another"];
    }

  EXPECT_GT(reviews["pair's other"], 0.65 * static_cast<double>(relation("reviews").nnz()));
  EXPECT_LT(reviews["same"], 0.1 * static_cast<double>(relation("reviews").nnz()));
}

TEST(TypedCommunities, ImpossibleSizesAreErrors) {
  DatasetOptions options = communities();
  options.generate_classes = 5;
  EXPECT_THAT(config_error([&] { generate(options); }),
              HasSubstr("dataset.classes: typed-communities has pairs of classes: expected an even "
                        "number"));
  options.generate_classes = 6;
  options.generate_vertices = 10;
  options.generate_edges = 10;
  EXPECT_THAT(config_error([&] { generate(options); }), HasSubstr("dataset.vertices"));
}

}  // namespace
}  // namespace orrery
