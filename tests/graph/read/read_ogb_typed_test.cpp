// OGB's sets of several types, as its ogbn-mag unpacks. OGB writes them with pandas: all files are
// .csv.gz, and only num-node-dict and nodetype-has-* have a header. Its reader
// (ogb/io/read_graph_raw.py) reads labels of the types for which nodetype-has-label.csv says True,
// splits likewise, and features where they are. Numbers of vertices count from 0 in each type.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/graph/files/text.hpp"
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

const std::string kAffiliated = "set/raw/relations/author___affiliated_with___institution/",
                  kWrites = "set/raw/relations/author___writes___paper/",
                  kCites = "set/raw/relations/paper___cites___paper/",
                  kTopic = "set/raw/relations/paper___has_topic___field_of_study/",
                  kFeatures = "set/raw/node-feat/paper/node-feat.csv.gz",
                  kLabels = "set/raw/node-label/paper/node-label.csv.gz",
                  kTypes = "set/raw/num-node-dict.csv.gz",
                  kTriplets = "set/raw/triplet-type-list.csv.gz";

std::vector<float> features_of(const Dataset& data) {
  const auto width = data.features->width();
  std::vector<Vertex> all(at(data.vertices()));
  for (std::size_t v = 0; v < all.size(); ++v) all[v] = static_cast<Vertex>(v);
  std::vector<float> values(all.size() * at(width));
  data.features->read(all, 0, width, values.data(), width);
  return values;
}

std::vector<float> row_of(const Dataset& data, Vertex v) {
  const auto values = features_of(data);
  const auto width = data.features->width();
  return {values.begin() + v * width, values.begin() + (v + 1) * width};
}

class ReadTypedOgbTest : public FilesTest {
 protected:
  void write_relation(const std::string& folder, const std::string& edges,
                      const std::string& relation) const {
    write_gzip(folder + "edge.csv.gz", edges);
    const auto count = std::ranges::count(edges, '\n');
    write_gzip(folder + "num-edge-list.csv.gz", fmt::format("{}\n", count));
    std::string kinds;
    for (auto i = count; i > 0; --i) kinds += relation + "\n";
    write_gzip(folder + "edge_reltype.csv.gz", kinds);
  }
  void write_names() const {
    const std::string types = "author,field_of_study,institution,paper\n";
    for (const char* name : {"nodetype-has-feat", "nodetype-has-label"})
      write_gzip(fmt::format("set/raw/{}.csv.gz", name), types + "False,False,False,True\n");
    write_gzip("set/split/time/nodetype-has-split.csv.gz", types + "False,False,False,True\n");
    write_gzip(kTriplets,
               "author,affiliated_with,institution\nauthor,writes,paper\npaper,cites,paper\n"
               "paper,has_topic,field_of_study\n");
  }
  /// Authors 0 to 3, fields 4 to 6, institutions 7 and 8, papers 9 to 13. Author 3 and field 2 have
  /// no paper.
  void write_set() const {
    std::filesystem::remove_all(file("set"));
    write_names();
    write_gzip(kTypes, "author,field_of_study,institution,paper\n4,3,2,5\n");
    write_relation(kAffiliated, "0,0\n1,0\n1,1\n3,1\n", "0");
    write_relation(kWrites, "0,0\n0,1\n1,1\n2,4\n", "1");
    write_relation(kCites, "1,0\n2,0\n3,1\n", "2");
    write_relation(kTopic, "0,0\n1,0\n2,1\n3,1\n4,1\n", "3");
    write_gzip(kFeatures, "0.5,-1.0\n2.0,0.25\n0.0,1.0\n-4.0,8.0\n1.0,1.0\n");
    write_gzip("set/raw/node-feat/paper/node_year.csv.gz", "2015\n2012\n2012\n2012\n2019\n");
    write_gzip(kLabels, "2\n0\n1\nnan\n0\n");
    write_gzip("set/split/time/paper/train.csv.gz", "0\n1\n");
    write_gzip("set/split/time/paper/valid.csv.gz", "2\n");
    write_gzip("set/split/time/paper/test.csv.gz", "4\n");
    write("set/RELEASE_v2.txt", "# Release note for ogbn-mag\n");
    write_gzip("set/mapping/paper_entidx2name.csv.gz", "ent idx,ent name\n0,9657784\n");
  }
  Dataset load(const std::string& missing_features = "") const {
    return read_dataset(file("set").string(), "auto", missing_features);
  }
  std::string error() const {
    return data_error([&] { load(); });
  }
  std::string error_with(const std::string& name, const std::string& text) const {
    write_set();
    write_gzip(name, text);
    return error();
  }
};

TEST_F(ReadTypedOgbTest, TypesAndRelationsComeInTheOrderOfTheirLists) {
  write_set();

  const Dataset data = load();

  ASSERT_TRUE(data.typed);
  std::vector<std::string> types;
  for (const VertexType& type : data.typed->types)
    types.push_back(fmt::format("{} {} {}", type.name, type.first, type.count));
  EXPECT_THAT(types,
              ElementsAre("author 0 4", "field_of_study 4 3", "institution 7 2", "paper 9 5"));
  EXPECT_THAT(data.typed->texts(),
              ElementsAre("author.affiliated_with.institution", "author.writes.paper",
                          "paper.cites.paper", "paper.has_topic.field_of_study"));
  const auto row = [&](std::size_t relation, std::int64_t v) {
    const auto found = data.typed->relations[relation].graph->row(v);
    return std::vector<Vertex>(found.begin(), found.end());
  };
  EXPECT_THAT(row(0, 7), ElementsAre(0, 1));
  EXPECT_THAT(row(0, 8), ElementsAre(1, 3));
  EXPECT_THAT(row(1, 9), ElementsAre(0));
  EXPECT_THAT(row(1, 10), ElementsAre(0, 1));
  EXPECT_THAT(row(1, 13), ElementsAre(2));
  EXPECT_THAT(row(2, 9), ElementsAre(10, 11));
  EXPECT_THAT(row(2, 10), ElementsAre(12));
  EXPECT_THAT(row(3, 4), ElementsAre(9, 10));
  EXPECT_THAT(row(3, 5), ElementsAre(11, 12, 13));
  EXPECT_EQ(data.typed->edges(), 16);
  EXPECT_EQ(*data.graph, union_of(*data.typed));
  EXPECT_EQ(data.name, "set");
  EXPECT_FALSE(data.symmetric);
}

TEST_F(ReadTypedOgbTest, NarrowerFeaturesEndInZeros) {
  write_set();
  write_gzip("set/raw/node-feat/author/node-feat.csv.gz", "1,2,3\n4,5,6\n7,8,9\n1,1,1\n");

  const Dataset data = load("zero");

  EXPECT_EQ(data.features->width(), 3);
  EXPECT_THAT(row_of(data, 1), ElementsAre(4, 5, 6));      // an author
  EXPECT_THAT(row_of(data, 5), ElementsAre(0, 0, 0));      // a field of study
  EXPECT_THAT(row_of(data, 10), ElementsAre(2, 0.25, 0));  // a paper
  EXPECT_THAT(data.notes, Contains("features: 3 columns; those of paper (2) end in zeros"));
}

TEST_F(ReadTypedOgbTest, LabelsAndTheSplitAreThoseOfPapers) {
  write_set();

  const Dataset data = load();

  EXPECT_EQ(data.labels.classes, 3);
  EXPECT_FALSE(data.labels.multilabel);
  EXPECT_THAT(data.labels.values, ElementsAre(-1, -1, -1, -1, -1, -1, -1, -1, -1, 2, 0, 1, -1, 0));
  constexpr Split kNone = Split::none;
  EXPECT_THAT(data.split,
              ElementsAre(kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone,
                          Split::train, Split::train, Split::validation, kNone, Split::test));
}

TEST_F(ReadTypedOgbTest, OtherTypesHaveTheMeanOfTheirNeighboursFeatures) {
  write_set();

  const Dataset data = load();

  EXPECT_THAT(row_of(data, 9), ElementsAre(0.5F, -1));
  EXPECT_THAT(row_of(data, 12), ElementsAre(-4, 8));
  EXPECT_THAT(row_of(data, 0), ElementsAre(1.25F, -0.375F)) << "author of papers 0 and 1";
  EXPECT_THAT(row_of(data, 1), ElementsAre(2, 0.25F));
  EXPECT_THAT(row_of(data, 3), ElementsAre(0, 0)) << "has no paper";
  EXPECT_THAT(row_of(data, 4), ElementsAre(1.25F, -0.375F)) << "topic of papers 0 and 1";
  EXPECT_THAT(row_of(data, 6), ElementsAre(0, 0));
  EXPECT_THAT(row_of(data, 7), ElementsAre(1.625F, -0.0625F)) << "mean of authors 0 and 1";
  EXPECT_THAT(row_of(data, 8), ElementsAre(2, 0.25F)) << "author 3 has no features";
  EXPECT_THAT(
      data.notes,
      Contains("features: author, field_of_study, institution have none, so each vertex has "
               "the mean of its neighbours' (missing_features); 2 without such neighbours "
               "have 0"));
  EXPECT_THAT(data.features->provenance(), AllOf(HasSubstr("raw/node-feat (paper)"),
                                                 HasSubstr("means of neighbours for author")));
  EXPECT_FALSE(data.features->made_up());
}

TEST_F(ReadTypedOgbTest, OtherTypesMayHaveZeros) {
  write_set();

  const Dataset data = load("zero");

  const auto values = features_of(data);
  EXPECT_EQ(std::count(values.begin(), values.begin() + 18, 0.0F), 18);
  EXPECT_THAT(row_of(data, 13), ElementsAre(1, 1));
  EXPECT_THAT(data.notes, Contains("features: author, field_of_study, institution have none, so "
                                   "theirs are 0 (missing_features)"));
}

/// Means by sets of pairs, type by type, from the lists of edges.
TEST_F(ReadTypedOgbTest, MeansAreThoseOfBruteForceOnAnyNumberOfThreads) {
  constexpr int kOf[] = {900, 60, 20, 700}, kFirst[] = {0, 900, 960, 980};
  constexpr int kWidth = 5;
  std::mt19937 draws(7);
  std::set<std::pair<int, int>> neighbours;
  const auto edges = [&](int source, int destination, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      const int from = static_cast<int>(draws() % static_cast<unsigned>(kOf[source])),
                to = static_cast<int>(draws() % static_cast<unsigned>(kOf[destination]));
      text += fmt::format("{},{}\n", from, to);
      neighbours.insert({kFirst[source] + from, kFirst[destination] + to});
      neighbours.insert({kFirst[destination] + to, kFirst[source] + from});
    }
    return text;
  };
  write_set();
  write_gzip(kTypes, "author,field_of_study,institution,paper\n900,60,20,700\n");
  // An author of two relations with one paper counts it once.
  const std::string again = "0,0\n0,1\n";
  write_relation(kAffiliated, edges(0, 2, 500), "0");
  write_relation(kWrites, edges(0, 3, 1200) + again + again, "1");
  write_relation(kCites, edges(3, 3, 900), "2");
  write_relation(kTopic, edges(3, 1, 800), "3");
  write_relation("set/raw/relations/paper___thanks___author/", "0,0\n5,0\n", "4");
  write_gzip(kTriplets,
             "author,affiliated_with,institution\nauthor,writes,paper\n"
             "paper,cites,paper\npaper,has_topic,field_of_study\n"
             "paper,thanks,author\n");
  for (const int paper : {0, 1, 5}) {
    neighbours.insert({0, 980 + paper});
    neighbours.insert({980 + paper, 0});
  }
  std::map<int, std::vector<double>> expected;
  std::string features, labels;
  for (int v = 0; v < 700; ++v) {
    for (int c = 0; c < kWidth; ++c) {
      const int value = static_cast<int>(draws() % 2001U) - 1000;
      expected[980 + v].push_back(value / 8.0);
      features += fmt::format("{}{}", value / 8.0, c + 1 < kWidth ? "," : "\n");
    }
    labels += fmt::format("{}\n", v % 7);
  }
  write_gzip(kFeatures, features);
  write_gzip(kLabels, labels);
  std::int64_t without = 0;
  for (const auto& round : {std::vector<int>{0, 1}, std::vector<int>{2}}) {
    const auto before = expected;
    for (const int type : round)
      for (int v = kFirst[type]; v < kFirst[type] + kOf[type]; ++v) {
        std::vector<double> sum(kWidth, 0);
        int count = 0;
        for (auto pair = neighbours.lower_bound({v, 0});
             pair != neighbours.end() && pair->first == v; ++pair) {
          if (!before.contains(pair->second)) continue;
          ++count;
          for (int c = 0; c < kWidth; ++c) sum[at(c)] += before.at(pair->second)[at(c)];
        }
        for (double& x : sum) x = static_cast<float>(x / std::max(count, 1));
        without += count == 0;
        if (count > 0) expected[v] = sum;
      }
  }
  ASSERT_GT(without, 20);

  const ThreadPool one(1);
  const Dataset data = load();
  const ThreadPool three(3);
  const auto values = features_of(data);

  EXPECT_EQ(features_of(load()), values);
  for (int v = 0; v < 1680; ++v)
    for (int c = 0; c < kWidth; ++c)
      ASSERT_EQ(values[at(v * kWidth + c)], expected.contains(v) ? expected[v][at(c)] : 0)
          << v << ' ' << c;
  EXPECT_THAT(data.notes,
              Contains(HasSubstr(fmt::format("; {} without such neighbours", without))));
}

TEST_F(ReadTypedOgbTest, ATypeThatNoRelationLeadsToHasZeros) {
  write_set();
  write_gzip(kTriplets, "author,writes,paper\npaper,has_topic,field_of_study\n");

  const Dataset data = load();

  EXPECT_THAT(row_of(data, 7), ElementsAre(0, 0));
  EXPECT_THAT(data.notes, Contains(HasSubstr("; 4 without such neighbours have 0")));
}

TEST_F(ReadTypedOgbTest, SymmetricAddsTheReverseOfEachRelation) {
  write_set();
  DatasetOptions options;
  options.path = file("set").string();
  options.symmetric = true;

  const Dataset data = load_dataset(options);

  EXPECT_TRUE(data.symmetric);
  ASSERT_EQ(data.typed->relations.size(), 8U);
  for (std::size_t r = 0; r < 4; ++r) {
    const Relation& relation = data.typed->relations[r];
    const Relation* reverse =
        data.typed->relation(relation.destination, kReversePrefix + relation.name, relation.source);
    ASSERT_NE(reverse, nullptr);
    EXPECT_EQ(*reverse->graph, transpose(*relation.graph));
  }
  EXPECT_EQ(features_of(data), features_of(load()));
  EXPECT_EQ(data.split[13], Split::test);
  options.missing_features = "zero";
  EXPECT_EQ(features_of(load_dataset(options)), features_of(load("zero")));
}

TEST_F(ReadTypedOgbTest, WhatIsWrittenAsAFolderIsReadAgain) {
  write_set();
  for (const char* missing : {"mean", "zero"}) {
    const Dataset data = load(missing);

    write_orrery(data, file("folder"), true);
    const Dataset again = read_dataset(file("folder").string());

    ASSERT_TRUE(again.typed);
    EXPECT_EQ(again.typed->texts(), data.typed->texts());
    for (std::size_t r = 0; r < 4; ++r)
      EXPECT_EQ(*again.typed->relations[r].graph, *data.typed->relations[r].graph);
    EXPECT_EQ(again.typed->type("paper")->first, 9);
    EXPECT_EQ(again.labels.values, data.labels.values);
    EXPECT_EQ(again.split, data.split);
    EXPECT_EQ(features_of(again), features_of(data)) << missing;
    EXPECT_EQ(fingerprint_of(again), fingerprint_of(data));
    EXPECT_THAT(read("folder/meta.json"), HasSubstr("missing_features"));
  }
}

TEST_F(ReadTypedOgbTest, FilesMayBePlainAndLieInTheFolderItself) {
  write_set();
  const Dataset data = load();
  std::vector<std::filesystem::path> all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(file("set")))
    if (entry.path().extension() == ".gz") all.push_back(entry.path());
  for (const std::filesystem::path& path : all) {
    std::ofstream(std::filesystem::path(path).replace_extension()) << TextFile(path).text();
    std::filesystem::remove(path);
  }
  std::filesystem::rename(file("set/raw"), file("flat"));
  std::filesystem::rename(file("set/split"), file("flat/split"));

  const Dataset flat = read_dataset(file("flat").string());

  EXPECT_EQ(fingerprint_of(flat), fingerprint_of(data));
  EXPECT_EQ(features_of(flat), features_of(data));
}

TEST_F(ReadTypedOgbTest, SplitsMayHaveNoSchemeAndNoMarks) {
  write_set();
  const auto split = load().split;
  std::filesystem::remove(file("set/split/time/nodetype-has-split.csv.gz"));
  std::filesystem::remove(file("set/raw/nodetype-has-label.csv.gz"));
  std::filesystem::rename(file("set/split/time"), file("set/time"));
  std::filesystem::remove(file("set/split"));
  std::filesystem::rename(file("set/time"), file("set/split"));

  EXPECT_EQ(load().split, split);
  EXPECT_EQ(load().labels.classes, 3);
  std::filesystem::rename(file("set/split/paper"), file("set/paper"));
  std::filesystem::create_directories(file("set/split/b"));
  std::filesystem::copy(file("set/paper"), file("set/split/b/paper"));
  std::filesystem::create_directories(file("set/split/a"));
  std::filesystem::rename(file("set/paper"), file("set/split/a/paper"));
  EXPECT_THAT(load().notes, Contains("2 published splits: 'a' is used"));
}

TEST_F(ReadTypedOgbTest, LabelsOfATypeThatIsMarkedFalseAreLeftOutAsOgbDoes) {
  write_set();
  write_gzip("set/raw/node-label/author/node-label.csv.gz", "5\n5\n5\n5\n");

  EXPECT_EQ(load().labels.classes, 3);
  std::filesystem::remove(file("set/raw/nodetype-has-label.csv.gz"));
  EXPECT_EQ(load().labels.classes, 6);
  EXPECT_EQ(load().labels.values[2], 5);
}

TEST_F(ReadTypedOgbTest, EdgesThatComeTwiceInARelationAreMerged) {
  write_set();
  write_relation(kCites, "1,0\n1,0\n1,0\n", "2");

  const Dataset data = load();

  EXPECT_EQ(data.typed->relations[2].graph->nnz(), 1);
  EXPECT_THAT(data.notes, Contains("2 duplicate edges merged"));
}

TEST_F(ReadTypedOgbTest, RelationsMayHaveNoEdgesIfTheirCountSaysSo) {
  write_set();
  write_relation(kCites, "", "2");

  EXPECT_EQ(load().typed->relations[2].graph->nnz(), 0);
  std::filesystem::remove(file(kCites + "num-edge-list.csv.gz"));
  EXPECT_THAT(error(), HasSubstr("edge.csv.gz:line 1: expected edges 'source,destination', found "
                                 "an empty file"));
}

TEST_F(ReadTypedOgbTest, FilesOfEdgesThatAreNotReadAreNotedOnce) {
  write_set();
  EXPECT_THAT(load().notes,
              AllOf(Contains(HasSubstr("edge_reltype.csv.gz of 4 relations is not read: relations "
                                       "come from the folders in relations/")),
                    Not(Contains(HasSubstr("edge-feat")))));
  write(kWrites + "edge-feat.csv", "1\n2\n3\n4\n");
  write_gzip(kCites + "edge-feat.csv.gz", "1\n2\n3\n");

  EXPECT_THAT(load().notes,
              Contains("edge-feat.csv of 2 relations is not read: features of edges come from "
                       "edge_features.npy, beside edges.npy"));
}

TEST_F(ReadTypedOgbTest, ASetWithoutFeaturesHasNone) {
  write_set();
  std::filesystem::remove_all(file("set/raw/node-feat"));

  const Dataset data = load();

  EXPECT_FALSE(data.features);
  EXPECT_THAT(data.notes, Contains("features absent"));
}

TEST_F(ReadTypedOgbTest, WrongTypesAreErrors) {
  EXPECT_THAT(error_with(kTypes, ""),
              HasSubstr("num-node-dict.csv.gz:line 1: expected the names of the types of vertices, "
                        "found the end of the line"));
  EXPECT_THAT(error_with(kTypes, "author,Paper\n1,1\n"),
              HasSubstr("line 1: \"Paper\" is no name: use small letters"));
  EXPECT_THAT(error_with(kTypes, "paper,author,paper\n1,1,1\n"),
              HasSubstr("line 1: has \"paper\" twice"));
  EXPECT_THAT(error_with(kTypes, "author,paper\n4\n"),
              HasSubstr("line 2: expected a count for each of the 2 types of vertices, found the "
                        "end of the line"));
  EXPECT_THAT(
      error_with(kTypes, "author,paper\n4,5,6\n"),
      HasSubstr("line 2: expected a count for each of the 2 types of vertices, then the end "
                "of the line, found '6'"));
  EXPECT_THAT(error_with(kTypes, "author,paper\n4,-5\n"), HasSubstr("line 2: expected a count"));
  EXPECT_THAT(error_with(kTypes, "author,paper\n4,2147483644\n"),
              HasSubstr("line 2: expected at most 2147483647 vertices of all types, found "
                        "'2147483644'"));
  EXPECT_THAT(error_with(kTypes, "author,paper\n4,18446744073709551616\n"),
              HasSubstr("line 2: expected a count"));
  EXPECT_THAT(error_with(kTypes, "author,paper\n4,5\n4,5\n"),
              HasSubstr("line 3: expected the counts of one graph, found a line more"));
  write_set();
  std::filesystem::remove(file(kTypes));
  EXPECT_THAT(error(), HasSubstr("num-node-dict.csv: expected num-node-dict.csv or "
                                 "num-node-dict.csv.gz, found neither"));
}

TEST_F(ReadTypedOgbTest, WrongRelationsAreErrors) {
  EXPECT_THAT(error_with(kTriplets, "authorr,writes,paper\n"),
              HasSubstr("triplet-type-list.csv.gz:line 1: [authorr, writes, paper] has the unknown "
                        "vertex type \"authorr\"; did you mean \"author\"? there are author, "
                        "field_of_study, institution, paper"));
  EXPECT_THAT(error_with(kTriplets, "author,writes,paper\n\nauthor,writes,venue\n"),
              HasSubstr("line 3: [author, writes, venue] has the unknown vertex type \"venue\""));
  EXPECT_THAT(error_with(kTriplets, "author,writes\n"),
              HasSubstr("line 1: expected three columns 'source type,name,destination type', found "
                        "the end of the line"));
  EXPECT_THAT(error_with(kTriplets, "author,writes,paper,4\n"), HasSubstr("found '4'"));
  EXPECT_THAT(error_with(kTriplets, "author,../writes,paper\n"),
              HasSubstr("line 1: \"../writes\" is no name"));
  EXPECT_THAT(error_with(kTriplets, "author,writes,paper\nauthor,writes,paper\n"),
              HasSubstr("line 2: has [author, writes, paper] twice"));
  EXPECT_THAT(error_with(kTriplets, ""), HasSubstr("line 1: expected at least one relation"));
  EXPECT_THAT(error_with(kTriplets, "author,write,paper\n"),
              AllOf(HasSubstr("relations/author___write___paper: expected the folder of the "
                              "relation in line 1 of triplet-type-list.csv, found none; did you "
                              "mean 'author___writes___paper'?"),
                    Not(HasSubstr("\n"))));
  EXPECT_THAT(error_with(kTriplets, "author," + std::string(5000, 'a') + ",paper\n"),
              HasSubstr("found none"));
  write_set();
  std::filesystem::remove(file(kTriplets));
  EXPECT_THAT(error(), HasSubstr("expected triplet-type-list.csv or triplet-type-list.csv.gz"));
  write_set();
  std::filesystem::remove(file(kWrites + "edge.csv.gz"));
  EXPECT_THAT(error(), HasSubstr("author___writes___paper/edge.csv: expected edge.csv or "
                                 "edge.csv.gz, found neither"));
}

TEST_F(ReadTypedOgbTest, WrongEdgesAreErrors) {
  EXPECT_THAT(error_with(kWrites + "edge.csv.gz", "0,0\n4,0\n"),
              HasSubstr("author___writes___paper/edge.csv.gz:line 2: expected a vertex number of "
                        "type author, below 4, found '4'"));
  EXPECT_THAT(error_with(kWrites + "edge.csv.gz", "0,5\n"),
              HasSubstr("line 1: expected a vertex number of type paper, below 5, found '5'"));
  EXPECT_THAT(error_with(kWrites + "edge.csv.gz", "0,1,2\n"),
              HasSubstr("line 1: expected two columns 'source,destination', found '2'"));
  EXPECT_THAT(error_with(kWrites + "edge.csv.gz", "source,destination\n"),
              HasSubstr("line 1: expected a vertex number, found 'source'"));
  EXPECT_THAT(
      error_with(kWrites + "edge.csv.gz", "0,0\n"),
      HasSubstr("edge.csv.gz:line 2: expected 4 rows, one per edge, found 1 (the file is cut "
                "short)"));
  EXPECT_THAT(error_with(kWrites + "num-edge-list.csv.gz", "4\n4\n"),
              HasSubstr("num-edge-list.csv.gz:line 2: expected one graph, found 2 counts"));
}

TEST_F(ReadTypedOgbTest, WrongFeaturesAreErrors) {
  EXPECT_THAT(error_with(kFeatures, "1,2\n3,4\n"),
              HasSubstr("node-feat.csv.gz:line 3: expected 5 rows, one per vertex of type paper, "
                        "found 2 (the file is cut short)"));
  EXPECT_THAT(error_with(kFeatures, "1,2\n3\n"), HasSubstr("line 2: expected 2 columns"));
  EXPECT_THAT(error_with(kFeatures, "1,2\n3,nan\n"), HasSubstr("line 2: expected a finite number"));
  EXPECT_THAT(error_with("set/raw/node-feat/papers/node-feat.csv.gz", "1\n"),
              HasSubstr("node-feat/papers: the folder has the unknown vertex type \"papers\"; did "
                        "you mean \"paper\"?"));
}

TEST_F(ReadTypedOgbTest, WrongLabelsAreErrors) {
  EXPECT_THAT(error_with(kLabels, "1\n0\n"),
              HasSubstr("node-label.csv.gz:line 3: expected 5 rows, one per vertex of type paper"));
  EXPECT_THAT(error_with(kLabels, "1,0\n0,0\n1,1\n0,0\n0,0\n"),
              HasSubstr("line 1: expected one column, the class, as vertices have types; found 2"));
  EXPECT_THAT(error_with(kLabels, "1\n0\n-3\n0\n0\n"),
              HasSubstr("line 3: expected a label (an integer from 0 on, or nan), found '-3'"));
  EXPECT_THAT(error_with(kLabels, "1\n0\n1000\n0\n0\n"),
              HasSubstr("line 3: expected a label below 1000"));
  EXPECT_THAT(error_with("set/raw/nodetype-has-label.csv.gz", "paper,authorr\nTrue,False\n"),
              HasSubstr("nodetype-has-label.csv.gz:line 1: the header has the unknown vertex type "
                        "\"authorr\"; did you mean \"author\"?"));
  EXPECT_THAT(error_with("set/raw/nodetype-has-label.csv.gz", "paper,author\nTrue,yes\n"),
              HasSubstr("line 2: expected True or False for each type, found 'yes'"));
  EXPECT_THAT(
      error_with("set/raw/nodetype-has-label.csv.gz", "author\nTrue\n"),
      HasSubstr("author/node-label.csv: expected this file, because nodetype-has-*.csv says "
                "True for author, found none"));
}

TEST_F(ReadTypedOgbTest, WrongSplitsAreErrors) {
  EXPECT_THAT(error_with("set/split/time/paper/valid.csv.gz", "5\n"),
              HasSubstr("valid.csv.gz:line 1: expected a vertex number below 5, found '5'"));
  EXPECT_THAT(
      error_with("set/split/time/paper/valid.csv.gz", "2\n0\n"),
      HasSubstr("valid.csv.gz:line 2: expected every vertex once in the split, found vertex "
                "0 again"));
  write_set();
  std::filesystem::remove(file("set/split/time/paper/test.csv.gz"));
  EXPECT_THAT(error(), HasSubstr("test.csv: expected this file of the split, found none"));
  EXPECT_THAT(error_with("set/split/time/papers/train.csv.gz", "0\n"),
              HasSubstr("the unknown vertex type \"papers\"; did you mean \"paper\"?"));
  write_set();
  std::filesystem::remove(file("set/split/time/nodetype-has-split.csv.gz"));
  for (const char* part : {"train", "valid", "test"})
    write_gzip(fmt::format("set/split/time/author/{}.csv.gz", part), "");
  EXPECT_THAT(error(), HasSubstr("split/time/author: expected a split of a type with labels, found "
                                 "author, which has none"));
}

TEST_F(ReadTypedOgbTest, ShortFilesMayNotAskForAllMemory) {
  write_set();
  std::filesystem::remove_all(file("set/raw/node-feat"));
  std::filesystem::remove_all(file("set/raw/node-label"));
  std::filesystem::remove(file("set/raw/nodetype-has-label.csv.gz"));
  std::filesystem::remove_all(file("set/split"));
  write_gzip(kTypes, "author,field_of_study,institution,paper\n4,3,2,2000000000\n");
  EXPECT_THAT(error(), AllOf(HasSubstr("num-node-dict.csv.gz:line 2: expected at most "),
                             HasSubstr("with 4 relations and "), HasSubstr("found 2000000009")));

  write_set();
  write_gzip(kTypes, "author,field_of_study,institution,paper\n400000,3,2,5\n");
  std::string wide;
  for (int i = 0; i < 50; ++i) wide += i < 49 ? "1," : "1\n";
  write_gzip(kFeatures, wide + wide + wide + wide + wide);
  EXPECT_THAT(error(),
              AllOf(HasSubstr("raw/node-feat: expected at most "),
                    HasSubstr("columns of features with 400010 vertices"), HasSubstr("found 50")));
}

TEST_F(ReadTypedOgbTest, MissingFeaturesIsRefusedWhereNoneAreMissing) {
  const auto refusal = [&](const std::string& name, const std::string& value = "mean") {
    return config_error([&] { read_dataset(file(name).string(), "auto", value); });
  };
  write_set();
  EXPECT_THAT(refusal("set", "median"),
              HasSubstr("dataset.missing_features: expected mean or zero, found 'median'"));
  write_orrery(load(), file("folder"));
  EXPECT_THAT(refusal("folder"),
              HasSubstr("dataset.missing_features: is of sets in which some types"));
  write("plain/edge.csv", "0,1\n");
  EXPECT_THAT(refusal("plain"), HasSubstr("dataset.missing_features"));
  write("edges.txt", "0 1\n");
  EXPECT_THAT(refusal("edges.txt"), HasSubstr("edges.txt' is no such set: leave it out"));
  std::filesystem::remove_all(file("set/raw/node-feat"));
  EXPECT_THAT(refusal("set"), HasSubstr("dataset.missing_features"));
  for (const auto& [type, count] : std::map<std::string, int>{
           {"author", 4}, {"field_of_study", 3}, {"institution", 2}, {"paper", 5}}) {
    std::string rows;
    for (int i = 0; i < count; ++i) rows += "1,2\n";
    write_gzip(fmt::format("set/raw/node-feat/{}/node-feat.csv.gz", type), rows);
  }
  EXPECT_THAT(refusal("set", "zero"), HasSubstr("dataset.missing_features"));
  EXPECT_EQ(row_of(load(), 7), (std::vector<float>{1, 2}));
}

}  // namespace
}  // namespace orrery
