// Memory that other processes of a server map, between two addresses of one process.
#include "core/runtime/execute/server_storage.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

namespace orrery {
namespace {

std::ptrdiff_t open_files() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

TEST(ServerStorage, WhatIsWrittenIsReadWhereItIsMapped) {
  ServerStorage storage;
  for (const std::int64_t count : {1, 1000, 1'000'000}) {
    auto* own = static_cast<int*>(storage.take(Space::server_host, 4 * count));
    own[count - 1] = 7;

    const auto mapped = MappedRows::open(storage.place_of(own + count - 1));

    ASSERT_TRUE(mapped) << count;
    const auto* there = reinterpret_cast<const int*>(mapped->first());
    EXPECT_NE(there, own + count - 1);
    EXPECT_EQ(*there, 7);
    own[count - 1] = 8;
    EXPECT_EQ(*there, 8);
    storage.give(Space::server_host, own);
    EXPECT_EQ(*there, 8) << "it stays until the last process lets it go";
  }
}

TEST(ServerStorage, NothingIsLeftOpen) {
  const auto before = open_files();
  {
    ServerStorage storage;
    const void* kept = storage.take(Space::server_host, 100);
    void* given = storage.take(Space::server_host, 100);
    const auto mapped = MappedRows::open(storage.place_of(kept));
    EXPECT_EQ(open_files(), before + 2) << "mapping opens none";
    storage.give(Space::server_host, given);
    EXPECT_EQ(open_files(), before + 1);
  }
  EXPECT_EQ(open_files(), before);
}

/// In another container the numbers of a process and its file mean something else.
TEST(ServerStorage, AnotherFileUnderTheSameNumberIsNotTaken) {
  ServerStorage storage;
  void* one = storage.take(Space::server_host, 100);
  void* other = storage.take(Space::server_host, 100);
  const SharedPlace place = storage.place_of(one);
  for (const auto change : std::vector<void (*)(SharedPlace&, const SharedPlace&)>{
           [](SharedPlace&p, const SharedPlace&o) { p.file = o.file; },
           [](SharedPlace&p, const SharedPlace&) { p.file = 0; },
           [](SharedPlace&p, const SharedPlace&) { p.file = 1'000'000; },
           [](SharedPlace&p, const SharedPlace&) { p.process = 1; },
           [](SharedPlace&p, const SharedPlace&) { p.bytes += 4096; },
           [](SharedPlace&p, const SharedPlace&) { p.key[1] ^= 1; }}) {
    SharedPlace wrong = place;
    change(wrong, storage.place_of(other));
    EXPECT_FALSE(MappedRows::open(wrong));
  }
  EXPECT_TRUE(MappedRows::open(place));
}

TEST(ServerStorage, APipeUnderThatNumberIsNotWaitedFor) {
  ServerStorage storage;
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  SharedPlace wrong = storage.place_of(storage.take(Space::server_host, 100));
  wrong.file = ends[0];
  EXPECT_FALSE(MappedRows::open(wrong));
  ::close(ends[0]);
  ::close(ends[1]);
}

/// Larger files than the limit would kill the process; the size of mapped ones cannot change.
TEST(ServerStorage, SizesOfFilesAreLimitedAndFixed) {
  ServerStorage storage;
  const SharedPlace place = storage.place_of(storage.take(Space::server_host, 100));
  EXPECT_NE(::ftruncate(static_cast<int>(place.file), 0), 0);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 4096;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  auto* block = static_cast<char*>(storage.take(Space::server_host, 100'000));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  block[99'999] = 1;
  EXPECT_EQ(storage.place_of(block).process, -1) << "on the heap";
  storage.give(Space::server_host, block);
}

TEST(ServerStorage, MemoryOfTheHeapIsNowhere) {
  ServerStorage storage;
  void* block = storage.take(Space::server_host, 100);
  const int on_the_stack = 0;
  EXPECT_EQ(storage.place_of(&on_the_stack).process, -1);
  EXPECT_EQ(storage.place_of(static_cast<char*>(block) + 4096).process, -1) << "the key's page";
  EXPECT_FALSE(MappedRows::open({}));
}

}  // namespace
}  // namespace orrery
