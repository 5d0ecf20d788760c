// Jobs of real ranks: mpirun starts `mpi_ranks SCENARIO`, and the outcome is looked at here.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "backends/comm_mpi/comm_mpi.hpp"
#include "core/base/error.hpp"
#include "tests/support/mpirun.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

TEST(MpiNotBuilt, IsAnErrorThatSaysWhatToDo) {
  EXPECT_FALSE(MpiWorld::built());  // of this program, which links the stub
  try {
    const MpiWorld world({});
    FAIL() << "there is no MPI here";
  } catch (const NotBuilt& error) {
    EXPECT_NE(std::string(error.what()).find("install libopenmpi-dev"), std::string::npos);
  }
}

#ifdef ORRERY_MPIRUN

struct Outcome {
  int status = 0;
  std::string text;
  double seconds = 0;
  int errors() const {
    int count = 0;
    for (auto at = text.find("orrery: error:"); at != std::string::npos;
         at = text.find("orrery: error:", at + 1))
      ++count;
    return count;
  }
};

/// Runs a job of P ranks; one that does not end by itself is ended and has status 124.
Outcome job(int ranks, const std::string& scenario) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("orrery-mpi-{}", ::getpid());
  fs::create_directory(folder);
  const std::string command =
      fmt::format("ORRERY_TEST_REPORT={0}/reported {1} {2} {3} >{0}/out 2>&1 </dev/null",
                  folder.string(), testing::mpirun(ranks), ORRERY_MPI_RANKS, scenario);
  const auto begin = std::chrono::steady_clock::now();
  const int status = std::system(command.c_str());
  Outcome outcome;
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  std::ostringstream text;
  text << std::ifstream(folder / "out").rdbuf();
  outcome.text = text.str();
  fs::remove_all(folder);
  EXPECT_EQ(outcome.text.find("Sanitizer"), std::string::npos) << outcome.text;
  return outcome;
}

void expect_success(int ranks, const std::string& scenario) {
  const Outcome outcome = job(ranks, scenario);
  EXPECT_EQ(outcome.status, 0) << outcome.text;
}

/// The job fails soon, and one rank says why, in these words.
void expect_failure(int ranks, const std::string& scenario, const std::vector<std::string>& words) {
  const Outcome outcome = job(ranks, scenario);
  EXPECT_NE(outcome.status, 0);
  EXPECT_LT(outcome.seconds, 10);
  EXPECT_EQ(outcome.errors(), 1) << outcome.text;
  for (const std::string& word : words)
    EXPECT_NE(outcome.text.find(word), std::string::npos)
        << "no \"" << word << "\" in: " << outcome.text;
}

class MpiRanks : public ::testing::TestWithParam<int> {};

TEST_P(MpiRanks, CollectivesGiveWhatTheyAreDefinedToGive) {
  expect_success(GetParam(), "collectives");
}
TEST_P(MpiRanks, ExchangesOfTheHostProgramsBringEveryRanksBytes) {
  expect_success(GetParam(), "exchanges");
}
TEST_P(MpiRanks, ServeRowsOfStoresAsTheyAreDefinedTo) { expect_success(GetParam(), "stores"); }
TEST_P(MpiRanks, OfOneMachineAreOnOneServer) { expect_success(GetParam(), "one_server"); }

INSTANTIATE_TEST_SUITE_P(Of, MpiRanks, ::testing::Values(1, 2, 3, 5),
                         [](const auto& made) { return std::to_string(made.param); });

TEST(MpiWorld, SubgroupsOfTheGridReduceSeparately) { expect_success(6, "grid"); }

const std::string kSum = "all_reduce, epoch 3 synchronise on comm";

TEST(MpiFailures, ARankThatThrowsIsTheOneThatIsReported) {
  expect_failure(3, "throws", {"rank 1: no room for t7 (in gemm, epoch 3 backward layer 1)"});
}
TEST(MpiFailures, ARankThatThrowsOutsideOfItsPartEndsTheJob) {
  expect_failure(3, "throws_outside", {"rank 1: not caught inside"});
}
TEST(MpiFailures, AnErrorThatPassesTheWorldIsLeftToWhoCatchesIt) {
  expect_failure(3, "throws_past_the_world", {"orrery: error: not caught inside"});
}
TEST(MpiFailures, AKilledRankIsNamedByOneThatWaitsForIt) {
  expect_failure(3, "killed", {kSum + " waits for rank 1", "rank 1 died; here "});
}
TEST(MpiFailures, ARankKilledInAnExchangeIsNamedToo) {
  expect_failure(3, "killed_in_exchange", {"any waits for rank 1"});
}
TEST(MpiFailures, AStoppedRankIsTakenForDead) {
  expect_failure(3, "stopped", {"rank 1 has been silent for ", kSum + " waits for rank 1"});
}
TEST(MpiFailures, ARankThatLeavesEarlyEndsTheJob) {
  expect_failure(3, "leaves", {kSum + " waits for rank 1"});
}
TEST(MpiFailures, AnOperationThatOneRankNeverCallsEndsAfterItsTime) {
  expect_failure(3, "absent", {kSum + ": waited ", " s for rank 1"});
}
TEST(MpiFailures, AFailureOnOneLaneWakesTheOther) {
  expect_failure(2, "lane_fails_beside_a_wait", {"rank 0: the other lane's failure"});
}
TEST(MpiFailures, OperationsThatDoNotMatchAreAnErrorNotAHang) {
  expect_failure(2, "other_operation",
                 {"all_reduce, epoch 3 synchronise on comm2 meets broadcast"});
}
TEST(MpiFailures, SizesThatDoNotMatchAreAnErrorNotAHang) {
  expect_failure(2, "other_size", {"operands do not match those of rank 1: broadcast"});
}
TEST(MpiFailures, ExchangesThatDoNotMatchAreAnErrorNotAHang) {
  expect_failure(2, "other_exchange", {" meets "});
}

const std::string kPull = "pull, epoch 3 synchronise on store";

TEST(MpiFailures, AKilledOwnerIsNamedByWhoPullsFromIt) {
  expect_failure(3, "owner_killed", {kPull + " waits for rank 1", "rank 1 died; here "});
}
TEST(MpiFailures, AStoppedOwnerIsTakenForDead) {
  expect_failure(3, "owner_stopped", {"rank 1 has been silent for ", kPull + " waits for rank 1"});
}
TEST(MpiFailures, AnOwnerThatThrowsIsTheOneThatIsReported) {
  expect_failure(3, "owner_throws", {"rank 1: no room for t7"});
}
TEST(MpiFailures, ARowThatItsOwnerDoesNotHaveIsAnErrorThatNamesBoth) {
  expect_failure(3, "absent_row",
                 {"rank 1: store 3 of ranks 0..2: index[0] asks for row 3 of rank "
                  "0, which has 3 rows there"});
  expect_failure(3, "absent_row_pushed", {"asks for row -1 of rank 0, which has 3 rows there"});
}
TEST(MpiFailures, RowsThatOthersReadWithoutTheirOwnerTakeNoPush) {
  expect_failure(2, "push_to_server_host", {"store 3 of ranks 0..1 takes no push"});
}
TEST(MpiFailures, RowsOfOtherWidthsAreAnErrorNotAHang) {
  expect_failure(2, "other_width", {"operands do not match those of rank", ": expose"});
}
TEST(MpiFailures, OpeningAndClosingAreToldApart) {
  expect_failure(2, "other_store_operation", {" meets "});
}
TEST(MpiWorld, EndsAlsoWithStoresLeftOpen) { expect_success(3, "stores_left_open"); }

/// The owner's kernel takes a second; rows come in milliseconds.
TEST(MpiWorld, ServesRowsWhileTheOwnerComputes) {
  const Outcome outcome = job(2, "busy_owner");

  EXPECT_EQ(outcome.status, 0) << outcome.text;
  for (const char* pulls :
       {"pulls from a busy owner: median", "pulls from a busy owner, in server_host: median"})
    EXPECT_NE(outcome.text.find(pulls), std::string::npos) << outcome.text;
  fmt::print("{}", outcome.text);
}

TEST(MpiWorld, TakesNoThreadWithoutStoresAndLittleTimeWithIdleOnes) {
  const Outcome outcome = job(2, "idle_service");

  EXPECT_EQ(outcome.status, 0) << outcome.text;
  fmt::print("{}", outcome.text);
}

/// Between two ranks by themselves, among three along a chain.
TEST(MpiWorld, LargeOperandsArriveWhole) {
  expect_success(2, "large");
  expect_success(3, "large");
}

TEST(MpiWorld, SaysForWhomItWaitsLong) {
  const Outcome outcome = job(2, "late");

  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("orrery: rank 0: any has waited"), std::string::npos) << outcome.text;
}

#else

TEST(MpiWorld, RunsInJobsOfMpirun) { GTEST_SKIP() << "MPI is not in this build"; }

#endif

}  // namespace
}  // namespace orrery
