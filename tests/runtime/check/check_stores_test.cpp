// Programs that misuse stores, each beside one that does the same rightly.
#include "core/runtime/check/check_stores.hpp"

#include <gtest/gtest.h>

#include "core/runtime/check/check_digest.hpp"
#include "core/runtime/recorder.hpp"

namespace orrery {
namespace {

std::shared_ptr<const std::vector<std::int64_t>> counts(std::vector<std::int64_t> list) {
  return std::make_shared<const std::vector<std::int64_t>>(std::move(list));
}

const Store kStore{3, world_group(2)};

/// One rank of two with four exposed rows, of which it asks for two of its own and one of the
/// other's.
struct Rank {
  explicit Rank(int rank, std::int64_t rows = 4, Space space = Space::host)
      : rt({rank, 2, {}, true}),
        table(rt.alloc({rows, 5}, DType::f32, space, "rows")),
        index(rt.alloc({3, 1}, DType::i32, Space::host, "index")),
        values(rt.alloc({3, 5}, DType::f32, Space::host, "values")) {}

  void expose() { rt.submit(Lane::store, Expose{kStore, table}); }
  void withdraw() { rt.submit(Lane::store, Withdraw{kStore, table}); }
  void pull(Lane lane = Lane::store) { rt.submit(lane, Pull{kStore, index, asked, values}); }
  void push() { rt.submit(Lane::store, Push{kStore, index, asked, values}); }
  /// `lane` goes on after the present work of `other`.
  void order(Lane lane, Lane other) { rt.wait(lane, rt.record(other)); }
  Program program() {
    for (const Tensor& t : {table, index, values}) rt.release(t);
    return rt.program();
  }

  Recorder rt;
  Tensor table, index, values;
  std::shared_ptr<const std::vector<std::int64_t>> asked = counts({2, 1});
};

void expect_finding(const std::vector<Finding>& found, const std::string& words) {
  ASSERT_EQ(found.size(), 1U) << (found.empty() ? "nothing" : found[1].problem);
  EXPECT_NE(found[0].problem.find(words), std::string::npos) << found[0].problem;
}
/// For rank 0 on its own.
void expect_finding(Rank& rank, const std::string& words) {
  expect_finding(find_local_problems(rank.program()), words);
}

TEST(LocalStores, OpenedUsedAndClosedInOrderAreRight) {
  Rank rank(0);
  rank.rt.submit(Lane::compute, Fill{rank.table, 1});
  rank.order(Lane::store, Lane::compute);
  rank.expose();
  rank.pull();
  rank.rt.submit(Lane::store, ColumnSum{rank.table, rank.values.rows_at(0, 1), 0});  // a read
  rank.order(Lane::comm, Lane::store);
  rank.pull(Lane::comm);
  rank.order(Lane::store, Lane::comm);
  rank.withdraw();
  rank.order(Lane::compute, Lane::store);
  rank.rt.submit(Lane::compute, Fill{rank.table, 2});
  rank.order(Lane::store, Lane::compute);
  rank.expose();
  rank.push();
  rank.withdraw();

  EXPECT_TRUE(find_local_problems(rank.program()).empty());
}

TEST(LocalStores, RowsAreNotWrittenWhileTheyAreExposed) {
  Rank rank(0);
  rank.expose();
  rank.order(Lane::compute, Lane::store);
  rank.rt.submit(Lane::compute, Fill{rank.table.rows_at(3, 1), 1});
  rank.order(Lane::store, Lane::compute);
  rank.withdraw();

  expect_finding(rank, "'rows' is written on compute while it is exposed in store 3");
}

TEST(LocalStores, NorByAPullIntoThem) {
  Rank rank(0);
  rank.expose();
  rank.rt.submit(Lane::store, Pull{kStore, rank.index, rank.asked, rank.table.rows_at(0, 3)});
  rank.withdraw();

  expect_finding(rank, "'rows' is written on store while it is exposed");
}

TEST(LocalStores, AWriteThatNoEventOrdersWithTheExposeIsARace) {
  Rank rank(0);
  rank.rt.submit(Lane::compute, Fill{rank.table, 1});
  rank.expose();
  rank.order(Lane::store, Lane::compute);
  rank.withdraw();

  expect_finding(rank, "race: 'rows' is read on store while step 3 on compute writes it");
}

TEST(LocalStores, AWriteThatNoEventOrdersWithTheWithdrawIsARace) {
  Rank rank(0);
  rank.expose();
  rank.order(Lane::compute, Lane::store);
  rank.withdraw();
  rank.rt.submit(Lane::compute, Fill{rank.table, 1});

  expect_finding(rank, "race: 'rows' is written on compute while step 5 on store reads it");
}

TEST(LocalStores, APullBeforeTheExposeOrAfterTheWithdrawIsFound) {
  Rank before(0), after(0);
  before.pull();
  before.expose();
  before.withdraw();
  after.expose();
  after.withdraw();
  after.push();

  expect_finding(before, "pull of store 3 of ranks 0..1, which this rank has not exposed");
  expect_finding(after, "push of store 3 of ranks 0..1, which this rank has withdrawn in step 4");
}

TEST(LocalStores, APullOnAnotherLaneWaitsForTheExpose) {
  Rank rank(0);
  rank.expose();
  rank.pull(Lane::comm);
  rank.order(Lane::store, Lane::comm);
  rank.withdraw();

  expect_finding(rank, "pull on comm does not wait for the expose of store 3");
}

TEST(LocalStores, AWithdrawWaitsForThePullsOfOtherLanes) {
  Rank rank(0);
  rank.expose();
  rank.order(Lane::comm, Lane::store);
  rank.pull(Lane::comm);
  rank.withdraw();

  expect_finding(rank, "is withdrawn on store while step 5 on comm pulls from it");
}

TEST(LocalStores, AreNotOpenedTwiceAndNotClosedUnopened) {
  Rank twice(0), unopened(0), other_rows(0);
  twice.expose();
  twice.expose();
  twice.withdraw();
  unopened.withdraw();
  other_rows.expose();
  other_rows.rt.submit(Lane::store, Withdraw{kStore, other_rows.table.rows_at(0, 2)});

  expect_finding(twice, "store 3 of ranks 0..1 is open since step 3");
  expect_finding(unopened, "is withdrawn, but not open");
  expect_finding(other_rows, "is withdrawn with t0[2x5], but step 3 has exposed t0[4x5]");
}

TEST(LocalStores, AreClosedBeforeTheirRowsAreReleased) {
  Rank rank(0);
  rank.expose();
  rank.rt.release(rank.table);
  const auto found = find_local_problems(rank.rt.program());

  std::string all;
  for (const Finding& f : found) all += f.problem + "\n";
  EXPECT_NE(all.find("'rows' is released while it is exposed in store 3"), std::string::npos);
  EXPECT_NE(all.find("store 3 of ranks 0..1 is never withdrawn"), std::string::npos) << all;
}

TEST(LocalStores, HaveRowsOfOneWidth) {
  Rank rank(0);
  rank.expose();
  rank.rt.submit(Lane::store, Pull{kStore, rank.index, rank.asked, rank.values.reshaped({3, 4})});
  rank.withdraw();

  expect_finding(rank, "pull of 4 f32 where store 3 of ranks 0..1 has 5 f32");
}

/// Both ranks expose, do something, and withdraw.
std::vector<Finding> between(const std::function<void(Rank&)>& both_do,
                             std::int64_t rows_of_rank_1 = 4) {
  std::vector<Program> programs;
  for (const int r : {0, 1}) {
    Rank rank(r, r == 1 ? rows_of_rank_1 : 4);
    rank.expose();
    both_do(rank);
    rank.withdraw();
    programs.push_back(rank.program());
  }
  for (const Program& p : programs) EXPECT_TRUE(find_local_problems(p).empty());
  return find_collective_problems(programs);
}

TEST(StoresOfRanks, ThatAreUsedRightlyAreRight) {
  EXPECT_TRUE(between([](Rank& rank) {
                rank.pull();
                rank.push();
                rank.pull();
              }).empty());
}

TEST(StoresOfRanks, ARankWithoutRowsIsNotAskedForAny) {
  expect_finding(between(
                     [](Rank& rank) {
                       if (rank.rt.rank() == 0) rank.pull();
                     },
                     0),
                 "asks for 1 rows of rank 1 in store 3 of ranks 0..1, which exposes none");
  EXPECT_TRUE(between(
                  [](Rank& rank) {
                    rank.asked = counts({3, 0});
                    rank.pull();
                  },
                  0)
                  .empty());
}

void read_own_rows(Rank& rank) {
  rank.rt.submit(Lane::store, ColumnSum{rank.table, rank.values.rows_at(0, 1), 0});
}

TEST(LocalStores, RowsThatOthersReadAtAnyTimeTakeNoPush) {
  for (const bool pushes : {false, true}) {
    Rank rank(0, 4, Space::server_host);
    rank.expose();
    if (pushes)
      rank.push();
    else
      rank.pull();
    rank.withdraw();
    if (pushes)
      expect_finding(rank, "push to store 3 of ranks 0..1, whose rows are in server_host");
    else
      EXPECT_TRUE(find_local_problems(rank.program()).empty());
  }
}

TEST(StoresOfRanks, AnOwnersReadsRaceWithThePushesOfOthers) {
  expect_finding(between([](Rank& rank) {
                   if (rank.rt.rank() == 0) rank.push();
                   if (rank.rt.rank() == 1) read_own_rows(rank);
                 }),
                 "race: rows are read that are exposed in store 3 of ranks 0..1, to which rank 0 "
                 "pushes in step 4: read them after withdraw");
  EXPECT_TRUE(between([](Rank& rank) {
                if (rank.rt.rank() == 0) rank.pull();
                if (rank.rt.rank() == 1) read_own_rows(rank);
              }).empty())
      << "nobody pushes";
  EXPECT_TRUE(between([](Rank& rank) {
                if (rank.rt.rank() == 0) rank.push();
                if (rank.rt.rank() == 1) rank.pull();
              }).empty())
      << "a pull sees whole rows";
}

TEST(StoresOfRanks, EachExposureIsJudgedByItself) {
  EXPECT_TRUE(between([](Rank& rank) {
                rank.push();
                rank.withdraw();
                read_own_rows(rank);
                rank.expose();
                if (rank.rt.rank() == 1) read_own_rows(rank);
              }).empty());
  EXPECT_EQ(between([](Rank& rank) {
              rank.pull();
              rank.withdraw();
              rank.expose();
              if (rank.rt.rank() == 1) read_own_rows(rank);
              rank.push();
            }).size(),
            1U);
}

/// What rank 0 and rank 1 do first with their stores; both finish as they should.
std::vector<Finding> met(const std::function<void(Rank&)>& first,
                         const std::function<void(Rank&)>& second) {
  std::vector<Program> programs;
  std::vector<std::vector<CollectiveDigest>> digests;
  for (const int r : {0, 1}) {
    Rank rank(r);
    (r == 0 ? first : second)(rank);
    programs.push_back(rank.program());
    digests.push_back(digest_collectives(programs.back()));
  }
  const auto found = find_collective_problems(programs);
  EXPECT_EQ(compare_digests(digests).empty(), found.empty()) << "digests tell the same";
  return found;
}

TEST(StoresOfRanks, AreOpenedAndClosedByAllInOneOrder) {
  const auto use = [](Rank& rank) {
    rank.expose();
    rank.pull();
    rank.withdraw();
  };
  const auto open_other = [](Rank& rank) {
    rank.rt.submit(Lane::store, Expose{{4, kStore.group}, rank.table});
    rank.rt.submit(Lane::store, Withdraw{{4, kStore.group}, rank.table});
  };
  const auto open_narrow = [](Rank& rank) {
    const Tensor narrow = rank.rt.alloc({4, 4}, DType::f32, Space::host, "narrow");
    rank.rt.submit(Lane::store, Expose{kStore, narrow});
    rank.rt.submit(Lane::store, Withdraw{kStore, narrow});
    rank.rt.release(narrow);
  };
  const auto use_without_pull = [](Rank& rank) {
    rank.expose();
    rank.withdraw();
  };

  EXPECT_TRUE(met(use, use_without_pull).empty()) << "a pull matches nothing";
  expect_finding(met(use, open_other), "store 3 of ranks 0..1 and store 4 of ranks 0..1");
  expect_finding(met(use, open_narrow), "rows of different widths, 4x5 f32 and 4x4 f32");
  expect_finding(met(use, [](Rank&) {}), "waits forever; rank 1 has no more");
  const auto of_absent_ranks = [](Rank& rank) {
    const Store four{3, world_group(4)};
    rank.rt.submit(Lane::store, Expose{four, rank.table});
    rank.rt.submit(Lane::store, Withdraw{four, rank.table});
  };
  expect_finding(met(of_absent_ranks, of_absent_ranks), "expose on store waits forever");
}

}  // namespace
}  // namespace orrery
