// Collectives among threads against what they are defined to give.
#include "backends/comm_threads/comm_threads.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <thread>

#include "core/base/error.hpp"

namespace orrery {
namespace {

/// One rank's memory with tensors of float.
struct Rank {
  HostMemory memory{64};
  std::uint32_t next = 0;
  Tensor tensor(std::int64_t rows, std::int64_t cols, const std::vector<float>& values = {}) {
    Tensor t{next++, {rows, cols}, DType::f32, Space::device, 0, cols};
    memory.allocate(t.id, t.bytes());
    std::copy(values.begin(), values.end(), memory.data<float>(t));
    return t;
  }
  std::vector<float> values(const Tensor& t) const {
    const float* x = memory.data<float>(t);
    return {x, x + t.shape.size()};
  }
};

std::shared_ptr<const std::vector<std::int64_t>> rows(std::vector<std::int64_t> list) {
  return std::make_shared<const std::vector<std::int64_t>>(std::move(list));
}

class Collectives : public ::testing::TestWithParam<int> {
 protected:
  int p() const { return GetParam(); }
  Group all() const { return world_group(p()); }
  void on_all(const std::function<void(int, Rank&, const std::function<void(const Op&)>&)>& body) {
    ThreadWorld(p()).run([&](int r, Communicator& communicator) {
      Rank rank;
      body(r, rank, [&](const Op& op) { communicator.run(Lane::comm, op, rank.memory); });
      EXPECT_TRUE(rank.memory.guards_intact());
    });
  }
};

TEST_P(Collectives, BroadcastGivesEveryRankTheRootsRows) {
  on_all([&](int r, Rank& rank, const auto& run) {
    for (int root = 0; root < p(); ++root) {
      const auto f = static_cast<float>(r);
      const Tensor x = rank.tensor(2, 2, {f, f + 10, f + 20, f + 30});
      run(Broadcast{x, root, all()});
      const auto g = static_cast<float>(root);
      EXPECT_EQ(rank.values(x), (std::vector<float>{g, g + 10, g + 20, g + 30}));
    }
  });
}

TEST_P(Collectives, AllReduceSumsOverRanksAlsoWhenElementsAreFewerThanRanks) {
  on_all([&](int r, Rank& rank, const auto& run) {
    for (const std::int64_t n : {0, 1, 2, 13}) {
      std::vector<float> mine(static_cast<std::size_t>(n));
      std::iota(mine.begin(), mine.end(), static_cast<float>(100 * r));
      const Tensor x = rank.tensor(1, n, mine);
      run(AllReduce{x, all()});
      std::vector<float> want(mine.size());
      for (std::size_t i = 0; i < want.size(); ++i)
        want[i] = static_cast<float>(p() * static_cast<int>(i) + 100 * p() * (p() - 1) / 2);
      EXPECT_EQ(rank.values(x), want);
    }
  });
}

TEST_P(Collectives, ReduceSumsAtTheRootAndLeavesTheOthersAsTheyWere) {
  on_all([&](int r, Rank& rank, const auto& run) {
    for (int root = 0; root < p(); ++root) {
      const Tensor x = rank.tensor(1, 3, {static_cast<float>(r), 1, 2});
      run(Reduce{x, root, all()});
      const auto n = static_cast<float>(p());
      const std::vector<float> sum{n * (n - 1) / 2, n, 2 * n}, mine{static_cast<float>(r), 1, 2};
      EXPECT_EQ(rank.values(x), r == root ? sum : mine);
    }
  });
}

/// Rank r's pattern: one row per rank, row i holding columns 0 .. (i + r) mod 3 − 1; values 10·r.
TEST_P(Collectives, BroadcastSparseBringsPatternAndValues) {
  const auto pattern_of = [&](int r) {
    Csr a;
    a.rows = p();
    a.cols = 3;
    for (int i = 0; i < p(); ++i) {
      for (int c = 0; c < (i + r) % 3; ++c) a.columns.push_back(c);
      a.offsets.push_back(a.nnz());
    }
    return a;
  };
  on_all([&](int r, Rank& rank, const auto& run) {
    const auto mine = std::make_shared<const Csr>(pattern_of(r));
    rank.memory.add_sparse(0, mine);
    rank.memory.add_sparse_room(1, {p(), 3, 2 * p(), 1});
    for (int root = 0; root < p(); ++root) {
      const Csr want = pattern_of(root);
      const bool is_root = r == root;
      const Sparse a{is_root ? 0U : 1U, {want.rows, want.cols}, want.nnz()};
      const Tensor values =
          rank.tensor(want.nnz(), 1,
                      std::vector<float>(static_cast<std::size_t>(is_root ? want.nnz() : 0),
                                         10.0F * static_cast<float>(root)));
      run(BroadcastSparse{a, values, root, all()});
      EXPECT_EQ(rank.memory.pattern(a), want);
      EXPECT_EQ(rank.values(values),
                std::vector<float>(want.columns.size(), 10.0F * static_cast<float>(root)));
    }
  });
}

/// What comes in, by the rank it is from, is what received_bytes() says of each operation.
TEST_P(Collectives, CountTheBytesThatCameIn) {
  ThreadWorld(p()).run([&](int r, Communicator& communicator) {
    Rank rank;
    const std::int64_t n = 4 * p();  // every slice of a sum is whole
    const Tensor x = rank.tensor(n, 1), y = rank.tensor(4, 1), back = rank.tensor(n, 1);
    const std::vector<std::int64_t> four(static_cast<std::size_t>(p()), 4);
    const std::vector<Op> ops{Broadcast{x, p() - 1, all()},
                              Reduce{x, 0, all()},
                              AllReduce{x, all()},
                              ReduceScatter{x, y, rows(four), all()},
                              AllGather{y, x, rows(four), all()},
                              AllToAllV{x, back, rows(four), rows(four), all()},
                              SendRecv{x, back, (r + 1) % p(), (r + p() - 1) % p(), all()}};
    std::vector<double> want(static_cast<std::size_t>(p()), 0);
    for (const Op& op : ops) {
      communicator.run(Lane::comm, op, rank.memory);
      received_bytes(
          op, r, [&](int peer, double bytes) { want[static_cast<std::size_t>(peer)] += bytes; });
    }

    const auto came = communicator.received_from();
    EXPECT_EQ(std::vector<double>(came.begin(), came.end()), want);
  });
}

TEST_P(Collectives, ReduceScatterGivesEachRankItsUnevenSlice) {
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < p(); ++i) sizes.push_back(i);  // rank 0 gets nothing
  const std::int64_t total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  on_all([&](int r, Rank& rank, const auto& run) {
    std::vector<float> mine(static_cast<std::size_t>(total) * 2, static_cast<float>(r + 1));
    const Tensor x = rank.tensor(total, 2, mine), y = rank.tensor(r, 2);
    run(ReduceScatter{x, y, rows(sizes), all()});
    const float sum = static_cast<float>(p() * (p() + 1) / 2);
    EXPECT_EQ(rank.values(y), std::vector<float>(static_cast<std::size_t>(r) * 2, sum));
    EXPECT_EQ(rank.values(x), mine) << "the operand is left as it was";
  });
}

TEST_P(Collectives, AllGatherStacksUnevenRows) {
  std::vector<std::int64_t> sizes;
  std::vector<float> want;
  for (int i = 0; i < p(); ++i) {
    sizes.push_back(i % 3);
    want.insert(want.end(), static_cast<std::size_t>(i % 3), static_cast<float>(i));
  }
  on_all([&](int r, Rank& rank, const auto& run) {
    const Tensor x = rank.tensor(
        r % 3, 1, std::vector<float>(static_cast<std::size_t>(r % 3), static_cast<float>(r)));
    const Tensor y = rank.tensor(static_cast<std::int64_t>(want.size()), 1);
    run(AllGather{x, y, rows(sizes), all()});
    EXPECT_EQ(rank.values(y), want);
  });
}

/// Rank r sends (r + s) mod 3 rows to rank s, each row holding 100·r + s.
TEST_P(Collectives, AllToAllVDeliversEachPeersRowsInGroupOrder) {
  const auto count = [](int r, int s) { return static_cast<std::int64_t>((r + s) % 3); };
  on_all([&](int r, Rank& rank, const auto& run) {
    std::vector<std::int64_t> send, receive;
    std::vector<float> mine, want;
    for (int s = 0; s < p(); ++s) {
      send.push_back(count(r, s));
      receive.push_back(count(s, r));
      mine.insert(mine.end(), static_cast<std::size_t>(count(r, s)) * 2,
                  static_cast<float>(100 * r + s));
      want.insert(want.end(), static_cast<std::size_t>(count(s, r)) * 2,
                  static_cast<float>(100 * s + r));
    }
    const Tensor x = rank.tensor(static_cast<std::int64_t>(mine.size()) / 2, 2, mine);
    const Tensor y = rank.tensor(static_cast<std::int64_t>(want.size()) / 2, 2);
    run(AllToAllV{x, y, rows(send), rows(receive), all()});
    EXPECT_EQ(rank.values(y), want);
  });
}

TEST_P(Collectives, SendRecvShiftsAroundTheRing) {
  on_all([&](int r, Rank& rank, const auto& run) {
    const Tensor x = rank.tensor(1, 1, {static_cast<float>(r)}), y = rank.tensor(1, 1);
    for (int i = 0; i < 20; ++i) run(SendRecv{x, y, (r + 1) % p(), (r + p() - 1) % p(), all()});
    EXPECT_EQ(rank.values(y)[0], static_cast<float>((r + p() - 1) % p()));
  });
}

TEST_P(Collectives, TwoLanesMeetIndependently) {
  ThreadWorld(p()).run([&](int, Communicator& communicator) {
    Rank rank;
    const Tensor a = rank.tensor(1, 5, std::vector<float>(5, 1)),
                 b = rank.tensor(1, 5, std::vector<float>(5, 2));
    std::thread other([&] {
      for (int i = 0; i < 50; ++i)
        communicator.run(Lane::comm2, Broadcast{b, i % p(), all()}, rank.memory);
    });
    for (int i = 0; i < 50; ++i)
      communicator.run(Lane::comm, Broadcast{a, i % p(), all()}, rank.memory);
    other.join();
    EXPECT_EQ(rank.values(a)[0] + rank.values(b)[4], 3);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Collectives, ::testing::Values(1, 2, 3, 5));

TEST(ThreadWorld, SubgroupsOfTheGridReduceSeparately) {
  ThreadWorld(6).run([&](int r, Communicator& communicator) {
    Rank rank;
    const Group row{static_cast<std::uint16_t>(1 + r / 3), r / 3 * 3, 3, 1};
    const Group column{static_cast<std::uint16_t>(10 + r % 3), r % 3, 2, 3};
    const Tensor x = rank.tensor(1, 1, {static_cast<float>(r)});
    communicator.run(Lane::comm, AllReduce{x, row}, rank.memory);
    EXPECT_EQ(rank.values(x)[0], r < 3 ? 3.0F : 12.0F);
    communicator.run(Lane::comm, AllReduce{x, column}, rank.memory);
    EXPECT_EQ(rank.values(x)[0], 15.0F);
  });
}

TEST(ThreadWorld, CallsThatDoNotMatchAreAnErrorNotAHang) {
  EXPECT_THROW(ThreadWorld(2).run([&](int r, Communicator& communicator) {
    Rank rank;
    const Tensor x = rank.tensor(1, 4, {1, 2, 3, 4});
    if (r == 0)
      communicator.run(Lane::comm, Broadcast{x, 0, world_group(2)}, rank.memory);
    else
      communicator.run(Lane::comm, AllReduce{x, world_group(2)}, rank.memory);
  }),
               ProgramError);
}

TEST(ThreadWorld, ARankThatLeavesWakesThoseWhoWait) {
  EXPECT_THROW(ThreadWorld(3).run([&](int r, Communicator& communicator) {
    Rank rank;
    const Tensor x = rank.tensor(1, 4, {1, 2, 3, 4});
    if (r == 2) throw Error("gone");
    communicator.run(Lane::comm, AllReduce{x, world_group(3)}, rank.memory);
  }),
               Error);
}

/// Rank 0 is woken by the failure of rank 1 and leaves with its memory; rank 2, which comes late,
/// must not touch it.
TEST(ThreadWorld, ARankThatComesLateToAFailedMeetingIsToldSo) {
  for (const bool message : {false, true})
    EXPECT_THROW(ThreadWorld(3).run([&](int r, Communicator& communicator) {
      Rank rank;
      const Tensor x = rank.tensor(1, 4, {1, 2, 3, 4});
      const Group two{1, 0, 2, 2};  // ranks 0 and 2
      if (r == 1) throw Error("gone");
      if (r == 2) std::this_thread::sleep_for(std::chrono::milliseconds(30));
      if (message)
        communicator.run(
            Lane::comm,
            r == 0 ? SendRecv{x, std::nullopt, 1, -1, two} : SendRecv{std::nullopt, x, -1, 0, two},
            rank.memory);
      else
        communicator.run(Lane::comm, AllReduce{x, two}, rank.memory);
      ADD_FAILURE() << "rank " << r << " went on";
    }),
                 Error);
}

}  // namespace
}  // namespace orrery
