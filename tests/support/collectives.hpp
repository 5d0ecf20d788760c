// The requirements on every communicator, whatever its ranks are.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "core/base/rng.hpp"
#include "core/runtime/execute/communicator.hpp"

namespace orrery::testing {

/// One rank's memory with tensors of float.
struct Rank {
  RankMemory memory{64};
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

inline std::shared_ptr<const std::vector<std::int64_t>> rows(std::vector<std::int64_t> list) {
  return std::make_shared<const std::vector<std::int64_t>>(std::move(list));
}

/// The ranks that a case runs on. run(body) calls body(rank, communicator) for every rank, or,
/// where the other ranks are other processes, for this one.
struct Ranks {
  int count = 1;
  std::function<void(const std::function<void(int, Communicator&)>&)> run;

  void on_all(
      const std::function<void(int, Rank&, const std::function<void(const Op&)>&)>& body) const {
    run([&](int r, Communicator& communicator) {
      Rank rank;
      body(r, rank, [&](const Op& op) { communicator.run(Lane::comm, op, rank.memory); });
      EXPECT_TRUE(rank.memory.guards_intact());
    });
  }
};

inline void broadcast_gives_every_rank_the_roots_rows(const Ranks& ranks) {
  const int p = ranks.count;
  const Group all = world_group(p);
  ranks.on_all([&](int r, Rank& rank, const auto& run) {
    for (int root = 0; root < p; ++root) {
      const auto f = static_cast<float>(r);
      const Tensor x = rank.tensor(2, 2, {f, f + 10, f + 20, f + 30});
      run(Broadcast{x, root, all});
      const auto g = static_cast<float>(root);
      EXPECT_EQ(rank.values(x), (std::vector<float>{g, g + 10, g + 20, g + 30}));
    }
  });
}

inline void all_reduce_sums_over_ranks_also_when_elements_are_fewer_than_ranks(const Ranks& ranks) {
  const int p = ranks.count;
  const Group all = world_group(p);
  ranks.on_all([&](int r, Rank& rank, const auto& run) {
    for (const std::int64_t n : {0, 1, 2, 13}) {
      std::vector<float> mine(static_cast<std::size_t>(n));
      std::iota(mine.begin(), mine.end(), static_cast<float>(100 * r));
      const Tensor x = rank.tensor(1, n, mine);
      run(AllReduce{x, all});
      std::vector<float> want(mine.size());
      for (std::size_t i = 0; i < want.size(); ++i)
        want[i] = static_cast<float>(p * static_cast<int>(i) + 100 * p * (p - 1) / 2);
      EXPECT_EQ(rank.values(x), want);
    }
  });
}

inline void reduce_sums_at_the_root_and_leaves_the_others_as_they_were(const Ranks& ranks) {
  const int p = ranks.count;
  const Group all = world_group(p);
  ranks.on_all([&](int r, Rank& rank, const auto& run) {
    for (int root = 0; root < p; ++root) {
      const Tensor x = rank.tensor(1, 3, {static_cast<float>(r), 1, 2});
      run(Reduce{x, root, all});
      const auto n = static_cast<float>(p);
      const std::vector<float> sum{n * (n - 1) / 2, n, 2 * n}, mine{static_cast<float>(r), 1, 2};
      EXPECT_EQ(rank.values(x), r == root ? sum : mine);
    }
  });
}

/// Rank r's pattern: one row per rank, row i holding columns 0 .. (i + r) mod 3 − 1; values 10·r.
inline void broadcast_sparse_brings_pattern_and_values(const Ranks& ranks) {
  const int p = ranks.count;
  const Group all = world_group(p);
  const auto pattern_of = [&](int r) {
    Csr a;
    a.rows = p;
    a.cols = 3;
    for (int i = 0; i < p; ++i) {
      for (int c = 0; c < (i + r) % 3; ++c) a.columns.push_back(c);
      a.offsets.push_back(a.nnz());
    }
    return a;
  };
  ranks.on_all([&](int r, Rank& rank, const auto& run) {
    const auto mine = std::make_shared<const Csr>(pattern_of(r));
    rank.memory.add_sparse(0, mine);
    rank.memory.add_sparse_room(1, {p, 3, 2 * p, 1});
    for (int root = 0; root < p; ++root) {
      const Csr want = pattern_of(root);
      const bool is_root = r == root;
      const Sparse a{is_root ? 0U : 1U, {want.rows, want.cols}, want.nnz()};
      const Tensor values =
          rank.tensor(want.nnz(), 1,
                      std::vector<float>(static_cast<std::size_t>(is_root ? want.nnz() : 0),
                                         10.0F * static_cast<float>(root)));
      run(BroadcastSparse{a, values, root, all});
      EXPECT_EQ(rank.memory.pattern(a), want);
      EXPECT_EQ(rank.values(values),
                std::vector<float>(want.columns.size(), 10.0F * static_cast<float>(root)));
    }
  });
}

/// The bytes that come in from each rank are those that received_bytes() gives for each operation.
inline void count_the_bytes_that_came_in(const Ranks& ranks) {
  const int p = ranks.count;
  const Group all = world_group(p);
  ranks.run([&](int r, Communicator& communicator) {
    Rank rank;
    const std::int64_t n = 4 * p;  // every slice of a sum is whole
    const Tensor x = rank.tensor(n, 1), y = rank.tensor(4, 1), back = rank.tensor(n, 1);
    const std::vector<std::int64_t> four(static_cast<std::size_t>(p), 4);
    const std::vector<Op> ops{Broadcast{x, p - 1, all},
                              Reduce{x, 0, all},
                              AllReduce{x, all},
                              ReduceScatter{x, y, rows(four), all},
                              AllGather{y, x, rows(four), all},
                              AllToAllV{x, back, rows(four), rows(four), all},
                              SendRecv{x, back, (r + 1) % p, (r + p - 1) % p, all}};
    std::vector<double> want(static_cast<std::size_t>(p), 0);
    for (const Op& op : ops) {
      communicator.run(Lane::comm, op, rank.memory);
      received_bytes(
          op, r, [&](int peer, double bytes) { want[static_cast<std::size_t>(peer)] += bytes; });
    }

    const auto came = communicator.received_from();
    EXPECT_EQ(std::vector<double>(came.begin(), came.end()), want);
  });
}

inline void reduce_scatter_gives_each_rank_its_uneven_slice(const Ranks& ranks) {
  const int p = ranks.count;
  const Group all = world_group(p);
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < p; ++i) sizes.push_back(i);  // rank 0 gets nothing
  const std::int64_t total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  ranks.on_all([&](int r, Rank& rank, const auto& run) {
    std::vector<float> mine(static_cast<std::size_t>(total) * 2, static_cast<float>(r + 1));
    const Tensor x = rank.tensor(total, 2, mine), y = rank.tensor(r, 2);
    run(ReduceScatter{x, y, rows(sizes), all});
    const float sum = static_cast<float>(p * (p + 1) / 2);
    EXPECT_EQ(rank.values(y), std::vector<float>(static_cast<std::size_t>(r) * 2, sum));
    EXPECT_EQ(rank.values(x), mine) << "the operand is left as it was";
  });
}

inline void all_gather_stacks_uneven_rows(const Ranks& ranks) {
  const int p = ranks.count;
  const Group all = world_group(p);
  std::vector<std::int64_t> sizes;
  std::vector<float> want;
  for (int i = 0; i < p; ++i) {
    sizes.push_back(i % 3);
    want.insert(want.end(), static_cast<std::size_t>(i % 3), static_cast<float>(i));
  }
  ranks.on_all([&](int r, Rank& rank, const auto& run) {
    const Tensor x = rank.tensor(
        r % 3, 1, std::vector<float>(static_cast<std::size_t>(r % 3), static_cast<float>(r)));
    const Tensor y = rank.tensor(static_cast<std::int64_t>(want.size()), 1);
    run(AllGather{x, y, rows(sizes), all});
    EXPECT_EQ(rank.values(y), want);
  });
}

/// Rank r sends (r + s) mod 3 rows to rank s, each row holding 100·r + s.
inline void all_to_all_v_delivers_each_peers_rows_in_group_order(const Ranks& ranks) {
  const int p = ranks.count;
  const Group all = world_group(p);
  const auto count = [](int r, int s) { return static_cast<std::int64_t>((r + s) % 3); };
  ranks.on_all([&](int r, Rank& rank, const auto& run) {
    std::vector<std::int64_t> send, receive;
    std::vector<float> mine, want;
    for (int s = 0; s < p; ++s) {
      send.push_back(count(r, s));
      receive.push_back(count(s, r));
      mine.insert(mine.end(), static_cast<std::size_t>(count(r, s)) * 2,
                  static_cast<float>(100 * r + s));
      want.insert(want.end(), static_cast<std::size_t>(count(s, r)) * 2,
                  static_cast<float>(100 * s + r));
    }
    const Tensor x = rank.tensor(static_cast<std::int64_t>(mine.size()) / 2, 2, mine);
    const Tensor y = rank.tensor(static_cast<std::int64_t>(want.size()) / 2, 2);
    run(AllToAllV{x, y, rows(send), rows(receive), all});
    EXPECT_EQ(rank.values(y), want);
  });
}

inline void send_recv_shifts_around_the_ring(const Ranks& ranks) {
  const int p = ranks.count;
  const Group all = world_group(p);
  ranks.on_all([&](int r, Rank& rank, const auto& run) {
    const Tensor x = rank.tensor(1, 1, {static_cast<float>(r)}), y = rank.tensor(1, 1);
    for (int i = 0; i < 20; ++i) run(SendRecv{x, y, (r + 1) % p, (r + p - 1) % p, all});
    EXPECT_EQ(rank.values(y)[0], static_cast<float>((r + p - 1) % p));
  });
}

inline void two_lanes_meet_independently(const Ranks& ranks) {
  const int p = ranks.count;
  const Group all = world_group(p);
  ranks.run([&](int, Communicator& communicator) {
    Rank rank;
    const Tensor a = rank.tensor(1, 5, std::vector<float>(5, 1)),
                 b = rank.tensor(1, 5, std::vector<float>(5, 2));
    std::thread other([&] {
      for (int i = 0; i < 50; ++i)
        communicator.run(Lane::comm2, Broadcast{b, i % p, all}, rank.memory);
    });
    for (int i = 0; i < 50; ++i)
      communicator.run(Lane::comm, Broadcast{a, i % p, all}, rank.memory);
    other.join();
    EXPECT_EQ(rank.values(a)[0] + rank.values(b)[4], 3);
  });
}

/// Only on six ranks, as a grid of two rows.
inline void subgroups_of_the_grid_reduce_separately(const Ranks& ranks) {
  ranks.run([&](int r, Communicator& communicator) {
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

/// What rank r brings to a sum: the order in which such values are added shows in the last bits.
template <class T>
std::vector<T> values_of(int r, std::int64_t n) {
  Sequence draws(20240717, Purpose::weights, static_cast<std::uint32_t>(r));
  std::vector<T> list(static_cast<std::size_t>(n));
  for (T& x : list)
    x = static_cast<T>((draws.uniform() - 0.5) * static_cast<double>(1 << draws.below(20)));
  return list;
}

/// Every element is 0 + x of rank 0 + x of rank 1 + ..., to the last bit.
template <class T>
void hold_all_reduce_against_a_plain_sum(const Ranks& ranks, DType dtype) {
  ranks.on_all([&](int r, Rank& rank, const auto& run) {
    for (const std::int64_t n : {1, 7, 1001}) {
      const Tensor x{rank.next++, {1, n}, dtype, Space::device, 0, n};
      rank.memory.allocate(x.id, x.bytes());
      const auto mine = values_of<T>(r, n);
      std::copy(mine.begin(), mine.end(), rank.memory.data<T>(x));
      std::vector<T> want(mine.size(), 0);
      for (int s = 0; s < ranks.count; ++s) {
        const auto theirs = values_of<T>(s, n);
        for (std::size_t i = 0; i < want.size(); ++i) want[i] += theirs[i];
      }

      run(AllReduce{x, world_group(ranks.count)});

      const T* got = rank.memory.data<T>(x);
      EXPECT_EQ(std::vector<T>(got, got + n), want);
    }
  });
}

inline void all_reduce_adds_in_rank_order(const Ranks& ranks) {
  hold_all_reduce_against_a_plain_sum<float>(ranks, DType::f32);
  hold_all_reduce_against_a_plain_sum<double>(ranks, DType::f64);
}

struct CollectiveCase {
  std::string name;
  void (*check)(const Ranks&);
};
/// The cases that hold for any number of ranks.
inline const std::vector<CollectiveCase>& collective_cases() {
  static const std::vector<CollectiveCase> cases{
      {"BroadcastGivesEveryRankTheRootsRows", broadcast_gives_every_rank_the_roots_rows},
      {"AllReduceSumsOverRanksAlsoWhenElementsAreFewerThanRanks",
       all_reduce_sums_over_ranks_also_when_elements_are_fewer_than_ranks},
      {"AllReduceAddsInRankOrder", all_reduce_adds_in_rank_order},
      {"ReduceSumsAtTheRootAndLeavesTheOthersAsTheyWere",
       reduce_sums_at_the_root_and_leaves_the_others_as_they_were},
      {"BroadcastSparseBringsPatternAndValues", broadcast_sparse_brings_pattern_and_values},
      {"CountTheBytesThatCameIn", count_the_bytes_that_came_in},
      {"ReduceScatterGivesEachRankItsUnevenSlice", reduce_scatter_gives_each_rank_its_uneven_slice},
      {"AllGatherStacksUnevenRows", all_gather_stacks_uneven_rows},
      {"AllToAllVDeliversEachPeersRowsInGroupOrder",
       all_to_all_v_delivers_each_peers_rows_in_group_order},
      {"SendRecvShiftsAroundTheRing", send_recv_shifts_around_the_ring},
      {"TwoLanesMeetIndependently", two_lanes_meet_independently},
  };
  return cases;
}

}  // namespace orrery::testing
