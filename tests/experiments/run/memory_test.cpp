// Runs that this machine's memory cannot hold.
#include <gtest/gtest.h>

#include "core/base/available_memory.hpp"
#include "tests/experiments/commands/started_program.hpp"

namespace orrery {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

/// A system made of files.
class AvailableMemory : public testing::StartedProgram {
 protected:
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories(in(file).parent_path());
    std::ofstream(in(file)) << text;
  }
  /// A group whose limit and usage are this many GiB, with 1 GiB of unused file pages.
  void group2(const std::string& path, const std::string& limit, std::int64_t usage) const {
    write("sys/fs/cgroup/" + path + "/memory.max", limit);
    write("sys/fs/cgroup/" + path + "/memory.current", std::to_string(usage * kGiB));
    write("sys/fs/cgroup/" + path + "/memory.stat",
          fmt::format("anon 12\ninactive_file {}\nactive_file 7\n", kGiB));
  }
  void machine(std::int64_t gib, const std::string& groups) const {
    write("proc/meminfo",
          fmt::format("MemTotal: 99999999 kB\nMemFree: 1 kB\nMemAvailable:   {} kB\n",
                      gib * 1024 * 1024));
    write("proc/self/cgroup", groups);
  }
};

TEST_F(AvailableMemory, IsThatOfTheMachineWithoutALimit) {
  machine(20, "0::/user.slice\n");
  group2("user.slice", "max", 3);

  EXPECT_EQ(available_memory(folder_), 20 * kGiB);
}

TEST_F(AvailableMemory, IsTheLeastOfAllGroupsThatTheProcessIsIn) {
  machine(20, "0::/outer/inner\n");
  group2("outer/inner", std::to_string(16 * kGiB), 2);
  group2("outer", std::to_string(8 * kGiB), 3);
  group2("other", std::to_string(1 * kGiB), 1);

  EXPECT_EQ(available_memory(folder_), 6 * kGiB) << "8 - 3, and one of files that nobody uses";
}

TEST_F(AvailableMemory, KnowsTheFirstVersionOfGroupsAndTheRootOfAContainer) {
  machine(20, "5:devices:/\n4:cpu,memory:/docker/abc\n0::/\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(4 * kGiB));
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(3 * kGiB));
  write("sys/fs/cgroup/memory/memory.stat", "total_inactive_file 1024\n");

  EXPECT_EQ(available_memory(folder_), kGiB + 1024);
}

TEST_F(AvailableMemory, IsNothingWhereTheSystemDoesNotSay) {
  EXPECT_FALSE(available_memory(folder_).has_value());
}

TEST_F(AvailableMemory, OfThisMachineIsMoreThanNothing) {
  EXPECT_GT(available_memory().value_or(1), 0);
}

class TooLargeForThisMachine : public testing::StartedProgram {
 protected:
  /// Terabytes, in an address space of 3 GiB: should it be tried, that is refused by the system.
  int run(const std::string& more) const {
    return shell(fmt::format(
        "ulimit -v {}; '{}' run {} --set model.hidden=16777216 --set dataset.vertices=100000 --out "
        "{} {}",
        3 * 1024 * 1024, ORRERY_BINARY, experiment(R"(, "strategy": {"type": "full_graph"},
                                             "train": {"epochs": 1})"),
        in("a").string(), more));
  }
};

TEST_F(TooLargeForThisMachine, IsRefusedBeforeAnythingIsAllocated) {
  EXPECT_EQ(run(""), 1);
  EXPECT_NE(read("err").find("TiB of memory, but "), std::string::npos) << read("err");
  EXPECT_NE(read("err").find("orrery run --anyway tries it"), std::string::npos) << read("err");
}

TEST_F(TooLargeForThisMachine, IsTriedAnyway) {
  EXPECT_EQ(run("--anyway"), 1);
  EXPECT_EQ(read("err").find("orrery run --anyway tries it"), std::string::npos) << read("err");
  EXPECT_NE(read("err").find("out of memory: tensor"), std::string::npos) << read("err");
}

}  // namespace
}  // namespace orrery
