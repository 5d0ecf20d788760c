#include "core/graph/read/write_orrery.hpp"

#include <fmt/core.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "core/graph/files/folder_in_progress.hpp"

#include "core/graph/generate/generate.hpp"
#include "core/graph/read/features_windowed.hpp"
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

TEST_F(WriteOrreryTest, FeaturesOfSixteenBitsAreWrittenAndReadAsSuch) {
  Dataset set = generated();
  set.features = half_features(set.features);
  const std::int64_t width = set.features->width();

  const Dataset again = round_trip(set);

  expect_equal(again, set);
  ASSERT_TRUE(again.features->half());
  EXPECT_EQ(fs::file_size(file("out/features.npy")), 128 + 2 * 500 * 6);
  const auto windowed = windowed_features(file("out/features.npy"), 500, width, false, true);
  EXPECT_EQ(all_values(*windowed), all_values(*set.features));
  std::vector<Half> row(6), want(6);
  windowed->read_half(std::vector<Vertex>{7}, 0, width, row.data(), width);
  set.features->read_half(std::vector<Vertex>{7}, 0, width, want.data(), width);
  for (std::size_t c = 0; c < 6; ++c) EXPECT_EQ(row[c].bits, want[c].bits);
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

TEST_F(WriteOrreryTest, NamesOfVerticesSurviveARoundTrip) {
  Dataset dataset;
  dataset.graph = std::make_shared<Csr>(build_csr(EdgeList{3, {0, 1}, {1, 2}}));
  const auto round_trip_of = [&](const VertexNames& names) {
    write_orrery(dataset, file("out"), true, nullptr, nullptr, names);
    VertexNames back;
    read_dataset(file("out").string(), "auto", "", &back);
    return back;
  };

  const VertexNames numbers = round_trip_of({{10, 20, 5'000'000'000}, {}});
  EXPECT_THAT(numbers.numbers, testing::ElementsAre(10, 20, 5'000'000'000));
  EXPECT_THAT(numbers.words, testing::IsEmpty());
  EXPECT_THAT(round_trip_of({{}, {"ann", "b b", ""}}).words,
              testing::ElementsAre("ann", "b b", ""));
  EXPECT_FALSE(fs::exists(file("out/ids.npy"))) << "of the folder that was replaced";
  EXPECT_FALSE(round_trip_of({}).present());
}

TEST_F(WriteOrreryTest, NamesOfOtherVerticesAreErrors) {
  write("names.txt", "ann\nbob\n");
  EXPECT_THAT(data_error([&] { read_vertex_names(folder_, 3); }),
              HasSubstr("names.txt: expected 3 lines, a name for each vertex, found 2"));
  EXPECT_THAT(read_vertex_names(folder_, 2).words, testing::ElementsAre("ann", "bob"));
  write_npy<std::int64_t>("ids.npy", {2}, {1, 2});
  EXPECT_THAT(data_error([&] { read_vertex_names(folder_, 2); }),
              HasSubstr("has both ids.npy and names.txt: remove"));
  fs::remove(file("names.txt"));
  EXPECT_THAT(data_error([&] { read_vertex_names(folder_, 3); }),
              HasSubstr("ids.npy:byte 10: expected shape [3], found [2]"));
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
              HasSubstr("--force replaces what orrery wrote there"));
  EXPECT_EQ(read_dataset(file("out").string()).vertices(), 500);
  write_orrery(other, file("out"), true);
  EXPECT_EQ(read_dataset(file("out").string()).vertices(), 2);
  EXPECT_THAT(entries(), testing::ElementsAre("out"));
}

TEST_F(WriteOrreryTest, ForceDoesNotReplaceWhatIsNoDataset) {
  write("out/letter.txt", "dear reader");

  EXPECT_THAT(data_error([&] { write_orrery(generated(), file("out"), true); }),
              HasSubstr("it is no data set"));
  EXPECT_TRUE(fs::exists(file("out/letter.txt")));
}

TEST_F(WriteOrreryTest, ForceDoesNotReplaceWhatHappensToHoldAMetaFile) {
  write("out/meta.json", R"({"title": "my thesis"})");
  write("out/src/thesis.tex", "in the beginning");
  write_orrery(generated(), file("set"));
  write("set/notes.txt", "how it was made");
  const std::string old = read("set/meta.json");

  EXPECT_THAT(
      data_error([&] { write_orrery(generated(), file("out"), true); }),
      HasSubstr("out: expected to create this folder, found: a folder that is not replaced: "
                "it is no data set (those have meta.json and edges.npy)"));
  EXPECT_EQ(read("out/src/thesis.tex"), "in the beginning");
  write("out/edges.npy", "");
  EXPECT_THAT(data_error([&] { write_orrery(generated(), file("out"), true); }),
              HasSubstr("meta.json:key num_nodes"));
  EXPECT_THAT(data_error([&] { write_orrery(generated(), file("set"), true); }),
              HasSubstr("it also holds notes.txt; move that away first"));
  EXPECT_EQ(read("set/meta.json"), old);
  EXPECT_THAT(entries(), testing::UnorderedElementsAre("out", "set"));
}

/// If something else takes the place of a folder while it is written, the folder does not replace
/// it.
TEST_F(WriteOrreryTest, WhatCameToBeThereMeanwhileIsNotReplaced) {
  FolderInProgress first(file("out"), false, {});
  write(fs::relative(first.path() / "mine", folder_).string(), "1");
  write("out/yours", "2");

  EXPECT_THAT(data_error([&] { first.commit(); }), HasSubstr("of that name"));
  EXPECT_EQ(read("out/yours"), "2");
}

TEST_F(WriteOrreryTest, AReplacedFolderIsThereAtEveryMoment) {
  write_orrery(generated(), file("out"));
  std::atomic<bool> done{false};
  std::atomic<int> looks{0}, gone{0};
  std::thread watcher([&] {
    while (!done) {
      if (::access(file("out/meta.json").c_str(), F_OK) != 0) ++gone;
      ++looks;
    }
  });
  while (looks == 0) std::this_thread::yield();

  for (int i = 0; i < 300; ++i) {
    FolderInProgress next(file("out"), true, [](const fs::path&) { return std::string(); });
    std::ofstream(next.path() / "meta.json") << i;
    next.commit();
  }
  done = true;
  watcher.join();

  EXPECT_EQ(gone, 0) << "of " << looks;
  EXPECT_EQ(read("out/meta.json"), "299");
  EXPECT_THAT(entries(), testing::ElementsAre("out"));
}

TEST_F(WriteOrreryTest, AnInterruptedProcessLeavesNothing) {
  const pid_t child = ::fork();
  if (child == 0) {
    const FolderInProgress half(file("made/new"), false, {});
    std::ofstream(half.path() / "meta.json") << "{}";
    remove_unfinished();
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);

  EXPECT_THAT(entries(), testing::IsEmpty());
}

TEST_F(WriteOrreryTest, TheNextStartRemovesWhatKilledOnesLeftAndNothingElse) {
  write("out/meta.json", "{}");
  const auto in_child = [&](const auto& work) {
    const pid_t child = ::fork();
    if (child == 0) {
      work();
      ::_exit(0);
    }
    return child;
  };
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t killed = in_child([&] {
    const FolderInProgress left(file("new"), false, {});
    ::raise(SIGKILL);
  });
  ::waitpid(killed, nullptr, 0);
  const pid_t living = in_child([&] {
    const FolderInProgress busy(file("new"), false, {});
    if (::write(ready[1], "x", 1) == 1) ::pause();
  });
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  write(".out.old-1/meta.json", "{}");      // beside its replacement
  write(".new.old-1/meta.json", "{}");      // all that is left of it
  write(".new.partial-x/meta.json", "{}");  // a name that is none of ours
  const std::string of_the_living = fmt::format(".new.partial-{}", living);

  FolderInProgress(file("new"), false, {}).commit();
  FolderInProgress(file("out"), true, [](const fs::path&) { return std::string(); }).commit();
  const auto found = entries();
  ::kill(living, SIGKILL);
  ::waitpid(living, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);

  EXPECT_THAT(found, testing::UnorderedElementsAre("out", "new", ".new.old-1", ".new.partial-x",
                                                   of_the_living));
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
