// Rows and drawn neighbours come back from files as they were put, or not at all.
#include "experiments/infer/kept/kept_input.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "core/base/error.hpp"
#include "tests/support/inferences.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

using testing::make_inference;
using testing::random_dataset;

const nlohmann::ordered_json kIdentity{{"seed", 5}, {"inference", {{"fanout", 3}}}};

class KeptInputs : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove_all(folder_); }
  KeptInput opened(bool resume, int files = 1, int file = 0) const {
    return {folder_, open_kept_input(folder_, kIdentity, files, resume), file, true};
  }
  static std::string text_of(const fs::path& file) {
    std::stringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
  }
  const fs::path folder_ =
      fs::path(::testing::TempDir()) / ("kept_input" + std::to_string(::getpid()));
};

InferenceProblem problem_with(int rows, int columns, int fanout, SparseProduct spmm) {
  InferenceConfig config;
  config.rows = rows;
  config.columns = columns;
  config.fanout = fanout;
  config.spmm = spmm;
  ModelConfig model;
  model.layers = 3;
  return make_inference(random_dataset(61, 400, 10, 5, true), model, config);
}

/// A second way: graphs with what was taken record the same programs.
TEST_F(KeptInputs, GiveBackWhatWasRead) {
  for (const int fanout : {kAllNeighbours, 3})
    for (const SparseProduct spmm : {SparseProduct::ids_then_rows, SparseProduct::two_d}) {
      const InferenceProblem problem = problem_with(3, 2, fanout, spmm);
      const KeptInput written = opened(false);
      EXPECT_FALSE(written.there().rows || written.there().draws);
      written.put_rows(problem.data->graph, 800);
      EXPECT_TRUE(opened(true).there().rows);
      EXPECT_FALSE(opened(true).there().draws);
      written.put_draws(problem.graphs->drawn());

      const KeptInput again = opened(true);
      ASSERT_TRUE(again.there().rows && again.there().draws);
      const KeptRows rows = again.take_rows();
      EXPECT_EQ(*rows.rows.csr, *problem.data->graph.csr);
      EXPECT_EQ(rows.rows.degrees, problem.data->graph.degrees);
      EXPECT_EQ(rows.rows.rows, problem.data->graph.rows);
      EXPECT_EQ(rows.rows.symmetric, problem.data->graph.symmetric);
      EXPECT_EQ(rows.edges, 800);
      EXPECT_TRUE(again.take_draws() == problem.graphs->drawn());
      const auto graphs = make_graphs(problem, std::nullopt, again.take_draws());
      for (int layer = 1; layer <= 3; ++layer)
        for (int part = 0; part < 3; ++part) {
          EXPECT_EQ(graphs->cut(layer, part, 7).local.csr(),
                    problem.graphs->cut(layer, part, 7).local.csr());
          EXPECT_EQ(graphs->rounds(layer, part, 7), problem.graphs->rounds(layer, part, 7));
        }
      EXPECT_EQ(graphs->alike(), problem.graphs->alike());
    }
}

/// Of several processes, all must have kept theirs.
TEST_F(KeptInputs, AreThereWhenAllProcessesHaveThem) {
  const InferenceProblem problem = problem_with(2, 1, 3, SparseProduct::ids_then_rows);
  opened(false, 2, 0).put_rows(problem.data->graph, 800);
  EXPECT_FALSE(opened(true, 2).there().rows);
  opened(true, 2, 1).put_rows(problem.data->graph, 800);
  EXPECT_TRUE(opened(true, 2).there().rows);
}

/// Any byte that changes, and any end that is missing, is noticed.
TEST_F(KeptInputs, AreRefusedWhereTheyAreDamaged) {
  const InferenceProblem problem = problem_with(2, 1, 3, SparseProduct::ids_then_rows);
  const KeptInput kept = opened(false);
  kept.put_rows(problem.data->graph, 800);
  kept.put_draws(problem.graphs->drawn());
  for (const char* name : {"rows-0.bin", "draws-0.bin"}) {
    const std::string whole = text_of(folder_ / name);
    const auto refused = [&](const std::string& text) {
      std::ofstream(folder_ / name, std::ios::binary) << text;
      try {
        name[0] == 'r' ? static_cast<void>(kept.take_rows()) : static_cast<void>(kept.take_draws());
      } catch (const DataError&) {
        return true;
      }
      return false;
    };
    for (std::size_t i = 0; i < whole.size(); i += i < 64 ? 1 : 97) {
      std::string other = whole;
      other[i] ^= 1;
      EXPECT_TRUE(refused(other)) << name << " byte " << i;
      EXPECT_TRUE(refused(whole.substr(0, i))) << name << " cut at " << i;
    }
    EXPECT_FALSE(refused(whole));
  }
}

TEST_F(KeptInputs, OfAnotherInferenceAreRefusedByNameAndRemovedByAFreshStart) {
  const InferenceProblem problem = problem_with(2, 1, 3, SparseProduct::ids_then_rows);
  opened(false).put_rows(problem.data->graph, 800);
  std::ofstream(folder_ / "thesis.tex") << "mine";
  auto other = kIdentity;
  other["inference"]["fanout"] = 4;

  try {
    open_kept_input(folder_, other, 1, true);
    FAIL() << "was taken over";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.path, "inference.fanout");
  }
  EXPECT_FALSE(open_kept_input(folder_, other, 1, false).rows);
  EXPECT_FALSE(fs::exists(folder_ / "rows-0.bin"));
  EXPECT_EQ(text_of(folder_ / "thesis.tex"), "mine");
}

}  // namespace
}  // namespace orrery
