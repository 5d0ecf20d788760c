// load_dataset: look-up of names and the options.
#include "core/graph/read/load.hpp"

#include <stdlib.h>

#include <algorithm>

#include "core/graph/read/lookup.hpp"
#include "tests/graph/files.hpp"

namespace orrery {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class DatasetTest : public FilesTest {
 protected:
  DatasetTest() {
    const char* value = ::getenv("ORRERY_DATA");
    if (value != nullptr) previous_ = value;
  }
  ~DatasetTest() override {
    if (previous_)
      ::setenv("ORRERY_DATA", previous_->c_str(), 1);
    else
      ::unsetenv("ORRERY_DATA");
  }
  /// Four vertices 0 -> 1 -> 2 -> 3, 0/1 features, labels.
  void write_set(const std::string& folder) const {
    write(folder + "/edge.csv", "0,1\n1,2\n2,3\n");
    write(folder + "/node-feat.csv", "1,1\n0,1\n0,0\n1,0\n");
    write(folder + "/node-label.csv", "0\n1\nnan\n1\n");
  }
  std::optional<std::string> previous_;
};

DatasetOptions options_of_path(const std::string& path) {
  DatasetOptions options;
  options.path = path;
  return options;
}

TEST_F(DatasetTest, BareNameIsLookedUpInEveryFolder) {
  write_set("second/mine");
  ::setenv("ORRERY_DATA", (file("first").string() + ":" + file("second").string()).c_str(), 1);

  EXPECT_EQ(load_dataset(options_of_path("mine")).vertices(), 4);
  EXPECT_EQ(find_dataset("mine"), file("second/mine"));
}

TEST_F(DatasetTest, MissingNameSaysWhereToGetItAndInWhichForm) {
  ::setenv("ORRERY_DATA", folder_.c_str(), 1);

  EXPECT_THAT(config_error([] { load_dataset(options_of_path("ogbn-products")); }),
              AllOf(HasSubstr("dataset.path: no data set 'ogbn-products' here"),
                    HasSubstr("Open Graph Benchmark"), HasSubstr("products.zip")));
  EXPECT_THAT(
      config_error([] { load_dataset(options_of_path("unheard-of")); }),
      AllOf(HasSubstr("folder of NumPy files"), HasSubstr("SNAP"), HasSubstr("Matrix Market")));
}

TEST_F(DatasetTest, PublishedNamesIgnoreCaseAndUnderscores) {
  ASSERT_NE(published_set("OGBN_Arxiv"), nullptr);
  EXPECT_EQ(published_set("OGBN_Arxiv")->name, "ogbn-arxiv");
  EXPECT_EQ(published_set("unheard-of"), nullptr);
}

TEST_F(DatasetTest, SymmetricAddsReverseEdgesAndSaysSo) {
  write_set("set");
  DatasetOptions options = options_of_path(file("set").string());
  options.symmetric = true;

  const Dataset dataset = load_dataset(options);

  EXPECT_EQ(dataset.edges(), 6);
  EXPECT_TRUE(dataset.symmetric);
  EXPECT_THAT(dataset.notes, Contains("symmetrised: 3 directed edges became 6"));
}

TEST_F(DatasetTest, BinaryFeaturesAreRowNormalisedByDefault) {
  write_set("set");
  DatasetOptions options = options_of_path(file("set").string());
  const std::vector<Vertex> first{0};
  std::vector<float> row(2);

  load_dataset(options).features->read(first, 0, 2, row.data(), 2);
  EXPECT_THAT(row, testing::ElementsAre(0.5, 0.5));
  options.row_normalise = false;
  load_dataset(options).features->read(first, 0, 2, row.data(), 2);
  EXPECT_THAT(row, testing::ElementsAre(1, 1));
}

TEST_F(DatasetTest, OtherFeaturesAreNormalisedOnlyWhenAsked) {
  write_set("set");
  write("set/node-feat.csv", "3,1\n0,1\n0,0\n1,0\n");
  DatasetOptions options = options_of_path(file("set").string());
  const std::vector<Vertex> first{0};
  std::vector<float> row(2);

  load_dataset(options).features->read(first, 0, 2, row.data(), 2);
  EXPECT_THAT(row, testing::ElementsAre(3, 1));
  options.row_normalise = true;
  load_dataset(options).features->read(first, 0, 2, row.data(), 2);
  EXPECT_THAT(row, testing::ElementsAre(0.75, 0.25));
}

TEST_F(DatasetTest, RandomFeaturesReplaceAndSaySo) {
  write_set("set");
  DatasetOptions options = options_of_path(file("set").string());
  options.random_features = 16;

  const Dataset dataset = load_dataset(options);

  EXPECT_EQ(dataset.features->width(), 16);
  EXPECT_TRUE(dataset.features->made_up());
  EXPECT_THAT(dataset.notes, Contains("features: generated (random, 16 columns)"));
  options.random_features = 0;
  EXPECT_THAT(config_error([&] { load_dataset(options); }),
              HasSubstr("dataset.features.random: expected 1 to"));
}

TEST_F(DatasetTest, NormalisingAbsentFeaturesIsAnError) {
  write("g.txt", "0 1\n");
  DatasetOptions options = options_of_path(file("g.txt").string());
  options.row_normalise = true;

  EXPECT_THAT(config_error([&] { load_dataset(options); }), HasSubstr("dataset.row_normalise"));
}

TEST_F(DatasetTest, DrawnSplitHasItsSharesAndDependsOnTheSeedOnly) {
  DatasetOptions options;
  options.generator = "communities";
  options.generate_vertices = 1000;
  options.generate_edges = 2000;
  options.seed = 3;
  const auto count = [](const Dataset& d, Split part) { return std::ranges::count(d.split, part); };

  const Dataset a = load_dataset(options), b = load_dataset(options);
  options.seed = 4;
  const Dataset c = load_dataset(options);

  EXPECT_EQ(count(a, Split::train), 700);
  EXPECT_EQ(count(a, Split::validation), 150);
  EXPECT_EQ(count(a, Split::test), 150);
  EXPECT_EQ(a.split, b.split);
  EXPECT_NE(a.split, c.split);
  EXPECT_THAT(a.notes,
              Contains("split: 70/15/15 % of the 1000 labelled vertices, drawn with seed 3"));
}

TEST_F(DatasetTest, UnlabelledVerticesAreNotDrawn) {
  write_set("set");

  const Dataset dataset = load_dataset(options_of_path(file("set").string()));

  EXPECT_EQ(dataset.split[2], Split::none);
  EXPECT_EQ(std::ranges::count(dataset.split, Split::none), 1);
}

TEST_F(DatasetTest, PublishedSplitYieldsToADrawnOneWhenAsked) {
  write_set("set");
  for (const auto& [part, line] : {std::pair{"train", "0\n"}, {"valid", "1\n"}, {"test", "3\n"}})
    write(std::string("set/") + part + ".csv", line);
  DatasetOptions options = options_of_path(file("set").string());

  EXPECT_THAT(load_dataset(options).notes, Contains(HasSubstr("split:")).Times(0));
  options.random_split = true;
  EXPECT_THAT(load_dataset(options).notes, Contains(HasSubstr("split: 70/15/15 %")));
}

TEST_F(DatasetTest, ADrawnSplitHasTheShareThatIsAskedFor) {
  DatasetOptions options;
  options.generator = "communities";
  options.generate_vertices = 1001;
  options.generate_edges = 3000;
  const auto counts = [&] {
    const Dataset dataset = load_dataset(options);
    const auto of = [&](Split split) { return std::ranges::count(dataset.split, split); };
    return std::vector{of(Split::train), of(Split::validation), of(Split::test)};
  };

  EXPECT_THAT(counts(), ElementsAre(701, 150, 150));
  options.training_share = 0.0803;
  EXPECT_THAT(counts(), ElementsAre(80, 461, 460));
  EXPECT_THAT(load_dataset(options).notes, Contains(HasSubstr("split: 8.03/")));
  options.training_share = 1;
  EXPECT_THAT(counts(), ElementsAre(1001, 0, 0));
}

TEST_F(DatasetTest, WhatAPublishedSplitLeavesOutTrainsWhenAsked) {
  write_set("set");
  for (const auto& [part, line] : {std::pair{"train", "0\n"}, {"valid", "1\n"}, {"test", ""}})
    write(std::string("set/") + part + ".csv", line);
  DatasetOptions options = options_of_path(file("set").string());
  options.train_on_rest = true;

  const Dataset dataset = load_dataset(options);

  EXPECT_EQ(dataset.split[1], Split::validation);
  EXPECT_EQ(dataset.split[2], Split::none) << "it has no label";
  EXPECT_EQ(dataset.split[3], Split::train);
}

TEST_F(DatasetTest, ReorderAppliesToTheWholeSet) {
  write_set("set");
  DatasetOptions options = options_of_path(file("set").string());
  options.reorder = "bfs";
  EXPECT_THAT(load_dataset(options).notes, Contains(HasSubstr("renumbered for locality (bfs)")));
  options.reorder = "rcm";
  EXPECT_THAT(config_error([&] { load_dataset(options); }),
              HasSubstr("dataset.reorder: expected none, degree, bfs or communities, found 'rcm'"));
}

}  // namespace
}  // namespace orrery
