#include <fmt/core.h>

#include <limits>

#include "core/graph/read/load.hpp"
#include "tests/graph/files.hpp"

namespace orrery {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using ::testing::Not;

class ReadOrreryTest : public FilesTest {
 protected:
  /// Three vertices, 0 -> 1 -> 2, two dense features, two classes.
  void write_set() const {
    write("meta.json",
          R"({"name": "tiny", "num_nodes": 3, "num_edges": 2, "num_features": 2, "num_classes": 2,
              "feature_storage": {"kind": "dense"}, "has_labels": true, "has_split": true})");
    write_npy<std::int32_t>("edges.npy", {2, 2}, {0, 1, 1, 2});
    write_npy<float>("features.npy", {3, 2}, {0, 1, 2, 3, 4, 5});
    write_npy<std::int32_t>("labels.npy", {3}, {1, -1, 0});
    write_npy<std::uint8_t>("split.npy", {3}, {0, 255, 2});
  }
  void write_sparse_set() const {
    write_set();
    write("meta.json",
          R"({"num_nodes": 3, "num_features": 4, "feature_storage": {"kind": "csr"}})");
    write_npy<std::int64_t>("features_indptr.npy", {4}, {0, 2, 2, 3});
    write_npy<std::int32_t>("features_indices.npy", {3}, {1, 3, 0});
    write_npy<float>("features_data.npy", {3}, {0.5, 2, 7});
  }
  Dataset load() const { return read_dataset(folder_.string()); }
  std::string error() const {
    return data_error([&] { load(); });
  }
  std::vector<float> features(const Dataset& dataset, std::vector<Vertex> vertices,
                              std::int64_t col0, std::int64_t cols) const {
    std::vector<float> out(vertices.size() * static_cast<std::size_t>(cols));
    dataset.features->read(vertices, col0, cols, out.data(), cols);
    return out;
  }
};

TEST_F(ReadOrreryTest, DenseSet) {
  write_set();

  const Dataset dataset = load();

  EXPECT_EQ(dataset.name, "tiny");
  EXPECT_EQ(dataset.graph->columns, (std::vector<Vertex>{0, 1}));
  EXPECT_THAT(dataset.labels.values, ElementsAre(1, -1, 0));
  EXPECT_EQ(dataset.labels.classes, 2);
  EXPECT_THAT(dataset.split, ElementsAre(Split::train, Split::none, Split::test));
  EXPECT_THAT(features(dataset, {2, 0}, 0, 2), ElementsAre(4, 5, 0, 1));
  EXPECT_THAT(features(dataset, {1, 2}, 1, 1), ElementsAre(3, 5));
  EXPECT_FALSE(dataset.features->binary());
  EXPECT_EQ(dataset.features->provenance(), "mapped file features.npy");
}

TEST_F(ReadOrreryTest, NamesAndNotesDoNotSteerATerminal) {
  write_set();
  write("meta.json", R"({"num_nodes": 3, "name": "\u001b[31mred\nline", "generated": true,
                         "made_up": ["\u009b2J"]})");

  const Dataset dataset = load();

  EXPECT_EQ(dataset.name, R"(\x1b[31mred\nline)");
  EXPECT_THAT(dataset.notes, Contains(R"(\xc2\x9b2J)"));
}

TEST_F(ReadOrreryTest, SparseSet) {
  write_sparse_set();

  const Dataset dataset = load();

  EXPECT_THAT(features(dataset, {0, 1, 2}, 0, 4),
              ElementsAre(0, 0.5, 0, 2, 0, 0, 0, 0, 7, 0, 0, 0));
  EXPECT_THAT(features(dataset, {2, 0}, 1, 2), ElementsAre(0, 0, 0.5, 0));
  EXPECT_FALSE(dataset.features->binary());
}

TEST_F(ReadOrreryTest, SparseSetOfOnesIsBinary) {
  write_sparse_set();
  write(
      "meta.json",
      R"({"num_nodes": 3, "num_features": 4, "feature_storage": {"kind": "csr", "data_all_ones": true}})");

  const Dataset dataset = load();

  EXPECT_THAT(features(dataset, {0}, 0, 4), ElementsAre(0, 1, 0, 1));
  EXPECT_TRUE(dataset.features->binary());
}

TEST_F(ReadOrreryTest, AbsentPartsAreNoted) {
  write_set();
  write(
      "meta.json",
      R"({"num_nodes": 3, "num_edges": 2, "published_num_features": 50, "published_num_classes": 9,
                         "feature_storage": {"kind": "absent"}, "has_labels": false, "has_split": false})");

  const Dataset dataset = load();

  EXPECT_FALSE(dataset.features);
  EXPECT_FALSE(dataset.labels.present());
  EXPECT_TRUE(dataset.split.empty());
  const std::string unread = "is there and not used: set \"";
  EXPECT_THAT(dataset.notes,
              ElementsAre(AllOf(HasSubstr("features absent (the published set has 50 columns); "
                                          "features.npy " +
                                          unread + R"(feature_storage": {"kind": "dense"})"),
                                HasSubstr("\"num_features\" to its columns")),
                          HasSubstr("labels absent (the published set has 9 classes); labels.npy " +
                                    unread + "has_labels\" to true"),
                          HasSubstr("split absent; split.npy " + unread + "has_split\" to true")));
  for (const char* name : {"features.npy", "labels.npy", "split.npy"})
    std::filesystem::remove(file(name));
  EXPECT_THAT(load().notes, ElementsAre("features absent (the published set has 50 columns)",
                                        "labels absent (the published set has 9 classes)"));
}

TEST_F(ReadOrreryTest, ArraysThatMetaDoesNotTellOfAreNamed) {
  write_sparse_set();
  std::filesystem::remove(file("features.npy"));
  write("meta.json", R"({"num_nodes": 3, "num_edges": 2, "has_labels": false})");

  EXPECT_THAT(load().notes,
              ElementsAre(HasSubstr(R"(features_indptr.npy is there and not used: set )"
                                    R"("feature_storage": {"kind": "csr"})"),
                          HasSubstr("labels absent; labels.npy is there")));
}

TEST_F(ReadOrreryTest, KeysThatNobodyKnowsAreNamed) {
  write_set();
  write("meta.json", R"({"num_nodes": 3, "num_edges": 2, "has_label": true, "mine": 5,
              "feature_storage": {"kind": "dense", "dtyp": "float32"}})");

  EXPECT_THAT(load().notes,
              ElementsAre("these keys of meta.json are not known and not used: has_label (did you "
                          "mean has_labels?), mine, feature_storage/dtyp (did you mean "
                          "feature_storage/dtype?)"));
}

TEST_F(ReadOrreryTest, MatrixOfLabelsIsMultilabel) {
  write_set();
  write_npy<std::uint8_t>("labels.npy", {3, 2}, {1, 0, 0, 0, 1, 1});

  const Dataset dataset = load();

  EXPECT_TRUE(dataset.labels.multilabel);
  EXPECT_THAT(dataset.labels.values, ElementsAre(1, 0, 0, 0, 1, 1));
}

TEST_F(ReadOrreryTest, EdgeErrors) {
  write_set();
  cut("edges.npy", 4);
  EXPECT_THAT(
      error(),
      HasSubstr("edges.npy:byte 140: expected 16 bytes of data for [2, 2] of type <i4, found 12"));
  write_npy<std::int32_t>("edges.npy", {2, 2}, {0, 1, 1, 3});
  EXPECT_THAT(error(),
              HasSubstr("edges.npy:row 1, column 1: expected a vertex from 0 to 2, found 3"));
  write_npy<std::int32_t>("edges.npy", {2, 2}, {0, -1, 1, 3});
  EXPECT_THAT(error(),
              HasSubstr("edges.npy:row 0, column 1: expected a vertex from 0 to 2, found -1"));
  write_npy<std::int32_t>("edges.npy", {2, 1}, {0, 1});
  EXPECT_THAT(error(), HasSubstr("edges.npy:byte 10: expected shape [2, 2], found [2, 1]"));
  write_npy<std::int64_t>("edges.npy", {2, 2}, {0, 1, 1, 2});
  EXPECT_THAT(error(), HasSubstr("expected elements of type '<i4', found '<i8'"));
  std::filesystem::remove(file("edges.npy"));
  EXPECT_THAT(error(), HasSubstr("edges.npy: expected a readable file"));
}

TEST_F(ReadOrreryTest, LabelAndSplitErrors) {
  write_set();
  write_npy<std::int32_t>("labels.npy", {3}, {1, 0, 2});
  EXPECT_THAT(
      error(),
      HasSubstr("labels.npy:element 2: expected a class from 0 to 1, or -1 (unlabelled), found 2"));
  write_npy<std::int32_t>("labels.npy", {2}, {1, 0});
  EXPECT_THAT(error(), HasSubstr("labels.npy:byte 10: expected shape [3], found [2]"));
  write_npy<std::uint8_t>("labels.npy", {3, 2}, {1, 0, 0, 0, 1, 2});
  EXPECT_THAT(error(), HasSubstr("labels.npy:row 2, column 1: expected 0 or 1, found 2"));
  write_set();
  write_npy<std::uint8_t>("split.npy", {3}, {0, 3, 1});
  EXPECT_THAT(error(), HasSubstr("split.npy:element 1: expected 0 (train), 1 (validation), 2 "
                                 "(test) or 255 (none), found 3"));
}

TEST_F(ReadOrreryTest, DenseFeaturesAreCheckedAsTheyAreRead) {
  write_set();
  write_npy<float>("features.npy", {3, 2},
                   {0, 1, 2, std::numeric_limits<float>::quiet_NaN(), 4, 5});

  const Dataset dataset = load();

  EXPECT_THAT(features(dataset, {0, 2}, 0, 2), ElementsAre(0, 1, 4, 5));
  EXPECT_THAT(data_error([&] { features(dataset, {1}, 0, 2); }),
              HasSubstr("features.npy:row 1, column 1: expected a finite number, found nan"));
}

TEST_F(ReadOrreryTest, SparseFeatureErrors) {
  write_sparse_set();
  write_npy<std::int64_t>("features_indptr.npy", {4}, {0, 2, 1, 3});
  EXPECT_THAT(error(), HasSubstr("features_indptr.npy:element 2: expected a number from 2 to 3"));
  write_npy<std::int64_t>("features_indptr.npy", {4}, {0, 2, 2, 2});
  EXPECT_THAT(
      error(),
      HasSubstr("features_indptr.npy:element 3: expected 3, the number of entries, found 2"));
  write_npy<std::int64_t>("features_indptr.npy", {4}, {1, 2, 2, 3});
  EXPECT_THAT(error(), HasSubstr("features_indptr.npy:element 0: expected 0, found 1"));
  write_sparse_set();
  write_npy<std::int32_t>("features_indices.npy", {3}, {1, 4, 0});
  EXPECT_THAT(error(),
              HasSubstr("features_indices.npy:element 1: expected a column from 0 to 3, found 4"));
  write_npy<std::int32_t>("features_indices.npy", {3}, {3, 1, 0});
  EXPECT_THAT(error(), HasSubstr("features_indices.npy:element 0: expected columns that ascend, "
                                 "found them out of order in row 0"));
  write_sparse_set();
  write_npy<float>("features_data.npy", {3}, {1, std::numeric_limits<float>::infinity(), 1});
  EXPECT_THAT(
      error(),
      HasSubstr("features_data.npy:element 1: expected a finite number, found inf in row 0, "
                "column 3"));
  write_npy<float>("features_data.npy", {2}, {1, 1});
  EXPECT_THAT(error(), HasSubstr("expected shape [3], found [2]"));
}

TEST_F(ReadOrreryTest, MetaErrors) {
  write_set();
  write("meta.json", "{\"num_nodes\": 3,");
  EXPECT_THAT(error(), HasSubstr("meta.json:byte 17: expected JSON"));
  write("meta.json", "{\"num_nodes\": \"three\"}");
  EXPECT_THAT(error(), HasSubstr("meta.json:key num_nodes: expected a count, found \"three\""));
  write("meta.json", "{}");
  EXPECT_THAT(error(), HasSubstr("meta.json:key num_nodes: expected a count, found none"));
  write("meta.json", "{\"num_nodes\": 3000000000}");
  EXPECT_THAT(error(), HasSubstr("expected at most 2147483647, found 3000000000"));
  write("meta.json", "{\"num_nodes\": 2147483647}");
  EXPECT_THAT(error(), HasSubstr("meta.json:key num_nodes: expected at most "));
  write("meta.json", R"({"num_nodes": 3, "num_edges": -7})");
  EXPECT_THAT(error(), HasSubstr("meta.json:key num_edges: expected a count, found -7"));
  write("meta.json", R"({"num_nodes": 3, "feature_storage": "dense"})");
  EXPECT_THAT(error(),
              HasSubstr("meta.json:key feature_storage: expected an object, found \"dense\""));
  write("meta.json", R"({"num_nodes": 3, "feature_storage": {"kind": "zip"}})");
  EXPECT_THAT(error(), HasSubstr("meta.json:key feature_storage/kind: expected 'dense', 'csr', "
                                 "'by_type' or 'absent', found 'zip'"));
  EXPECT_THAT(error(), Not(HasSubstr("did you mean")));
  std::filesystem::remove(file("meta.json"));
  EXPECT_THAT(error(), HasSubstr("meta.json: expected a readable file"));
}

TEST_F(ReadOrreryTest, MisspeltStorageOfFeaturesIsNotTakenForNone) {
  const std::string kinds =
      "key feature_storage/kind: expected 'dense', 'csr', 'by_type' or 'absent', found ";
  write_set();
  const auto with = [&](const std::string& storage) {
    write("meta.json", R"({"num_nodes": 3, "num_edges": 2, )" + storage + "}");
    return error();
  };
  EXPECT_THAT(with(R"("feature_storage": {"kind": "by_typ"})"),
              HasSubstr(kinds + "'by_typ'; did you mean 'by_type'?"));
  EXPECT_THAT(with(R"("feature_storage": {"knd": "dense"})"),
              HasSubstr(kinds + R"(none; "knd" is there: did you mean "kind"?)"));
  EXPECT_THAT(
      with(R"("feature_storag": {"kind": "dense"})"),
      HasSubstr(kinds + R"(none; "feature_storag" is there: did you mean "feature_storage"?)"));
  EXPECT_EQ(with(R"("feature_storage": {"kind": "dense", "compression": "none"}, "mine": 5)"),
            "no error")
      << "others may add keys";
}

TEST_F(ReadOrreryTest, AStatedShapeMustBeThatOfTheFile) {
  const std::string shape = "meta.json:key feature_storage/shape: ";
  write_set();
  const auto dense = [&](const std::string& stated, const std::string& more = "") {
    write("meta.json", R"({"num_nodes": 3, "num_edges": 2)" + more +
                           R"(, "feature_storage": {"kind": "dense", "shape": )" + stated + "}}");
    return error();
  };
  EXPECT_EQ(dense("[3, 2]"), "no error");
  EXPECT_EQ(dense("null"), "no error");
  EXPECT_THAT(dense("[3, 9]"), HasSubstr(shape + "is [3,9], but features.npy has [3,2]"));
  EXPECT_THAT(dense("[3, 9]", R"(, "num_features": 2)"), HasSubstr(shape + "is [3,9], but"));
  EXPECT_THAT(dense("[3, 2]", R"(, "num_features": 9)"),
              HasSubstr("meta.json:key num_features: is 9, but features.npy has 2 columns: set it "
                        "to 2, or leave it out"));
  EXPECT_THAT(dense("[3, 2]", R"(, "num_features": 0)"), HasSubstr("num_features: is 0, but"));
  EXPECT_THAT(dense("[4, 2]"), HasSubstr(shape + "is [4,2], but features.npy has [3,2]"));
  EXPECT_THAT(dense("[3]"), HasSubstr(shape + "is [3], but"));
  EXPECT_THAT(dense("\"3x2\""), HasSubstr(shape + "expected a list"));

  write_sparse_set();
  const auto sparse = [&](const std::string& stated) {
    write("meta.json",
          R"({"num_nodes": 3, "num_features": 4, "feature_storage": {"kind": "csr", "shape": )" +
              stated + "}}");
    return error();
  };
  EXPECT_EQ(sparse("[3, 4]"), "no error");
  EXPECT_THAT(sparse("[3, 5]"),
              HasSubstr(shape + "is [3,5], but num_nodes and num_features say [3,4]"));
  EXPECT_THAT(sparse("[2, 4]"), HasSubstr(shape + "is [2,4], but"));
}

TEST_F(ReadOrreryTest, LabelsMayNotImplyFarMoreClassesThanVertices) {
  write_set();
  write("meta.json", R"({"num_nodes": 3, "num_edges": 2})");
  write_npy<std::int32_t>("labels.npy", {3}, {1, 2000000000, 0});

  EXPECT_THAT(error(),
              HasSubstr("labels.npy:element 1: expected a class from 0 to 999, or -1 (unlabelled); "
                        "more take \"num_classes\" in meta.json, found 2000000000"));
  write_npy<std::int32_t>("labels.npy", {3}, {1, 999, 0});
  EXPECT_EQ(load().labels.classes, 1000);
}

TEST_F(ReadOrreryTest, ANumberOfClassesInMetaMayBeAnythingPlausible) {
  write_set();
  write("meta.json", R"({"num_nodes": 3, "num_edges": 2, "num_classes": 5000})");
  write_npy<std::int32_t>("labels.npy", {3}, {1, 4999, 0});

  EXPECT_EQ(load().labels.classes, 5000);
  write("meta.json", R"({"num_nodes": 3, "num_edges": 2, "num_classes": 500000000})");
  EXPECT_THAT(error(), HasSubstr("meta.json:key num_classes: expected at most 1048876 for 3 "
                                 "vertices, found 500000000"));
}

}  // namespace
}  // namespace orrery
