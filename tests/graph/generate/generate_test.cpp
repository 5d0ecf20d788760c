#include "core/graph/generate/generate.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "core/base/parallel.hpp"
#include "core/graph/statistics.hpp"
#include "tests/graph/files.hpp"

namespace orrery {
namespace {

using testing::Contains;
using testing::HasSubstr;

DatasetOptions options_of_generator(const std::string& generator) {
  DatasetOptions options;
  options.generator = generator;
  options.generate_vertices = 3000;
  options.generate_edges = 24000;
  options.generate_classes = 5;
  options.generate_features = 8;
  options.seed = 11;
  return options;
}

class GeneratorTest : public ::testing::TestWithParam<const char*> {};

TEST_P(GeneratorTest, SameForAnyNumberOfThreads) {
  const DatasetOptions options = options_of_generator(GetParam());
  const Dataset serial = generate(options);

  for (const int threads : {2, 3, 5}) {
    const ThreadPool pool(threads);
    const Dataset parallel = generate(options);
    EXPECT_EQ(*parallel.graph, *serial.graph) << threads << " threads";
    EXPECT_EQ(parallel.labels.values, serial.labels.values) << threads << " threads";
  }
}

TEST_P(GeneratorTest, AnotherSeedGivesAnotherGraph) {
  DatasetOptions options = options_of_generator(GetParam());
  const Dataset first = generate(options);
  options.seed = 12;

  EXPECT_NE(*generate(options).graph, *first.graph);
}

TEST_P(GeneratorTest, EdgesAreAsManyAsAskedBothWaysWithoutLoops) {
  const Dataset dataset = generate(options_of_generator(GetParam()));

  const DatasetStatistics s = dataset_statistics(dataset);

  EXPECT_EQ(s.vertices, 3000);
  EXPECT_NEAR(static_cast<double>(s.edges), 48000, 0.003 * 48000);
  EXPECT_TRUE(s.symmetric);
  EXPECT_TRUE(dataset.symmetric);
  EXPECT_EQ(s.self_loops, 0);
}

TEST_P(GeneratorTest, EverythingMadeUpIsCalledMadeUp) {
  const Dataset dataset = generate(options_of_generator(GetParam()));

  EXPECT_TRUE(dataset.generated);
  EXPECT_TRUE(dataset.features->made_up());
  EXPECT_THAT(dataset.notes, Contains(HasSubstr("graph: generated (")));
  EXPECT_THAT(dataset.notes, Contains(HasSubstr("labels: generated")));
  EXPECT_THAT(dataset.notes, Contains(HasSubstr("features: generated")));
}

TEST_P(GeneratorTest, EveryClassOccurs) {
  const Dataset dataset = generate(options_of_generator(GetParam()));

  const std::set<std::int32_t> classes(dataset.labels.values.begin(), dataset.labels.values.end());

  EXPECT_EQ(classes, (std::set<std::int32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(dataset.features->width(), 8);
}

TEST_P(GeneratorTest, ImpossibleParametersNameTheKey) {
  const auto error = [&](auto&& change) {
    DatasetOptions options = options_of_generator(GetParam());
    change(options);
    return config_error([&] { generate(options); });
  };
  EXPECT_THAT(error([](auto& o) { o.generate_vertices = 0; }),
              HasSubstr("dataset.vertices: expected 1 to 2147483647 vertices, found 0"));
  EXPECT_THAT(error([](auto& o) { o.generate_vertices = 3'000'000'000; }),
              HasSubstr("dataset.vertices"));
  EXPECT_THAT(error([](auto& o) {
                o.generate_vertices = 2'000'000'000;
                o.generate_edges = 1'000'000'000'000'000;
              }),
              HasSubstr("dataset.vertices: expected a graph that fits into memory, found"));
  EXPECT_THAT(error([](auto& o) {
                o.generate_vertices = 4;
                o.generate_edges = 7;
              }),
              HasSubstr("dataset.edges: expected 0 to 6 undirected edges"));
  EXPECT_THAT(error([](auto& o) { o.generate_edges = -1; }), HasSubstr("dataset.edges"));
  EXPECT_THAT(error([](auto& o) { o.generate_classes = -1; }), HasSubstr("dataset.classes"));
  EXPECT_THAT(error([](auto& o) { o.generate_features = -1; }), HasSubstr("dataset.features"));
  EXPECT_THAT(error([](auto& o) { o.mixing = 1.5; }),
              HasSubstr("dataset.mixing: expected a share from 0 to 1, found 1.5"));
  EXPECT_THAT(error([](auto& o) { o.exponent = 1; }), HasSubstr("dataset.exponent"));
  EXPECT_THAT(error([](auto& o) { o.clustering = -0.1; }), HasSubstr("dataset.clustering"));
  EXPECT_THAT(error([](auto& o) { o.generator = "er"; }),
              HasSubstr("dataset.generate: expected communities, skewed-communities, "
                        "typed-communities, mag, mag-lsc, rmat, bter or chung-lu, found 'er'"));
}

INSTANTIATE_TEST_SUITE_P(Generators, GeneratorTest,
                         ::testing::Values("communities", "skewed-communities", "rmat", "chung-lu",
                                           "bter"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::erase(name, '-');
                           return name;
                         });

/// Of a graph that the generator makes, by the shares of the real set.
TEST(MagTest, HasTheTypesAndRelationsOfTheSetsThatItStandsFor) {
  const auto shares = [](const char* generator) {
    DatasetOptions options = options_of_generator(generator);
    options.generate_vertices = 30000;
    options.generate_edges = 150000;
    const Dataset data = generate(options);
    EXPECT_TRUE(data.symmetric);
    EXPECT_EQ(data.vertices(), 30000);
    std::map<std::string, double> share;
    double edges = 0;
    for (const VertexType& type : data.typed->types) share[type.name] = double(type.count) / 30000;
    for (const Relation& relation : data.typed->relations) edges += double(relation.graph->nnz());
    EXPECT_NEAR(edges, 2 * 150000, 3000);
    for (const Relation& relation : data.typed->relations)
      share[relation.text()] = double(relation.graph->nnz()) / edges;
    for (Vertex v = 0; v < 30000; ++v)
      EXPECT_EQ(data.labels.values[at(v)] >= 0, data.typed->types.front().has(v));
    return share;
  };
  const auto mag = shares("mag"), lsc = shares("mag-lsc");
  EXPECT_EQ(mag.size(), 4 + 8);
  EXPECT_NEAR(mag.at("author"), 1134649.0 / 1939743, 1e-3);
  EXPECT_NEAR(mag.at("institution"), 8740.0 / 1939743, 1e-3);
  EXPECT_NEAR(mag.at("author.writes.paper"), 7145660.0 / 21111007 / 2, 2e-3);
  EXPECT_NEAR(mag.at("field_of_study.rev_has_topic.paper"), 7505078.0 / 21111007 / 2, 2e-3);
  EXPECT_EQ(lsc.size(), 3 + 6);
  EXPECT_NEAR(lsc.at("paper.cites.paper"), 1297748926.0 / 1728364234 / 2, 2e-3);
}

TEST(MagTest, HasHubsAndCommunitiesAndFeaturesOfPapersAlone) {
  DatasetOptions options = options_of_generator("mag");
  options.generate_vertices = 20000;
  options.generate_edges = 200000;
  options.feature_signal = 3;
  const Dataset data = generate(options);
  const ThreadPool pool(3);
  EXPECT_EQ(*generate(options).graph, *data.graph);
  const TypedGraph& typed = *data.typed;

  const Relation& topics = *typed.relation("paper", "has_topic", "field_of_study");
  std::vector<std::int64_t> degrees;
  const VertexType& fields = *typed.type("field_of_study");
  for (std::int64_t v = fields.first; v < fields.first + fields.count; ++v)
    degrees.push_back(topics.graph->degree(v));
  std::sort(degrees.rbegin(), degrees.rend());
  const auto tenth =
      std::accumulate(degrees.begin(), degrees.begin() + std::ssize(degrees) / 10, std::int64_t{0});
  EXPECT_GT(double(tenth), 0.3 * double(topics.graph->nnz())) << "a tenth of fields, most edges";

  const Relation& cites = *typed.relation("paper", "cites", "paper");
  std::int64_t alike = 0;
  for (std::int64_t v = 0; v < typed.types.front().count; ++v)
    for (const Vertex u : cites.graph->row(v))
      alike += data.labels.values[at(u)] == data.labels.values[at(v)];
  EXPECT_NEAR(double(alike) / double(cites.graph->nnz()), 1 - options.mixing, 0.05);

  // An author's features are the mean of those of papers and institutions beside the author.
  const Vertex author = static_cast<Vertex>(typed.type("author")->first);
  std::vector<float> row(8), sum(8, 0), other(8);
  data.features->read({&author, 1}, 0, 8, row.data(), 8);
  std::int64_t papers = 0;
  for (const Vertex u : data.graph->row(author)) {
    if (!typed.types.front().has(u)) continue;
    data.features->read({&u, 1}, 0, 8, other.data(), 8);
    for (std::size_t c = 0; c < 8; ++c) sum[c] += other[c];
    ++papers;
  }
  ASSERT_GT(papers, 0);
  for (std::size_t c = 0; c < 8; ++c) EXPECT_NEAR(row[c], sum[c] / float(papers), 1e-5);
}

TEST(ScrambleTest, IsAPermutationOfAnySize) {
  for (const std::int64_t n : {1, 2, 3, 17, 64, 1000, 4097}) {
    const Scramble scramble(n, 7);
    std::set<Vertex> seen;
    for (std::int64_t v = 0; v < n; ++v) seen.insert(scramble(v));
    EXPECT_EQ(std::ssize(seen), n);
    EXPECT_EQ(*seen.begin(), 0);
    EXPECT_EQ(*seen.rbegin(), n - 1);
  }
}

TEST(ScrambleTest, ReachesTheLargestVertices) {
  const Scramble scramble(kMaxVertices, 7);
  std::set<Vertex> seen;
  for (std::int64_t v = kMaxVertices - 1000; v < kMaxVertices; ++v) seen.insert(scramble(v));
  EXPECT_EQ(seen.size(), 1000U);
  EXPECT_GE(*seen.begin(), 0);
}

TEST(CommunitiesTest, MixingIsTheShareOfEdgesBetweenCommunities) {
  for (const double mixing : {0.0, 0.2, 0.6}) {
    DatasetOptions options = options_of_generator("communities");
    options.mixing = mixing;
    EXPECT_NEAR(*dataset_statistics(generate(options)).homophily, 1 - mixing, 0.02);
  }
}

TEST(CommunitiesTest, CommunitiesHaveEqualSize) {
  DatasetOptions options = options_of_generator("communities");
  options.generate_classes = 7;

  const DatasetStatistics s = dataset_statistics(generate(options));

  for (const std::int64_t count : s.label_counts)
    EXPECT_NEAR(static_cast<double>(count), 3000.0 / 7, 1);
}

// 3 communities of 4 vertices hold 3·6 = 18 edges inside.
TEST(CommunitiesTest, EdgesThatDoNotFitAreAnError) {
  DatasetOptions options = options_of_generator("communities");
  options.generate_vertices = 12;
  options.generate_classes = 3;
  options.generate_edges = 30;
  options.mixing = 0;

  EXPECT_THAT(config_error([&] { generate(options); }),
              HasSubstr("dataset.edges: 30 distinct edges do not fit: 18 were found"));
}

TEST(SkewedCommunitiesTest, MixingIsTheShareOfEdgesBetweenCommunities) {
  for (const double mixing : {0.0, 0.2, 0.6}) {
    DatasetOptions options = options_of_generator("skewed-communities");
    options.generate_communities = 5;  // a label each
    options.mixing = mixing;
    EXPECT_NEAR(*dataset_statistics(generate(options)).homophily, 1 - mixing, 0.02);
  }
}

TEST(SkewedCommunitiesTest, CommunitiesAreAlikeInSizeAndInDegrees) {
  DatasetOptions options = options_of_generator("skewed-communities");
  options.generate_communities = 5;
  options.exponent = 2.5;

  const Dataset dataset = generate(options);

  std::array<std::int64_t, 5> vertices{}, edges{}, largest{};
  for (std::int64_t v = 0; v < dataset.vertices(); ++v) {
    const auto k = static_cast<std::size_t>(dataset.labels.values[static_cast<std::size_t>(v)]);
    ++vertices[k];
    edges[k] += dataset.graph->degree(v);
    largest[k] = std::max(largest[k], dataset.graph->degree(v));
  }
  const double mean = static_cast<double>(dataset.edges()) / 5;
  for (std::size_t k = 0; k < 5; ++k) {
    EXPECT_EQ(vertices[k], 600);
    EXPECT_NEAR(static_cast<double>(edges[k]), mean, 0.06 * mean);
    EXPECT_GT(largest[k], 6 * 16) << "six times the mean degree";
  }
}

TEST(SkewedCommunitiesTest, CommunitiesAreDealtToTheClassesInTurn) {
  DatasetOptions options = options_of_generator("skewed-communities");
  options.generate_communities = 10;
  options.mixing = 0;

  const DatasetStatistics s = dataset_statistics(generate(options));

  EXPECT_EQ(*s.homophily, 1);
  for (const std::int64_t count : s.label_counts) EXPECT_EQ(count, 600);
}

// R-MAT's quadrants give each end a bit 0 with probability .76, so degrees are far more spread than
// in a uniform graph: the largest of 3000 with mean 16 would be about 32 there.
TEST(RmatTest, DegreesAreSkewed) {
  const DatasetStatistics s = dataset_statistics(generate(options_of_generator("rmat")));

  EXPECT_GT(s.in_degree.max, 300);
  EXPECT_LT(s.in_degree.median, 10);
  EXPECT_GT(s.in_degree.skewness, 4);
}

class DegreeFileTest : public FilesTest {
 protected:
  DatasetOptions options(const std::string& generator, const std::string& text) const {
    DatasetOptions o = options_of_generator(generator);
    o.generate_vertices = o.generate_edges = 0;
    o.degree_file = write("degrees.txt", text);
    return o;
  }
};

/// Mean local clustering coefficient and mean degree of the vertices `members`.
struct Local {
  double degree = 0, clustering = 0;
};
Local local_means(const Csr& graph, const std::vector<Vertex>& members) {
  Local mean;
  for (const Vertex v : members) {
    const auto row = graph.row(v);
    std::int64_t closed = 0;
    for (const Vertex a : row)
      for (const Vertex b : row) closed += a != b && std::ranges::binary_search(graph.row(a), b);
    const auto d = static_cast<double>(row.size());
    mean.degree += d / static_cast<double>(members.size());
    if (d >= 2)
      mean.clustering +=
          static_cast<double>(closed) / (d * (d - 1)) / static_cast<double>(members.size());
  }
  return mean;
}

/// Splits the vertices at a degree.
std::pair<std::vector<Vertex>, std::vector<Vertex>> split_at(const Csr& graph,
                                                             std::int64_t degree) {
  std::pair<std::vector<Vertex>, std::vector<Vertex>> parts;
  for (Vertex v = 0; v < graph.rows; ++v)
    (graph.degree(v) < degree ? parts.first : parts.second).push_back(v);
  return parts;
}

// 2000 vertices of degree 5 and 400 of degree 40: (10000 + 16000) / 2 = 13000 edges.
TEST_F(DegreeFileTest, ChungLuHasTheDegreesOfTheFile) {
  const Dataset dataset = generate(options("chung-lu", "# degree count\n40 400\n5 2000\n"));

  const auto [low, high] = split_at(*dataset.graph, 20);
  EXPECT_EQ(dataset.vertices(), 2400);
  EXPECT_NEAR(static_cast<double>(dataset.edges()), 26000, 30);
  EXPECT_NEAR(static_cast<double>(high.size()), 400, 4);
  EXPECT_NEAR(local_means(*dataset.graph, low).degree, 5, 0.2);
  EXPECT_NEAR(local_means(*dataset.graph, high).degree, 40, 1);
}

TEST_F(DegreeFileTest, BterHasTheDegreesAndClusteringOfTheFile) {
  const Dataset dataset = generate(options("bter", "5 4000 0.1\n40 820 0.4\n"));

  const auto [low, high] = split_at(*dataset.graph, 20);
  EXPECT_NEAR(static_cast<double>(high.size()), 820, 16);
  EXPECT_NEAR(local_means(*dataset.graph, low).degree, 5, 0.3);
  EXPECT_NEAR(local_means(*dataset.graph, high).degree, 40, 1.5);
  EXPECT_NEAR(local_means(*dataset.graph, low).clustering, 0.1, 0.04);
  EXPECT_NEAR(local_means(*dataset.graph, high).clustering, 0.4, 0.05);
}

TEST_F(DegreeFileTest, BterClustersMoreThanChungLu) {
  const double bter = *dataset_statistics(generate(options_of_generator("bter"))).clustering;
  const double chung_lu =
      *dataset_statistics(generate(options_of_generator("chung-lu"))).clustering;

  EXPECT_GT(bter, 1.5 * chung_lu);
}

TEST_F(DegreeFileTest, ErrorsNameLineOrContradiction) {
  const auto error = [&](const std::string& text) {
    return data_error([&] { generate(options("bter", text)); });
  };
  EXPECT_THAT(error("2 3\n3 x\n"),
              HasSubstr("degrees.txt:line 2: expected a number of vertices, found 'x'"));
  EXPECT_THAT(error("2 3 1.5\n"),
              HasSubstr("line 1: expected a clustering coefficient from 0 to 1, found '1.5'"));
  EXPECT_THAT(error("# none\n"),
              HasSubstr("expected 'degree count [clustering]' lines, found none"));
  EXPECT_THAT(error("9 3\n"), HasSubstr("degrees below the number of vertices"));
  // Above 2^63, which is negative as a number with a sign; and sums that no number holds.
  EXPECT_THAT(error("18446744073709551615 10\n"), HasSubstr("line 1: expected numbers below"));
  EXPECT_THAT(error("1 2147483646\n1 2147483646\n"), HasSubstr("vertices in all, found more"));
  // Petabytes, which the kernel would end the process for.
  EXPECT_THAT(error("1000000 2000000000\n"),
              AllOf(HasSubstr("degrees.txt: expected a graph that fits into memory, found "
                              "2000000000 vertices and 1000000000000000 edges, which need "),
                    HasSubstr(" are available: use fewer")));
  DatasetOptions contradiction = options("chung-lu", "2 30\n");
  contradiction.generate_vertices = 20;
  EXPECT_THAT(config_error([&] { generate(contradiction); }),
              HasSubstr("dataset.vertices: 20 contradicts"));
}

TEST(PowerLawTest, ClassesHaveTheMeanAndTheSlope) {
  DatasetOptions options = options_of_generator("chung-lu");
  options.generate_vertices = 1'000'000;
  options.generate_edges = 8'000'000;
  options.exponent = 2.5;

  const std::vector<DegreeClass> classes = degree_classes(options);

  double vertices = 0, stubs = 0, above_20 = 0, above_80 = 0;
  for (const DegreeClass& c : classes) {
    const auto count = static_cast<double>(c.vertices);
    vertices += count;
    stubs += count * static_cast<double>(c.degree);
    if (c.degree > 20) above_20 += count;
    if (c.degree > 80) above_80 += count;
  }
  EXPECT_EQ(vertices, 1e6);
  EXPECT_NEAR(stubs / vertices, 16, 0.5);
  EXPECT_NEAR(above_20 / above_80, 7.9,
              0.4);  // (80.5 / 20.5)^1.5 = 7.78, a little more by the cut-off
}

TEST(PowerLawTest, ImpossibleMeanIsAnError) {
  DatasetOptions options = options_of_generator("chung-lu");
  options.generate_vertices = 1'000'000;
  options.generate_edges = 10;

  EXPECT_THAT(config_error([&] { generate(options); }),
              HasSubstr("dataset.edges: no power law with exponent 2.1"));
  options.generate_vertices = 50;
  options.generate_edges = 1;
  EXPECT_THAT(config_error([&] { generate(options); }),
              HasSubstr("dataset.edges: 1 edges are too few to give 50 vertices"));
}

// Vertex 0's label is the larger of the two column means over its neighbourhood.
TEST(TaughtLabelsTest, LabelIsTheLargestMeanColumn) {
  DatasetOptions options = options_of_generator("rmat");
  options.generate_classes = 3;
  const Dataset dataset = generate(options);

  for (const Vertex v : {0, 17, 2999}) {
    std::vector<Vertex> around(dataset.graph->row(v).begin(), dataset.graph->row(v).end());
    around.push_back(v);
    std::vector<float> values(around.size() * 3);
    dataset.features->read(around, 0, 3, values.data(), 3);
    std::array<double, 3> sum{};
    for (std::size_t i = 0; i < values.size(); ++i) sum[i % 3] += values[i];
    EXPECT_EQ(dataset.labels.values[static_cast<std::size_t>(v)],
              std::ranges::max_element(sum) - sum.begin());
  }
}

TEST(TaughtLabelsTest, MoreClassesThanFeaturesIsAnError) {
  DatasetOptions options = options_of_generator("rmat");
  options.generate_features = 4;

  EXPECT_THAT(config_error([&] { generate(options); }),
              HasSubstr("dataset.features: expected at least 5 columns"));
}

using Json = nlohmann::json;

/// Whether experiments/config/schema.json takes `key` beside this generator (and a degree file).
bool schema_takes(const Json& property, const std::string& generator, bool with_degree_file) {
  if (with_degree_file && property.value("x-without", "") == "degree_file") return false;
  const Json wanted = property.at("x-when").at("generate");
  return !wanted.is_array() || std::find(wanted.begin(), wanted.end(), generator) != wanted.end();
}

TEST(IgnoredKeysTest, AreThoseThatTheSchemaRefuses) {
  std::ifstream file(ORRERY_SOURCES "/experiments/config/schema.json");
  const Json schema = Json::parse(file).at("properties").at("dataset").at("properties");

  int compared = 0;
  for (const auto& [key, property] : schema.items()) {
    if (!property.contains("x-when") || !property["x-when"].contains("generate")) continue;
    for (const char* generator : {"communities", "skewed-communities", "rmat", "bter", "chung-lu"})
      for (const bool with_degree_file : {false, true}) {
        const bool takes = schema_takes(property, generator, with_degree_file);
        const bool honours = !why_ignored(key, generator, with_degree_file);
        if (key == "feature_signal")  // read by class_features alone, so never looser than here
          EXPECT_EQ(honours, std::string(generator).ends_with("communities"));
        else
          EXPECT_EQ(honours, takes) << key << " with " << generator << ", " << with_degree_file;
        ++compared;
      }
  }
  EXPECT_GE(compared, 64);
}

TEST(IgnoredKeysTest, AreRefusedWithTheGeneratorsThatHaveThem) {
  EXPECT_EQ(why_ignored("mixing", "rmat", false),
            "only goes with communities, skewed-communities, typed-communities, mag, mag-lsc");
  EXPECT_EQ(why_ignored("exponent", "rmat", false),
            "only goes with bter, chung-lu, skewed-communities");
  EXPECT_EQ(why_ignored("exponent", "bter", true), "does not go with a degree file, which has it");
  EXPECT_EQ(why_ignored("degree_file", "communities", true),
            "only goes with bter, chung-lu, skewed-communities");
  EXPECT_EQ(why_ignored("degree_file", "bter", true), std::nullopt);
  EXPECT_EQ(why_ignored("features", "rmat", false), std::nullopt);
}

}  // namespace
}  // namespace orrery
