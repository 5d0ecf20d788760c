// Every communicator must serve rows of stores, whatever its ranks are made of: tested against
// tables and draws that every rank can make again.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/rng.hpp"
#include "tests/support/collectives.hpp"

namespace orrery::testing {

/// One rank's host memory. `server`: where server_host comes from.
struct HostRank {
  explicit HostRank(Storage& server = host_storage()) : memory(64, host_storage(), server) {}
  RankMemory memory;
  std::uint32_t next = 0;

  template <class T>
  Tensor tensor(std::int64_t rows, std::int64_t cols, const std::vector<T>& values,
                Space space = Space::host) {
    constexpr DType dtype = std::is_same_v<T, float>           ? DType::f32
                            : std::is_same_v<T, std::uint16_t> ? DType::f16
                                                               : DType::i32;
    const Tensor t{next++, {rows, cols}, dtype, space, 0, cols};
    memory.allocate(t.id, t.bytes(), t.space);
    std::copy(values.begin(), values.end(), memory.data<T>(t));
    return t;
  }
  template <class T>
  Tensor filled(std::int64_t rows, std::int64_t cols, T value) {
    return tensor(rows, cols, std::vector<T>(static_cast<std::size_t>(rows * cols), value));
  }
  template <class T>
  std::vector<T> values(const Tensor& t) const {
    const T* x = memory.data<T>(t);
    return {x, x + t.shape.size()};
  }
};

/// How many rows each rank of a table has; uneven, and none with every third.
inline std::int64_t rows_with(int rank, int salt = 0) {
  return (rank + salt) % 3 == 2 ? 0 : 3 + 4 * ((rank + salt) % 5);
}

/// Row numbers asked of owners 0 .. p − 1, in group order: drawn, with repetitions, none of some.
struct Requests {
  std::vector<std::int64_t> rows_per_owner;
  std::vector<std::int32_t> index;
  std::vector<int> owner;  ///< group index of each row

  Requests(std::uint64_t seed, int requester, const std::vector<std::int64_t>& owned) {
    Sequence draws(seed, Purpose::features, static_cast<std::uint32_t>(requester));
    for (std::size_t o = 0; o < owned.size(); ++o) {
      const auto most = static_cast<std::uint64_t>(2 * owned[o] + 1);
      const auto count = owned[o] == 0 ? 0 : static_cast<std::int64_t>(draws.below(most));
      rows_per_owner.push_back(count);
      for (std::int64_t k = 0; k < count; ++k) {
        index.push_back(
            static_cast<std::int32_t>(draws.below(static_cast<std::uint64_t>(owned[o]))));
        owner.push_back(static_cast<int>(o));
      }
    }
  }
  std::int64_t count() const { return static_cast<std::int64_t>(index.size()); }
};

/// The value at a place of the table; all places have different ones.
template <class T>
T element(int owner, std::int64_t row, std::int64_t column) {
  return static_cast<T>(100000 * owner + 100 * static_cast<int>(row) + static_cast<int>(column));
}

template <class T>
std::vector<T> table_of(int owner, std::int64_t rows, std::int64_t width) {
  std::vector<T> table;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < width; ++j) table.push_back(element<T>(owner, i, j));
  return table;
}

template <class T>
void pull_random_rows(const Ranks& ranks, std::int64_t width, int salt, Space space) {
  const int p = ranks.count;
  const Store store{7, world_group(p)};
  ranks.run([&](int r, Communicator& communicator) {
    HostRank rank(communicator.server_storage());
    const auto run = [&](const Op& op) {
      validate(op);
      communicator.run(Lane::store, op, rank.memory);
    };
    std::vector<std::int64_t> owned;
    for (int i = 0; i < p; ++i) owned.push_back(rows_with(i, salt));
    const std::int64_t mine = rows_with(r, salt);
    const Tensor table = rank.tensor(mine, width, table_of<T>(r, mine, width), space);
    run(Expose{store, table});
    for (std::uint64_t round = 0; round < 20; ++round) {
      const Requests asked(round, r, owned);
      const Tensor index = rank.tensor(asked.count(), 1, asked.index);
      const Tensor y = rank.filled<T>(asked.count(), width, static_cast<T>(-1));

      run(Pull{store, index, rows(asked.rows_per_owner), y});

      std::vector<T> want;
      for (std::size_t k = 0; k < asked.index.size(); ++k)
        for (std::int64_t j = 0; j < width; ++j)
          want.push_back(element<T>(asked.owner[k], asked.index[k], j));
      ASSERT_EQ(rank.values<T>(y), want) << "round " << round << " on rank " << r;

      // Into every other row, from the last to the first; the rows between stay.
      std::vector<std::int32_t> places;
      for (std::int64_t k = asked.count(); k-- > 0;)
        places.push_back(static_cast<std::int32_t>(2 * k + 1));
      const Tensor spread = rank.filled<T>(2 * asked.count(), width, static_cast<T>(-1));

      run(Pull{store, index, rows(asked.rows_per_owner), spread,
               rank.tensor(asked.count(), 1, places)});

      std::vector<T> wide(2 * want.size(), static_cast<T>(-1));
      for (std::size_t k = 0; k < asked.index.size(); ++k)
        std::copy_n(want.begin() + static_cast<std::ptrdiff_t>(k) * width, width,
                    wide.begin() + places[k] * width);
      ASSERT_EQ(rank.values<T>(spread), wide) << "round " << round << " on rank " << r;
    }
    run(Withdraw{store, table});
    EXPECT_EQ(rank.values<T>(table), table_of<T>(r, mine, width)) << "only read";
    EXPECT_TRUE(rank.memory.guards_intact());
  });
}

inline void pulls_bring_the_rows_of_their_owners(const Ranks& ranks) {
  for (const int salt : {0, 1, 2}) {
    pull_random_rows<float>(ranks, 5, salt, Space::host);
    pull_random_rows<std::int32_t>(ranks, 1, salt, Space::host);
    pull_random_rows<std::uint16_t>(ranks, 3, salt, Space::host);  // halves, by their bits
  }
}

inline void rows_are_read_without_their_owners(const Ranks& ranks) {
  for (const int salt : {0, 1, 2}) pull_random_rows<float>(ranks, 5, salt, Space::server_host);
}

/// Rank r's push of a round, with whole numbers, whose sums are exact in any order.
inline std::vector<float> pushed(std::uint64_t round, int r, std::int64_t rows,
                                 std::int64_t width) {
  std::vector<float> x;
  for (std::int64_t k = 0; k < rows * width; ++k)
    x.push_back(static_cast<float>((k * 7 + 11 * r + static_cast<std::int64_t>(round)) % 64));
  return x;
}

inline void pushes_of_all_ranks_add_up(const Ranks& ranks) {
  const int p = ranks.count;
  const Store store{1, world_group(p)};
  const std::int64_t width = 3;
  std::vector<std::int64_t> owned;
  for (int i = 0; i < p; ++i) owned.push_back(rows_with(i));
  ranks.run([&](int r, Communicator& communicator) {
    HostRank rank;
    const auto run = [&](const Op& op) { communicator.run(Lane::store, op, rank.memory); };
    auto want = table_of<float>(r, rows_with(r), width);
    const Tensor table = rank.tensor(rows_with(r), width, want);
    run(Expose{store, table});
    for (std::uint64_t round = 0; round < 10; ++round) {
      const Requests asked(round, r, owned);
      const Tensor x = rank.tensor(asked.count(), width, pushed(round, r, asked.count(), width));
      run(Push{store, rank.tensor(asked.count(), 1, asked.index), rows(asked.rows_per_owner), x});
    }
    run(Withdraw{store, table});

    for (std::uint64_t round = 0; round < 10; ++round)
      for (int from = 0; from < p; ++from) {
        const Requests asked(round, from, owned);
        const auto x = pushed(round, from, asked.count(), width);
        for (std::size_t k = 0; k < asked.index.size(); ++k)
          for (std::int64_t j = 0; asked.owner[k] == r && j < width; ++j)
            want[static_cast<std::size_t>(asked.index[k] * width + j)] +=
                x[k * static_cast<std::size_t>(width) + static_cast<std::size_t>(j)];
      }
    EXPECT_EQ(rank.values<float>(table), want) << "on rank " << r;
    EXPECT_TRUE(rank.memory.guards_intact());
  });
}

/// A row gets 1e8, then 1 a hundred times: in this order each 1 is lost, in another it is not.
inline void a_push_adds_its_rows_in_their_order(const Ranks& ranks) {
  const int p = ranks.count;
  const Store store{1, world_group(p)};
  ranks.run([&](int r, Communicator& communicator) {
    HostRank rank;
    const auto run = [&](const Op& op) { communicator.run(Lane::store, op, rank.memory); };
    const Tensor table = rank.filled<float>(p, 1, 0);
    run(Expose{store, table});
    std::vector<std::int64_t> to_next(static_cast<std::size_t>(p), 0);
    to_next[static_cast<std::size_t>((r + 1) % p)] = 101;
    std::vector<float> x(101, 1);
    x[0] = 1e8F;
    run(Push{store, rank.tensor(101, 1, std::vector<std::int32_t>(101, r)), rows(to_next),
             rank.tensor(101, 1, x)});
    run(Withdraw{store, table});
    EXPECT_EQ(rank.values<float>(table)[static_cast<std::size_t>((r + p - 1) % p)], 1e8F);
  });
}

/// The bytes that came in at each rank from each other rank are those that the ops of both say. Rows
/// in server_host take pulls only.
inline void count_to_the_byte(const Ranks& ranks, Space space) {
  const int p = ranks.count;
  const Store store{2, world_group(p)};
  std::vector<std::int64_t> owned;
  for (int i = 0; i < p; ++i) owned.push_back(rows_with(i, 1));
  // The ops of one rank; tensors are numbered as below.
  const auto ops_of = [&](int r, std::uint64_t round) {
    const Requests asked(round, r, owned);
    const auto first = static_cast<std::uint32_t>(1 + 2 * round);
    const std::int64_t m = asked.count();
    const Tensor index{first, {m, 1}, DType::i32, Space::host, 0, 1};
    const Tensor values{first + 1, {m, 6}, DType::f32, Space::host, 0, 6};
    const auto counts = rows(asked.rows_per_owner);
    return round % 2 == 0 || space == Space::server_host ? Op(Pull{store, index, counts, values})
                                                         : Op(Push{store, index, counts, values});
  };
  ranks.run([&](int r, Communicator& communicator) {
    HostRank rank(communicator.server_storage());
    const auto before = communicator.received_from();
    const auto run = [&](const Op& op) { communicator.run(Lane::store, op, rank.memory); };
    const std::int64_t mine = rows_with(r, 1);
    const Tensor table = rank.tensor(mine, 6, table_of<float>(r, mine, 6), space);
    run(Expose{store, table});
    for (std::uint64_t round = 0; round < 6; ++round) {
      const Requests asked(round, r, owned);
      rank.tensor(asked.count(), 1, asked.index);
      rank.filled<float>(asked.count(), 6, 1);
      run(ops_of(r, round));
    }
    run(Withdraw{store, table});

    std::vector<double> want(before.begin(), before.end());
    for (std::uint64_t round = 0; round < 6; ++round) {
      received_bytes(ops_of(r, round), r, [&](int peer, double bytes) {
        want[static_cast<std::size_t>(peer)] += bytes;
      });
      for (int from = 0; from < p; ++from)
        served_bytes(ops_of(from, round), from, [&](int owner, double bytes) {
          if (owner == r) want[static_cast<std::size_t>(from)] += bytes;
        });
    }
    const auto came = communicator.received_from();
    EXPECT_EQ(std::vector<double>(came.begin(), came.end()), want) << "on rank " << r;
  });
}

inline void pulls_and_pushes_count_to_the_byte(const Ranks& ranks) {
  count_to_the_byte(ranks, Space::host);
}
inline void rows_read_without_their_owners_count_to_the_byte(const Ranks& ranks) {
  count_to_the_byte(ranks, Space::server_host);
}

/// Larger than any piece that a request is cut into, and no multiple of one.
inline void large_requests_arrive_whole(const Ranks& ranks) {
  const int p = ranks.count;
  const Store store{3, world_group(p)};
  const std::int64_t n = 30011, width = 61;
  ranks.run([&](int r, Communicator& communicator) {
    HostRank rank;
    const auto run = [&](const Op& op) { communicator.run(Lane::store, op, rank.memory); };
    const Tensor table = rank.filled(n, width, static_cast<float>(r + 1));
    run(Expose{store, table});
    std::vector<std::int32_t> all;
    for (int o = 0; o < p; ++o)
      for (std::int64_t i = n; i-- > 0;) all.push_back(static_cast<std::int32_t>(i));
    const Tensor index = rank.tensor(n * p, 1, all), y = rank.filled<float>(n * p, width, 0);
    const auto counts = rows(std::vector<std::int64_t>(static_cast<std::size_t>(p), n));
    run(Pull{store, index, counts, y});
    const float* got = rank.memory.data<float>(y);
    for (int o = 0; o < p; ++o)
      EXPECT_EQ(
          std::count(got + o * n * width, got + (o + 1) * n * width, static_cast<float>(o + 1)),
          n * width);
    run(Withdraw{store, table});
    run(Expose{store, table});
    std::fill_n(rank.memory.data<float>(y), y.shape.size(), 1.0F);
    run(Push{store, index, counts, y});
    run(Withdraw{store, table});
    const float* sums = rank.memory.data<float>(table);
    EXPECT_EQ(std::count(sums, sums + n * width, static_cast<float>(r + 1 + p)), n * width);
  });
}

/// Every rank pushes to every row again and again, and pulls meanwhile: all columns of a row are
/// equal at every moment, and never fall.
inline void rows_are_not_seen_half_added(const Ranks& ranks) {
  const int p = ranks.count;
  const Store store{4, world_group(p)};
  const std::int64_t n = 3, width = 999;
  ranks.run([&](int r, Communicator& communicator) {
    HostRank rank;
    const Tensor table = rank.filled<float>(n, width, 0);
    std::vector<std::int32_t> all;
    for (int o = 0; o < p; ++o)
      for (std::int32_t i = 0; i < n; ++i) all.push_back(i);
    const Tensor index = rank.tensor(n * p, 1, all), y = rank.filled<float>(n * p, width, 0),
                 ones = rank.filled<float>(n * p, width, 1);
    const auto counts = rows(std::vector<std::int64_t>(static_cast<std::size_t>(p), n));
    constexpr int kRounds = 50;
    communicator.run(Lane::store, Expose{store, table}, rank.memory);
    std::thread pusher([&] {
      for (int i = 0; i < kRounds; ++i)
        communicator.run(Lane::comm, Push{store, index, counts, ones}, rank.memory);
    });
    std::vector<float> last(static_cast<std::size_t>(n * p), 0);
    for (int i = 0; i < kRounds; ++i) {
      communicator.run(Lane::store, Pull{store, index, counts, y}, rank.memory);
      const float* row = rank.memory.data<float>(y);
      for (float& before : last) {
        EXPECT_EQ(std::count(row, row + width, row[0]), width) << "a torn row on rank " << r;
        EXPECT_GE(row[0], before);
        before = row[0];
        row += width;
      }
    }
    pusher.join();
    communicator.run(Lane::store, Withdraw{store, table}, rank.memory);
    EXPECT_EQ(rank.values<float>(table), std::vector<float>(static_cast<std::size_t>(n * width),
                                                            static_cast<float>(kRounds * p)));
  });
}

/// The stores of two groups under one number, and of all ranks, open at once.
inline void stores_side_by_side_are_kept_apart(const Ranks& ranks) {
  const int p = ranks.count;
  ranks.run([&](int r, Communicator& communicator) {
    HostRank rank;
    const auto run = [&](const Op& op) { communicator.run(Lane::store, op, rank.memory); };
    const Group half{static_cast<std::uint16_t>(1 + r % 2), r % 2, (p + 1 - r % 2) / 2, 2};
    const Store all{5, world_group(p)}, ours{5, half}, other{6, world_group(p)};
    const std::vector<Store> stores{all, ours, other};
    std::vector<Tensor> tables;
    for (std::size_t s = 0; s < stores.size(); ++s) {
      tables.push_back(rank.filled(1, 1, static_cast<float>(10 * r + static_cast<int>(s))));
      run(Expose{stores[s], tables[s]});
    }
    for (std::size_t s = 0; s < stores.size(); ++s) {
      const Group& group = stores[s].group;
      const Tensor y = rank.filled<float>(group.size, 1, 0);
      run(Pull{stores[s], rank.filled<std::int32_t>(group.size, 1, 0),
               rows(std::vector<std::int64_t>(static_cast<std::size_t>(group.size), 1)), y});
      for (int i = 0; i < group.size; ++i)
        EXPECT_EQ(rank.values<float>(y)[static_cast<std::size_t>(i)],
                  static_cast<float>(10 * group.rank_of(i) + static_cast<int>(s)));
    }
    for (std::size_t s = 0; s < stores.size(); ++s) run(Withdraw{stores[s], tables[s]});
  });
}

/// The cases that hold for any number of ranks.
inline const std::vector<CollectiveCase>& store_cases() {
  static const std::vector<CollectiveCase> cases{
      {"PullsBringTheRowsOfTheirOwners", pulls_bring_the_rows_of_their_owners},
      {"RowsAreReadWithoutTheirOwners", rows_are_read_without_their_owners},
      {"RowsReadWithoutTheirOwnersCountToTheByte",
       rows_read_without_their_owners_count_to_the_byte},
      {"PushesOfAllRanksAddUp", pushes_of_all_ranks_add_up},
      {"APushAddsItsRowsInTheirOrder", a_push_adds_its_rows_in_their_order},
      {"PullsAndPushesCountToTheByte", pulls_and_pushes_count_to_the_byte},
      {"LargeRequestsArriveWhole", large_requests_arrive_whole},
      {"RowsAreNotSeenHalfAdded", rows_are_not_seen_half_added},
      {"StoresSideBySideAreKeptApart", stores_side_by_side_are_kept_apart},
  };
  return cases;
}

}  // namespace orrery::testing
