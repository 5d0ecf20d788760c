#include "core/graph/read/load.hpp"
#include "tests/graph/files.hpp"

namespace orrery {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using ::testing::Not;

class ReadOgbTest : public FilesTest {
 protected:
  /// Three vertices, 0 -> 1 -> 2, two features, two classes.
  void write_set() const {
    write("set/raw/edge.csv", "0,1\n1,2\n");
    write("set/raw/num-node-list.csv", "3\n");
    write("set/raw/num-edge-list.csv", "2\n");
    write("set/raw/node-feat.csv", "0.5,-1\n2,3e-1\n0,1\n");
    write("set/raw/node-label.csv", "1\nnan\n0\n");
    write("set/split/time/train.csv", "0\n");
    write("set/split/time/valid.csv", "2\n");
    write("set/split/time/test.csv", "1\n");
  }
  Dataset load(const std::string& name = "set") const { return read_dataset(file(name).string()); }
  std::string error_with(const std::string& name, const std::string& text) const {
    write_set();
    write(name, text);
    return data_error([&] { load(); });
  }
};

void expect_set(const Dataset& dataset) {
  EXPECT_EQ(dataset.graph->offsets, (std::vector<EdgeIndex>{0, 0, 1, 2}));
  EXPECT_EQ(dataset.graph->columns, (std::vector<Vertex>{0, 1}));
  EXPECT_EQ(dataset.labels.classes, 2);
  EXPECT_FALSE(dataset.labels.multilabel);
  EXPECT_THAT(dataset.labels.values, ElementsAre(1, -1, 0));
  EXPECT_THAT(dataset.split, ElementsAre(Split::train, Split::test, Split::validation));
  ASSERT_TRUE(dataset.features);
  std::vector<float> values(6);
  const std::vector<Vertex> all{0, 1, 2};
  dataset.features->read(all, 0, 2, values.data(), 2);
  EXPECT_THAT(values, ElementsAre(0.5F, -1, 2, 0.3F, 0, 1));
}

TEST_F(ReadOgbTest, RawAndSplitFolders) {
  write_set();

  expect_set(load());
  EXPECT_EQ(load().name, "set");
}

TEST_F(ReadOgbTest, GzipFiles) {
  write_set();
  for (const char* name : {"edge", "num-node-list", "node-feat", "node-label"}) {
    const std::string path = std::string("set/raw/") + name + ".csv";
    write_gzip(path + ".gz", read(path));
    std::filesystem::remove(file(path));
  }

  expect_set(load());
}

TEST_F(ReadOgbTest, FlatFolder) {
  write_set();
  std::filesystem::rename(file("set/raw"), file("flat"));
  for (const char* part : {"train", "valid", "test"})
    std::filesystem::rename(file(std::string("set/split/time/") + part + ".csv"),
                            file(std::string("flat/") + part + ".csv"));

  expect_set(load("flat"));
}

TEST_F(ReadOgbTest, OnlyEdges) {
  write("edges/edge.csv", "0,3\n2,1\n");

  const Dataset dataset = load("edges");

  EXPECT_EQ(dataset.vertices(), 4);
  EXPECT_FALSE(dataset.features);
  EXPECT_FALSE(dataset.labels.present());
  EXPECT_TRUE(dataset.split.empty());
  EXPECT_THAT(dataset.notes, ElementsAre("features absent"));
}

TEST_F(ReadOgbTest, FilesOfEdgesThatAreNotReadAreNoted) {
  write_set();
  EXPECT_THAT(load().notes, Not(Contains(HasSubstr("not read"))));
  write("set/raw/edge-feat.csv", "1,2\n3,4\n");
  write_gzip("set/raw/edge_reltype.csv.gz", "0\n1\n");

  EXPECT_THAT(load().notes,
              AllOf(Contains("edge-feat.csv is not read: features of edges come from "
                             "edge_features.npy, beside edges.npy"),
                    Contains(HasSubstr("edge_reltype.csv.gz is not read: relations come from"))));
}

TEST_F(ReadOgbTest, SeveralColumnsOfLabelsAreMultilabel) {
  write_set();
  write("set/raw/node-label.csv", "1,0,1\n0,nan,0\n1,1,1\n");

  const Dataset dataset = load();

  EXPECT_TRUE(dataset.labels.multilabel);
  EXPECT_EQ(dataset.labels.classes, 3);
  EXPECT_THAT(dataset.labels.values, ElementsAre(1, 0, 1, 0, 0, 0, 1, 1, 1));
  EXPECT_THAT(dataset.notes, Contains("1 unknown labels (nan) of 9 taken as 0"));
}

TEST_F(ReadOgbTest, UnlabelledVerticesLeaveThePublishedSplit) {
  write_set();
  DatasetOptions options;
  options.path = file("set").string();

  const Dataset dataset = load_dataset(options);

  EXPECT_THAT(dataset.split, ElementsAre(Split::train, Split::none, Split::validation));
  EXPECT_THAT(dataset.notes, Contains("split: 1 unlabelled vertices left out"));
}

TEST_F(ReadOgbTest, EdgeErrors) {
  EXPECT_THAT(error_with("set/raw/edge.csv", "0,1\n1,3\n"),
              HasSubstr("edge.csv:line 2: expected a vertex number below 3, found '3'"));
  EXPECT_THAT(error_with("set/raw/edge.csv", "src,dst\n"),
              HasSubstr("edge.csv:line 1: expected a vertex number, found 'src'"));
  EXPECT_THAT(error_with("set/raw/edge.csv", "0,1,2\n"),
              HasSubstr("line 1: expected two columns 'source,destination', found '2'"));
  EXPECT_THAT(
      error_with("set/raw/edge.csv", ""),
      HasSubstr("edge.csv:line 1: expected edges 'source,destination', found an empty file"));
  EXPECT_THAT(
      error_with("set/raw/edge.csv", "0,1\n"),
      HasSubstr("edge.csv:line 2: expected 2 rows, one per edge, found 1 (the file is cut short)"));
}

TEST_F(ReadOgbTest, FeatureErrors) {
  EXPECT_THAT(
      error_with("set/raw/node-feat.csv", "1,2\n3\n"),
      HasSubstr(
          "node-feat.csv:line 2: expected 2 columns as in line 1, found the end of the line"));
  EXPECT_THAT(error_with("set/raw/node-feat.csv", "1,2\n3,4\n"),
              HasSubstr("node-feat.csv:line 3: expected 3 rows, one per vertex, found 2"));
  EXPECT_THAT(error_with("set/raw/node-feat.csv", "1,2\n3,nan\n5,6\n"),
              HasSubstr("line 2: expected a finite number, found 'nan'"));
  EXPECT_THAT(error_with("set/raw/node-feat.csv", "1,1e50\n3,4\n5,6\n"),
              HasSubstr("line 1: expected a finite number, found '1e50'"));
  EXPECT_THAT(error_with("set/raw/node-feat.csv", "1,1e999\n3,4\n5,6\n"),
              HasSubstr("line 1: expected a number, found '1e999'"));
  EXPECT_THAT(error_with("set/raw/node-feat.csv", "1,x\n"),
              HasSubstr("expected a number, found 'x'"));
  EXPECT_THAT(error_with("set/raw/node-feat.csv", ""),
              HasSubstr("node-feat.csv:line 1: expected a row of numbers, found an empty file"));
}

TEST_F(ReadOgbTest, LabelErrors) {
  EXPECT_THAT(
      error_with("set/raw/node-label.csv", "1\n-1\n0\n"),
      HasSubstr(
          "node-label.csv:line 2: expected a label (an integer from 0 on, or nan), found '-1'"));
  EXPECT_THAT(error_with("set/raw/node-label.csv", "1\n0.5\n0\n"), HasSubstr("found '0.5'"));
  EXPECT_THAT(error_with("set/raw/node-label.csv", "1,0\n0,2\n0,0\n"),
              HasSubstr("node-label.csv:line 2: expected 0, 1 or nan, found 2 in column 1"));
}

TEST_F(ReadOgbTest, SplitErrors) {
  EXPECT_THAT(error_with("set/split/time/valid.csv", "3\n"),
              HasSubstr("valid.csv:line 1: expected a vertex number below 3, found '3'"));
  EXPECT_THAT(
      error_with("set/split/time/valid.csv", "2\n0\n"),
      HasSubstr("valid.csv:line 2: expected every vertex once in the split, found vertex 0 again"));
  write_set();
  std::filesystem::remove(file("set/split/time/test.csv"));
  EXPECT_THAT(data_error([&] { load(); }),
              HasSubstr("test.csv: expected this file of the split, found none"));
}

TEST_F(ReadOgbTest, BlankLinesAndCommentsMayComeFirst) {
  write_set();
  for (const char* name : {"edge", "num-node-list", "num-edge-list", "node-feat", "node-label"}) {
    const std::string path = std::string("set/raw/") + name + ".csv";
    write(path, "\n# a,b,c\n \r\n" + read(path));
  }

  expect_set(load());
}

TEST_F(ReadOgbTest, ColumnsAreThoseOfTheFirstDataLine) {
  EXPECT_THAT(
      error_with("set/raw/node-feat.csv", "\n% one two three\n1,2\n\n3\n"),
      HasSubstr(
          "node-feat.csv:line 5: expected 2 columns as in line 3, found the end of the line"));
  EXPECT_THAT(error_with("set/raw/node-feat.csv", "\n1,2\n3,4,5\n"),
              HasSubstr("line 3: expected 2 columns as in line 2, then the end of the line, "
                        "found '5'"));
  EXPECT_THAT(error_with("set/raw/node-feat.csv", "\n# nothing\n"),
              HasSubstr("expected a row of numbers"));
}

TEST_F(ReadOgbTest, LabelsMayNotImplyFarMoreClassesThanVertices) {
  EXPECT_THAT(
      error_with("set/raw/node-label.csv", "# class\n1\n\n2000000000\nnan\n"),
      HasSubstr(
          "node-label.csv:line 4: expected a label below 1000 (for 3 vertices), found 2000000000"));
  EXPECT_THAT(error_with("set/raw/node-label.csv", "1\n0\n1000\n"),
              HasSubstr("node-label.csv:line 3: expected a label below 1000"));

  write("set/raw/node-label.csv", "1\n999\n0\n");
  EXPECT_EQ(load().labels.classes, 1000);
}

TEST_F(ReadOgbTest, LabelsMayImplyAClassPerVertex) {
  const int vertices = 1500;
  std::string labels;
  for (int v = 0; v < vertices; ++v) labels += std::to_string(v) + "\n";
  write("wide/edge.csv", "0,1\n");
  write("wide/node-label.csv", labels);

  EXPECT_EQ(load("wide").labels.classes, vertices);
  write("wide/node-label.csv", "1500\n" + labels.substr(2));
  EXPECT_THAT(data_error([&] { load("wide"); }),
              HasSubstr("node-label.csv:line 1: expected a label below 1500 (for 1500 vertices), "
                        "found 1500"));
}

TEST_F(ReadOgbTest, CountsThatTheBytesBelieNeedNoMemory) {
  write("set/edge.csv", "0,2000000000\n");
  EXPECT_THAT(data_error([&] { load(); }),
              HasSubstr("edge.csv: expected at most 1049876 vertices with 13 bytes of edges, found "
                        "2000000001 (the largest number + 1)"));
  write("set/num-node-list.csv", "2000000001\n");
  EXPECT_THAT(data_error([&] { load(); }), HasSubstr("found 2000000001 in num-node-list.csv"));
  write("set/num-node-list.csv", "18446744073709551615\n");
  EXPECT_THAT(data_error([&] { load(); }),
              HasSubstr("expected at most 2147483647 vertices, found 18446744073709551615"));
}

}  // namespace
}  // namespace orrery
