// Files of earlier starts may hold anything: they are read, or refused in one line that names the
// file and the key.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "core/base/error.hpp"
#include "core/runtime/epoch_parts.hpp"
#include "experiments/results/checkpoint.hpp"
#include "experiments/results/resume.hpp"
#include "experiments/results/run_report.hpp"
#include "experiments/results/sweep_log.hpp"
#include "experiments/run/real_run.hpp"
#include "tests/experiments/results/contents.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// These values replace each value in turn.
const Json kOddities = Json::parse(
    R"([null, true, -1, 1.5, 1e300, "x", [], {}, {"a": 1}, [1, "b", {}], 9223372036854775808])");

/// Calls f(changed, what) with every value of `honest` replaced by every oddity, or removed.
template <class F>
void for_each_change(const Json& honest, const F& f) {
  const auto visit = [&](const auto& self, const Json::json_pointer& where) -> void {
    const Json value = where.empty() ? honest : honest.at(where);
    for (const Json& odd : kOddities) {
      Json changed = honest;
      changed[where] = odd;
      f(changed, fmt::format("{} = {}", where.to_string(), odd.dump()));
    }
    if (value.is_object())
      for (const auto& [key, unused] : value.items()) {
        Json changed = honest;
        changed[where].erase(key);
        f(changed, fmt::format("{} without {}", where.to_string(), key));
        self(self, where / key);
      }
    if (value.is_array() && !value.empty()) self(self, where / std::size_t{0});
  };
  visit(visit, Json::json_pointer());
}

class KeptFiles : public ::testing::Test {
 protected:
  KeptFiles() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~KeptFiles() override { fs::remove_all(folder_); }

  static Experiment experiment(const std::string& strategy = R"({"type": "full_graph"})") {
    const std::string text = R"({"name": "x", "dataset": {"generate": "rmat", "vertices": 100},
                                 "model": {"type": "gcn"}, "train": {"epochs": 3}, "strategy": )" +
                             strategy + "}";
    return parse_experiments(text, "test", {}).front();
  }
  /// A result with everything that is looked up.
  static Json result() {
    Json parts = Json::object();
    for (const EpochPart& part : kEpochParts) parts[part.key] = 0.25;
    return {{"strategy", "full_graph"},
            {"interrupted", false},
            {"epochs", 3},
            {"diverged_at_epoch", nullptr},
            {"val_accuracy", 0.5},
            {"test_accuracy", 0.5},
            {"epoch_seconds", 1.5},
            {"mean_epoch_seconds", 1.5},
            {"synchronise_seconds", 0.5},
            {"breakdown", parts},
            {"compute_by_kind", {{"spmm", 1}}},
            {"bytes", {{"internal", 0.0}, {"external", 5}}},
            {"ranks", 2},
            {"peak_bytes", {7, 8}},
            {"preloading",
             {{"vertices_ratio", 1.5},
              {"edges_ratio", 2.5},
              {"rows", 3},
              {"bytes", 4},
              {"essential_peak_bytes", 5},
              {"preloaded_peak_bytes", 6}}},
            {"out_dir", "results/x"}};
  }
  static Json epoch(int number) {
    return {{"epoch", number},      {"loss", 1.5},          {"train_accuracy", nullptr},
            {"val_accuracy", 0.25}, {"test_accuracy", 0.5}, {"seconds", 0.125}};
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  /// What an Error says, in one line; empty where there is none.
  template <class Call>
  static std::string problem(const Call& call) {
    try {
      call();
    } catch (const Error& error) {
      const std::string words = error.what();
      EXPECT_EQ(words.find('\n'), std::string::npos) << words;
      EXPECT_EQ(words.find("json.exception"), std::string::npos) << words;
      return words;
    }
    return "";
  }

  const fs::path folder_ = fs::temp_directory_path() / fmt::format("orrery-kept-{}", ::getpid());
};

TEST_F(KeptFiles, LogsOfSweepsAreTabledOrRefusedByLineAndKey) {
  const Json honest{
      {"label", "seed=1"}, {"config_hash", config_hash(experiment())}, {"result", result()}};
  std::FILE* nowhere = std::fopen("/dev/null", "w");
  int tables = 0, refusals = 0;
  const auto words_of = [&](const Json& line) {
    write("results.jsonl", honest.dump() + "\n" + line.dump() + "\n");
    return problem([&] {
      const SweepLog log(folder_ / "results.jsonl");
      const Json* found = log.find(experiment());
      if (found == nullptr) return;  // the hash was changed
      const Json& taken = found->at("result");
      const std::vector<FinishedRun> runs{{experiment(), measurement_of(taken), taken}};
      sweep_json(runs, "folder", Unfinished{});
      print_report(runs, "folder", Unfinished{}, nowhere);
      ++tables;
    });
  };
  ASSERT_EQ(words_of(honest), "");

  for_each_change(honest, [&](const Json& changed, const std::string& what) {
    const std::string words = words_of(changed);
    refusals += words.empty() ? 0 : 1;
    EXPECT_TRUE(words.empty() || words.find("results.jsonl:line 2") != std::string::npos)
        << what << ": " << words;
  });
  std::fclose(nowhere);
  EXPECT_GE(tables, 50);
  EXPECT_GE(refusals, 250);
  Json line = honest;
  line.erase("result");
  EXPECT_EQ(words_of(line), (folder_ / "results.jsonl").string() +
                                ":line 2, key result: expected an object, found none");
  line = honest;
  line["result"]["breakdown"]["compute"] = "much";
  EXPECT_EQ(words_of(line),
            (folder_ / "results.jsonl").string() +
                ":line 2, key result/breakdown/compute: expected a number, found \"much\"");
  line = honest;
  line["result"]["ranks"] = 7;
  EXPECT_EQ(words_of(line),
            (folder_ / "results.jsonl").string() +
                ":line 2, key result/ranks: expected 2, one for each of peak_bytes, found 7");
}

TEST_F(KeptFiles, ResultsAndSettingsAreComparedOrRefused) {
  const Json resolved = experiment().resolved;
  int refusals = 0;
  const auto words_of = [&](const Json& result, const Json& config) {
    write("result.json", result.dump());
    write("config.json", config.dump());
    const std::string words = problem([&] { is_complete(folder_, resolved); });
    refusals += words.empty() ? 0 : 1;
    return words;
  };
  ASSERT_EQ(words_of(result(), resolved), "");
  ASSERT_TRUE(is_complete(folder_, resolved));

  for_each_change(result(),
                  [&](const Json& changed, const std::string&) { words_of(changed, resolved); });
  EXPECT_GE(refusals, 10);
  for_each_change(resolved,
                  [&](const Json& changed, const std::string&) { words_of(result(), changed); });
  EXPECT_GE(refusals, 100);
  const std::string config = (folder_ / "config.json").string();
  EXPECT_EQ(words_of(result(), Json::object()),
            config + ":key train: expected an object, found none");
  EXPECT_EQ(words_of(Json::array(), resolved),
            (folder_ / "result.json").string() + ":byte 0: expected a JSON object, found []");
  EXPECT_NE(words_of(result(), 5).find("config.json:byte 0: expected a JSON object, found 5"),
            std::string::npos);
  write("config.json", std::string(100'000, '['));
  EXPECT_NE(problem([&] { is_complete(folder_, resolved); }).find("at most 100 deep"),
            std::string::npos);
}

TEST_F(KeptFiles, EpochsAreTakenUpOrRefusedByLineAndKey) {
  const Json resolved = experiment().resolved;
  const auto words_of = [&](const Json& line) {
    write(".lock", "");
    write_checkpoint(folder_ / "checkpoint.bin", {2, {{1.5F}}}, resolved);
    write("epochs.jsonl", epoch(0).dump() + "\n" + line.dump() + "\n" + epoch(2).dump() + "\n");
    return problem([&] {
      const ResultFolder results(folder_, Existing::resume);
      EXPECT_EQ(take_up(results, resolved).epochs.size(), 2U);
      EXPECT_EQ(contents_of(folder_ / "epochs.jsonl"), epoch(0).dump() + "\n" + line.dump() + "\n");
    });
  };
  ASSERT_EQ(words_of(epoch(1)), "");

  for_each_change(epoch(1), [&](const Json& changed, const std::string& what) {
    const std::string words = words_of(changed);
    EXPECT_TRUE(words.empty() || words.find("epochs.jsonl:line 2") != std::string::npos)
        << what << ": " << words;
  });
  const std::string at = (folder_ / "epochs.jsonl").string() + ":line 2";
  EXPECT_EQ(words_of(5), at + ", byte 0: expected a JSON object, found 5");
  EXPECT_EQ(words_of(epoch(4)), at + ", key epoch: expected 1, found 4");
}

/// A checkpoint with another header and, like every one, the right checksum.
std::string with_header(const Json& header, const std::string& rows) {
  const std::string text = header.dump();
  const auto size = static_cast<std::uint64_t>(text.size());
  std::string bytes =
      "ORRERYC1" + std::string(reinterpret_cast<const char*>(&size), 8) + text + rows;
  const auto crc = static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
  return bytes + std::string(reinterpret_cast<const char*>(&crc), 4);
}

TEST_F(KeptFiles, CheckpointsAreReadOrRefusedBeforeMemoryIsAskedFor) {
  const Json resolved = experiment().resolved;
  write_checkpoint(folder_ / "c", {2, {{1.5F, 2}, {3}}}, resolved);
  const std::string bytes = contents_of(folder_ / "c");
  std::uint64_t size = 0;
  std::memcpy(&size, bytes.data() + 8, 8);
  const Json honest = Json::parse(bytes.substr(16, size));
  const std::string rows = bytes.substr(16 + size, 12);
  const auto words_of = [&](const Json& header, const std::string& data) {
    return problem([&] { parse_checkpoint(with_header(header, data), "c", resolved); });
  };
  ASSERT_EQ(words_of(honest, rows), "");

  int refusals = 0;
  for_each_change(honest, [&](const Json& changed, const std::string&) {
    refusals += words_of(changed, rows).empty() ? 0 : 1;
  });
  EXPECT_GE(refusals, 200);
  const auto with_rows = [&](const Json& list) {
    Json header = honest;
    header["rows"] = list;
    return words_of(header, rows);
  };
  EXPECT_EQ(with_rows({std::int64_t{1} << 62U}),
            "c:header, key rows: expected at most the 3 numbers that are left, found "
            "4611686018427387904");
  EXPECT_EQ(with_rows({2, 2}),
            "c:header, key rows: expected at most the 1 numbers that are left, found 2");
  EXPECT_EQ(with_rows({2}), "c: holds 4 bytes behind its last row");
  EXPECT_EQ(with_rows({-1}), "c:header, key rows: expected counts, found -1");
  std::string cut = bytes;
  cut.resize(cut.size() - 4);
  cut[15] = '\x7f';
  const auto crc = static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const unsigned char*>(cut.data()), cut.size()));
  cut.append(reinterpret_cast<const char*>(&crc), 4);
  EXPECT_NE(problem([&] { parse_checkpoint(cut, "c", resolved); }).find("is no whole checkpoint"),
            std::string::npos);
}

/// Its name could be guessed, and another user's link of that name led elsewhere.
TEST_F(KeptFiles, LogsOfMeasuredLinksStandInTheFolderOfTheResult) {
  const fs::path shared = folder_ / "tmp", victim = folder_ / "victim";
  fs::create_directories(shared);
  write("victim", "precious");
  fs::create_symlink(victim, shared / fmt::format("orrery-links-{}.log", ::getpid()));
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", shared.c_str(), 1);
  Experiment wrong = experiment();
  wrong.resolved["cluster"] = {{"servers", 2}, {"ranks_per_server", 1}};
  wrong.netcluster = "no rate at all";

  const std::string words = problem([&] { measure_netcluster(wrong, folder_); });
  before == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);

  EXPECT_NE(words.find("the job failed"), std::string::npos) << words;
  EXPECT_EQ(contents_of(victim), "precious");
  EXPECT_GT(fs::file_size(folder_ / "links.log"), 0U);
  EXPECT_EQ(std::distance(fs::directory_iterator(shared), {}), 1);
}

}  // namespace
}  // namespace orrery
