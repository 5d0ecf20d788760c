// Folders in which each type of vertices has features of its own, or none.
#include "core/graph/read/features_by_type.hpp"

#include <fmt/core.h>

#include <numeric>
#include <regex>

#include "core/base/half.hpp"
#include "core/base/index.hpp"
#include "core/graph/files/npy_half.hpp"
#include "core/graph/read/load.hpp"
#include "core/graph/read/streamed_dataset.hpp"
#include "core/graph/read/write_orrery.hpp"
#include "tests/graph/files.hpp"

namespace orrery {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class FeaturesByTypeTest : public FilesTest {
 protected:
  /// Papers 0 to 2, authors 3 and 4, venues 5 and 6. Author 3 wrote papers 0 and 2, author 4 none;
  /// papers 1 and 2 appeared in venue 6.
  void write_set(const std::string& types = R"(["paper", "venue"])") const {
    write("meta.json", R"({"num_nodes": 7, "num_edges": 4,
        "vertex_types": ["paper", "author", "venue"], "vertex_type_counts": [3, 2, 2],
        "relations": [["author", "writes", "paper"], ["paper", "in", "venue"]],
        "feature_storage": {"kind": "by_type", "types": )" +
                           types + "}}");
    write_npy<std::int32_t>("edges.npy", {2, 4}, {3, 3, 1, 2, 0, 2, 6, 6});
    write_npy<std::int32_t>("edge_relations.npy", {4}, {0, 0, 1, 1});
    write_npy<float>("features_paper.npy", {3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
    write_npy<float>("features_venue.npy", {2, 2}, {-1, -2, -3, -4});
  }
  Dataset load(const std::string& missing_features) const {
    return read_dataset(folder_.string(), "auto", missing_features);
  }
  std::string error() const {
    return data_error([&] { load(""); });
  }
};

/// Rows, columns [first, width).
std::vector<float> values_of(const Dataset& data, std::vector<Vertex> rows,
                             std::int64_t first = 0) {
  const std::int64_t cols = data.features->width() - first;
  std::vector<float> values(rows.size() * at(cols), -99);
  data.features->read(rows, first, cols, values.data(), cols);
  return values;
}

TEST_F(FeaturesByTypeTest, NarrowerRowsEndInZerosAndTypesWithoutAnyMayHaveZeros) {
  write_set();

  const Dataset data = load("zero");

  EXPECT_EQ(data.features->width(), 3);
  EXPECT_EQ(data.features->rows(), 7);
  EXPECT_FALSE(data.features->half());
  // Types in turns, and a type twice.
  EXPECT_THAT(values_of(data, {6, 0, 2, 3, 5}),
              ElementsAre(-3, -4, 0, 1, 2, 3, 7, 8, 9, 0, 0, 0, -1, -2, 0));
  EXPECT_THAT(values_of(data, {6, 1, 4}, 1), ElementsAre(-4, 0, 5, 6, 0, 0));
  EXPECT_THAT(values_of(data, {6, 1}, 2), ElementsAre(0, 6));
  EXPECT_THAT(data.notes,
              AllOf(Contains("features: 3 columns; those of venue (2) end in zeros"),
                    Contains("features: author have none, so theirs are 0 (missing_features)")));
  EXPECT_EQ(data.features->provenance(),
            "mapped files features_TYPE.npy (paper, venue); zeros for author");
}

TEST_F(FeaturesByTypeTest, TypesWithoutAnyHaveTheMeanOfTheirNeighboursUnlessZerosAreAskedFor) {
  write_set();
  for (const char* asked : {"", "mean"}) {
    const Dataset data = load(asked);
    EXPECT_THAT(values_of(data, {3, 4}), ElementsAre(4, 5, 6, 0, 0, 0)) << "papers 0 and 2; none";
    EXPECT_THAT(values_of(data, {1, 5}), ElementsAre(4, 5, 6, -1, -2, 0));
    EXPECT_THAT(data.notes, Contains(HasSubstr("1 without such neighbours have 0")));
  }
}

TEST_F(FeaturesByTypeTest, HalvesStayHalves) {
  write_set(R"(["paper"])");
  std::vector<Half> halves;
  for (int i = 0; i < 9; ++i) halves.push_back(to_half(0.5F * static_cast<float>(i)));
  write_npy<Half>("features_paper.npy", {3, 3}, halves);

  const Dataset data = load("zero");

  ASSERT_TRUE(data.features->half());
  EXPECT_THAT(values_of(data, {2, 4}), ElementsAre(3, 3.5F, 4, 0, 0, 0));
  const std::vector<Vertex> rows{4, 1};
  std::vector<Half> read(6, to_half(-99));
  data.features->read_half(rows, 0, 3, read.data(), 3);
  std::vector<float> floats;
  for (const Half x : read) floats.push_back(to_float(x));
  EXPECT_THAT(floats, ElementsAre(0, 0, 0, 1.5F, 2, 2.5F));

  write_npy<float>("features_venue.npy", {2, 3}, {0, 0, 0, 1, 1, 1});
  write("meta.json", std::regex_replace(FilesTest::read("meta.json"), std::regex(R"(\["paper"\])"),
                                        R"(["venue", "paper"])"));
  EXPECT_FALSE(load("zero").features->half()) << "one type has whole numbers of 32 bits";
}

TEST_F(FeaturesByTypeTest, AConvertedFolderHasTheSameRows) {
  write_set();
  const Dataset data = load("mean");

  write_orrery(data, file("out"), false);
  const Dataset again = read_dataset(file("out").string());

  std::vector<Vertex> all(7);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(values_of(again, all), values_of(data, all));
}

TEST_F(FeaturesByTypeTest, WrongTypesAndFilesAreErrors) {
  const std::string key = "meta.json:key feature_storage/";
  write_set(R"(["paper", "venues"])");
  EXPECT_THAT(error(), AllOf(HasSubstr(key + "types: has"), HasSubstr("venues"),
                             HasSubstr("did you mean \"venue\"?")));
  write_set(R"(["paper", "paper"])");
  EXPECT_THAT(error(), HasSubstr(key + "types: has \"paper\" twice"));
  write_set("[]");
  EXPECT_THAT(error(), HasSubstr(key + "types: expected a type with features, found none"));
  write_set(R"(["../paper"])");
  EXPECT_THAT(error(), HasSubstr(key + "types: has"));
  write_set(R"(["author"])");
  EXPECT_THAT(error(), HasSubstr("features_author.npy"));
  write_set();
  write_npy<float>("features_venue.npy", {3, 2}, {0, 0, 0, 0, 0, 0});
  EXPECT_THAT(error(), AllOf(HasSubstr("features_venue.npy"), HasSubstr("[2, ")));
  write_set();
  write_npy<std::int32_t>("features_venue.npy", {2, 2}, {0, 0, 0, 0});
  EXPECT_THAT(error(), AllOf(HasSubstr("features_venue.npy"), HasSubstr("<f4")));
  write_set();
  write("meta.json", R"({"num_nodes": 7, "num_edges": 4, "feature_storage": {"kind": "by_type"}})");
  std::filesystem::remove(file("edge_relations.npy"));
  EXPECT_THAT(error(), HasSubstr(key + "kind: is 'by_type', which needs \"vertex_types\""));
}

TEST_F(FeaturesByTypeTest, AStatedShapeMustBeThatOfAllTypes) {
  const std::string shape = "meta.json:key feature_storage/shape: is [7,4], but ";
  const auto with = [&](const std::string& stated, const std::string& more = "") {
    write_set(R"(["paper", "venue"], "shape": )" + stated);
    const std::string meta = FilesTest::read("meta.json");
    write("meta.json", "{" + more + meta.substr(meta.find('{') + 1));
    return error();
  };
  EXPECT_EQ(with("[7, 3]"), "no error");
  EXPECT_EQ(with("[7, 3]", R"("num_features": 3, )"), "no error");
  EXPECT_THAT(with("[7, 4]"), HasSubstr(shape + "all files features_TYPE.npy together have [7,3]"));
  EXPECT_THAT(with("[7, 4]", R"("num_features": 3, )"),
              HasSubstr(shape + "num_nodes and num_features say [7,3]"));
}

TEST_F(FeaturesByTypeTest, MissingFeaturesIsRefusedWhereNoneAreMissing) {
  write_set(R"(["paper", "venue", "author"])");
  write_npy<float>("features_author.npy", {2, 1}, {10, 20});
  EXPECT_THAT(config_error([&] { load("zero"); }), HasSubstr("dataset.missing_features: is of"));
  EXPECT_THAT(values_of(load(""), {4, 0}), ElementsAre(20, 0, 0, 1, 2, 3));
}

TEST_F(FeaturesByTypeTest, StreamsNeedConvertedFeatures) {
  write_set();
  DatasetOptions options;
  options.path = folder_.string();
  EXPECT_THAT(data_error([&] { open_streamed_dataset(options); }),
              HasSubstr("feature_storage/kind: is 'by_type', which is read whole alone: orrery "
                        "dataset convert"));
}

TEST_F(FeaturesByTypeTest, MeansOfShortFilesMayNotTakeAllMemory) {
  constexpr std::int64_t kMany = 900'000;
  write("meta.json", fmt::format(R"({{"num_nodes": {}, "num_edges": 0,
        "vertex_types": ["paper", "author"], "vertex_type_counts": [1, {}],
        "relations": [["author", "writes", "paper"]],
        "feature_storage": {{"kind": "by_type", "types": ["paper"]}}}})",
                                 kMany + 1, kMany));
  write_npy<std::int32_t>("edges.npy", {2, 0}, {});
  write_npy<std::int32_t>("edge_relations.npy", {0}, {});
  write_npy<float>("features_paper.npy", {1, 2000}, std::vector<float>(2000, 1));
  EXPECT_THAT(error(), HasSubstr("means of 2000 columns for 900001 vertices are more than"));
  EXPECT_THAT(values_of(load("zero"), {0, kMany}, 1999), ElementsAre(1, 0));
}

}  // namespace
}  // namespace orrery
