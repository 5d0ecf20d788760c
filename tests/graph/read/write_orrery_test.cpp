#include "core/graph/read/write_orrery.hpp"

#include <signal.h>
#include <sys/resource.h>

#include <numeric>

#include "core/graph/generate/generate.hpp"
#include "core/graph/read/load.hpp"
#include "tests/graph/files.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::vector<float> all_values(const Features& features) {
  std::vector<Vertex> rows(static_cast<std::size_t>(features.rows()));
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<float> values(rows.size() * static_cast<std::size_t>(features.width()));
  features.read(rows, 0, features.width(), values.data(), features.width());
  return values;
}

Dataset generated() {
  DatasetOptions options;
  options.generator = "communities";
  options.generate_vertices = 500;
  options.generate_edges = 3000;
  options.generate_classes = 4;
  options.generate_features = 6;
  return generate(options);
}

void expect_equal(const Dataset& a, const Dataset& b) {
  EXPECT_EQ(*a.graph, *b.graph);
  EXPECT_EQ(a.symmetric, b.symmetric);
  EXPECT_EQ(a.generated, b.generated);
  EXPECT_EQ(a.labels.classes, b.labels.classes);
  EXPECT_EQ(a.labels.multilabel, b.labels.multilabel);
  EXPECT_EQ(a.labels.values, b.labels.values);
  EXPECT_EQ(a.split, b.split);
  ASSERT_EQ(a.features == nullptr, b.features == nullptr);
  if (!a.features) return;
  EXPECT_EQ(all_values(*a.features), all_values(*b.features));
  EXPECT_EQ(a.features->made_up(), b.features->made_up());
}

class WriteOrreryTest : public FilesTest {
 protected:
  Dataset round_trip(const Dataset& dataset) const {
    write_orrery(dataset, file("out"));
    return read_dataset(file("out").string());
  }
  /// Names of everything in the test's folder, hidden files too.
  std::vector<std::string> entries() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_))
      names.push_back(entry.path().filename().string());
    return names;
  }
};

TEST_F(WriteOrreryTest, GeneratedSetSurvivesARoundTrip) {
  const Dataset dataset = generated();

  const Dataset back = round_trip(dataset);

  expect_equal(back, dataset);
  EXPECT_EQ(back.notes.front(), dataset.notes.front());
  EXPECT_THAT(entries(), testing::ElementsAre("out"));
}

TEST_F(WriteOrreryTest, DirectedSparseSplitSetSurvivesARoundTrip) {
  Dataset dataset;
  dataset.graph = std::make_shared<Csr>(build_csr(EdgeList{40, {0, 3, 39, 7}, {3, 0, 1, 7}}));
  std::vector<float> values(40 * 50);
  values[3] = 1;
  values[1999] = 0.25F;
  dataset.features = dense_features(40, 50, values, "", false);
  dataset.labels = {3, false, std::vector<std::int32_t>(40, 2)};
  dataset.labels.values[5] = -1;
  dataset.split.assign(40, Split::none);
  dataset.split[1] = Split::validation;

  const Dataset back = round_trip(dataset);

  expect_equal(back, dataset);
  EXPECT_TRUE(fs::exists(file("out/features_indptr.npy")));
  EXPECT_FALSE(fs::exists(file("out/features.npy")));
}

TEST_F(WriteOrreryTest, SparseOnesNeedNoValues) {
  Dataset dataset;
  dataset.graph = std::make_shared<Csr>(build_csr(EdgeList{40, {0}, {1}}));
  std::vector<float> values(40 * 50);
  values[77] = 1;
  dataset.features = dense_features(40, 50, values, "", false);

  const Dataset back = round_trip(dataset);

  expect_equal(back, dataset);
  EXPECT_TRUE(back.features->binary());
  EXPECT_FALSE(fs::exists(file("out/features_data.npy")));
}

TEST_F(WriteOrreryTest, MultilabelAndAbsentFeaturesSurviveARoundTrip) {
  Dataset dataset;
  dataset.graph = std::make_shared<Csr>(build_csr(EdgeList{2, {0, 1}, {1, 0}}));
  dataset.symmetric = true;
  dataset.labels = {3, true, {1, 0, 1, 0, 0, 1}};

  expect_equal(round_trip(dataset), dataset);
}

TEST_F(WriteOrreryTest, EdgesAreSortedBySourceThenDestination) {
  Dataset dataset;
  dataset.graph = std::make_shared<Csr>(build_csr(EdgeList{3, {2, 0, 0, 1}, {1, 2, 1, 0}}));

  write_orrery(dataset, file("out"));

  EXPECT_THAT(NpyArray(file("out/edges.npy")).values<std::int32_t>({2, 4}),
              testing::ElementsAre(0, 0, 1, 2, 1, 2, 0, 1));
}

TEST_F(WriteOrreryTest, ExistingSetIsReplacedOnlyByForce) {
  write_orrery(generated(), file("out"));
  Dataset other;
  other.graph = std::make_shared<Csr>(build_csr(EdgeList{2, {0}, {1}}));

  EXPECT_THAT(data_error([&] { write_orrery(other, file("out")); }),
              HasSubstr("--force replaces a data set"));
  EXPECT_EQ(read_dataset(file("out").string()).vertices(), 500);
  write_orrery(other, file("out"), true);
  EXPECT_EQ(read_dataset(file("out").string()).vertices(), 2);
  EXPECT_THAT(entries(), testing::ElementsAre("out"));
}

TEST_F(WriteOrreryTest, ForceDoesNotReplaceWhatIsNoDataset) {
  write("out/letter.txt", "dear reader");

  EXPECT_THAT(data_error([&] { write_orrery(generated(), file("out"), true); }),
              HasSubstr("that is no data set"));
  EXPECT_TRUE(fs::exists(file("out/letter.txt")));
}

TEST_F(WriteOrreryTest, MakesTheFoldersAboveIt) {
  write_orrery(generated(), file("not/yet/out"));

  EXPECT_TRUE(fs::exists(file("not/yet/out/meta.json")));
}

TEST_F(WriteOrreryTest, AFileWhereAFolderShouldBeIsAnError) {
  write("occupied", "dear reader");

  EXPECT_THAT(data_error([&] { write_orrery(generated(), file("occupied/out")); }),
              HasSubstr("out: expected to create this folder, found: Not a directory"));
}

// A limit on the size of files stands for a disk that is full.
TEST_F(WriteOrreryTest, FullDiskLeavesNothingBehind) {
  const auto previous_handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit previous{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &previous), 0);
  const Dataset dataset = generated();
  const rlimit small{8192, previous.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);

  const std::string message = data_error([&] { write_orrery(dataset, file("out")); });

  ::setrlimit(RLIMIT_FSIZE, &previous);
  ::signal(SIGXFSZ, previous_handler);
  EXPECT_THAT(message, HasSubstr("edges.npy: expected to write this file, found: File too large"));
  EXPECT_THAT(entries(), testing::IsEmpty());
}

}  // namespace
}  // namespace orrery
