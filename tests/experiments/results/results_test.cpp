#include "experiments/results/results.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "core/base/error.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

template <class Action>
std::string problem(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class Results : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::path(::testing::TempDir()) / "orrery_results_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(Results, AFileIsReplacedWhole) {
  write_file(folder_ / "a.json", "the first, longer text");
  write_file(folder_ / "a.json", "second");

  EXPECT_EQ(content(folder_ / "a.json"), "second");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);  // no temporary is left
}

TEST_F(Results, AFolderThatCannotBeMadeIsNamed) {
  write_file(folder_ / "file", "no folder");

  const std::string message =
      problem([&] { ResultFolder(folder_ / "file" / "run", Existing::refuse); });

  EXPECT_NE(message.find("file/run"), std::string::npos) << message;
}

TEST_F(Results, LinesAreAppended) {
  const ResultFolder results(folder_ / "run", Existing::refuse);

  results.append("epochs.jsonl", "{\"epoch\":1}\n");
  results.append("epochs.jsonl", "{\"epoch\":2}\n");

  EXPECT_EQ(content(results.path() / "epochs.jsonl"), "{\"epoch\":1}\n{\"epoch\":2}\n");
}

TEST_F(Results, AFullDiskFailsTheAppendingOfALine) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  const ResultFolder results(folder_ / "run", Existing::refuse);
  fs::create_symlink("/dev/full", results.path() / "epochs.jsonl");

  const std::string message = problem([&] { results.append("epochs.jsonl", "{\"epoch\":1}\n"); });

  EXPECT_NE(message.find("epochs.jsonl"), std::string::npos);
  EXPECT_NE(message.find("No space left on device"), std::string::npos) << message;
}

TEST_F(Results, WhatAKilledRunDidNotFinishIsRemovedByTheNext) {
  { const ResultFolder killed(folder_ / "run", Existing::refuse); }
  for (const char* name : {"timeline.json.part", "checkpoint.bin.part", "notes.part"})
    std::ofstream(folder_ / "run" / name) << "half";

  const ResultFolder next(folder_ / "run", Existing::refuse);

  EXPECT_FALSE(fs::exists(folder_ / "run" / "timeline.json.part"));
  EXPECT_FALSE(fs::exists(folder_ / "run" / "checkpoint.bin.part"));
  EXPECT_TRUE(fs::exists(folder_ / "run" / "notes.part")) << "of somebody else";
}

/// mpirun kills ranks soon after one died: one that leaves the word to another has to leave its file
/// too, at once.
TEST_F(Results, WhatARunKilledBehindItsResultDidNotFinishIsRemovedByARefusedStart) {
  const fs::path half = folder_ / "run" / "timeline.json.part";
  {
    const ResultFolder results(folder_ / "run", Existing::refuse);
    results.write("result.json", "{}");
    std::ofstream(half) << "half";
    EXPECT_THROW(require_replaceable(folder_ / "run", Existing::refuse), Error);
    EXPECT_TRUE(fs::exists(half)) << "its run still writes it";
  }
  EXPECT_THROW(require_replaceable(folder_ / "run", Existing::refuse), Error);
  EXPECT_FALSE(fs::exists(half));
}

TEST_F(Results, ARankThatMayNotTellFindsTheWholeFileOfTheOneThatDoes) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    fs::remove_all(folder_ / "run");
    fs::create_directory(folder_ / "run");
    std::atomic<int> told = 0, found = 0;
    const auto claim = [&](int rank) {
      if (claim_failure(folder_ / "run", {{"told_by", rank}, {"message", std::string(20000, 'x')}}))
        ++told;
      else if (content(folder_ / "run" / "failure.json").ends_with("}\n"))
        ++found;
    };
    {
      std::vector<std::jthread> ranks;
      for (int rank = 0; rank < 4; ++rank) ranks.emplace_back(claim, rank);
    }
    EXPECT_EQ(told, 1);
    EXPECT_EQ(found, 3);
  }
}

TEST_F(Results, AnOldResultIsOnlyReplacedOnRequest) {
  {
    const ResultFolder results(folder_ / "run", Existing::refuse);
    results.write("result.json", "{}");
    results.append("epochs.jsonl", "{\"epoch\":1}\n");
  }

  EXPECT_NE(problem([&] {
              ResultFolder(folder_ / "run", Existing::refuse);
            }).find("already holds a result"),
            std::string::npos);
  EXPECT_TRUE(fs::exists(folder_ / "run" / "result.json"));
  const ResultFolder replaced(folder_ / "run", Existing::overwrite);
  EXPECT_FALSE(fs::exists(folder_ / "run" / "result.json"));
  EXPECT_FALSE(fs::exists(folder_ / "run" / "epochs.jsonl"));
}

TEST_F(Results, FilesOfOthersAreNeverWrittenOver) {
  fs::create_directories(folder_ / "own");
  write_file(folder_ / "own" / "config.json", "mine");

  for (const Existing existing : {Existing::refuse, Existing::overwrite, Existing::resume})
    EXPECT_NE(problem([&] {
                ResultFolder(folder_ / "own", existing);
              }).find("holds files that no run wrote (config.json)"),
              std::string::npos);
  EXPECT_EQ(content(folder_ / "own" / "config.json"), "mine");
}

TEST_F(Results, ACheckpointIsOnlyReplacedOnRequest) {
  { write_file(ResultFolder(folder_ / "run", Existing::refuse).checkpoint(), "epochs of work"); }

  EXPECT_NE(problem([&] { ResultFolder(folder_ / "run", Existing::refuse); }).find("add --resume"),
            std::string::npos);
  EXPECT_EQ(content(folder_ / "run" / "checkpoint.bin"), "epochs of work");
  { const ResultFolder resumed(folder_ / "run", Existing::resume); }
  EXPECT_EQ(content(folder_ / "run" / "checkpoint.bin"), "epochs of work");
  { const ResultFolder anew(folder_ / "run", Existing::overwrite); }
  EXPECT_FALSE(fs::exists(folder_ / "run" / "checkpoint.bin"));
}

TEST_F(Results, AResultWithoutACheckpointIsNotResumedByStartingAnew) {
  { ResultFolder(folder_ / "run", Existing::refuse).write("result.json", "{}"); }

  EXPECT_NE(problem([&] { ResultFolder(folder_ / "run", Existing::resume); }).find("no checkpoint"),
            std::string::npos);
  EXPECT_EQ(content(folder_ / "run" / "result.json"), "{}");
}

TEST(FileNames, OfNamesWithoutLettersAreTheirOwn) {
  for (const char* name : {"..", ".", "", "///", "図", "図図"})
    EXPECT_EQ(as_file_name(name).rfind("unnamed-", 0), 0U) << name;
  EXPECT_NE(as_file_name("図"), as_file_name("図図"));
}

TEST(FileNames, HoldNoSeparators) {
  EXPECT_EQ(as_file_name("strategy.type=spmm_1d, seed=3"), "strategy.type=spmm_1d_seed=3");
  EXPECT_EQ(as_file_name("../a/b").find('/'), std::string::npos);
  EXPECT_LE(as_file_name(std::string(1000, 'x')).size(), 255U);
}

TEST(FileNames, OfDefaultFoldersStartWithTheExperiment) {
  EXPECT_EQ(default_result_folder("cora").string().rfind("results/cora-", 0), 0U);
}

TEST(Provenance, NamesWhereAndWithWhatAResultWasMade) {
  const auto provenance = orrery::provenance();

  for (const char* key : {"version", "revision", "compiler", "host", "cpu", "date"})
    EXPECT_FALSE(provenance.at(key).get<std::string>().empty()) << key;
  EXPECT_GE(provenance.at("cores").get<int>(), 1);
}

TEST_F(Results, OneRunAtATimeWritesAFolder) {
  const ResultFolder first(folder_ / "run", Existing::refuse);

  EXPECT_NE(problem([&] {
              ResultFolder(folder_ / "run", Existing::overwrite);
            }).find("another run is writing"),
            std::string::npos);
}

}  // namespace
}  // namespace orrery
