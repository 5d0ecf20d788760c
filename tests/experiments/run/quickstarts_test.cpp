// The shipped experiments that a reader of the manual starts first, from end to end in a few epochs.
#include <gmock/gmock.h>

#include "tests/experiments/commands/started_program.hpp"

namespace orrery {
namespace {

class Quickstart : public testing::StartedProgram {
 protected:
  /// Runs a shipped experiment, and expects a result of so many runs.
  void expect_results(const std::string& config, std::ptrdiff_t runs,
                      const std::string& more = "") const {
    ASSERT_EQ(orrery("run '" ORRERY_SOURCES "/configs/" + config + "' --quiet --out '" +
                     in("runs").string() + "' --set train.epochs=2 " + more),
              0)
        << read("err");
    std::ptrdiff_t found = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(in("runs"))) {
      if (entry.path().filename() != "result.json") continue;
      ++found;
      const auto result = json(std::filesystem::relative(entry.path(), folder_).string());
      EXPECT_TRUE(result["diverged_at_epoch"].is_null()) << entry.path();
    }
    EXPECT_EQ(found, runs);
  }
};

TEST_F(Quickstart, OfTypesRunsEveryCombination) { expect_results("typed/quickstart.json", 4); }

TEST_F(Quickstart, OfLinksRunsEveryCombination) {
  expect_results("links/quickstart.json", 2,
                 "--set dataset.vertices=2000 --set dataset.edges=20000");
}

TEST_F(Quickstart, OfSamplingRunsEveryCombination) {
  expect_results("sampled/quickstart.json", 3,
                 "--set dataset.vertices=5000 --set dataset.edges=75000");
}

/// It trains, infers, and prints stages, the planner's choice, and the same simulated.
TEST_F(Quickstart, OfInferencePrintsStagesAndThePlannersChoice) {
  ASSERT_EQ(orrery("infer '" ORRERY_SOURCES "/configs/inference/quickstart.json' --out '" +
                   in("embedded").string() +
                   "' --set train.epochs=2 --set dataset.vertices=2000 --set dataset.edges=20000"),
            0)
      << read("err");

  const std::string told = read("out");
  for (const char* words : {"on dgx-a100", "\nread ", "\nlayer 3 ",
                            "\nfewest bytes: ", " (this run: 2 x 2 with ids_then_rows, ring, "})
    EXPECT_THAT(told, ::testing::HasSubstr(words));
  const auto fewest = json("embedded/result.json")["fewest_bytes"];
  EXPECT_LE(fewest["received_bytes"], fewest["this_run"]["received_bytes"]);
}

}  // namespace
}  // namespace orrery
