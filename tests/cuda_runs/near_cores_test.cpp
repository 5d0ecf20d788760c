#include "backends/cuda/near_cores.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace orrery {
namespace {

/// What the system says of a device, for as long as it lives.
class Devices {
 public:
  explicit Devices(const std::string& list) {
    std::filesystem::create_directories(folder_ / "0000:3b:00.0");
    std::ofstream(folder_ / "0000:3b:00.0" / "local_cpulist") << list << '\n';
  }
  ~Devices() { std::filesystem::remove_all(folder_); }
  std::vector<int> near(const std::string& bus) const {
    return cuda::cores_near(bus, folder_.string());
  }

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("orrery-devices-" + std::to_string(::getpid()));
};

TEST(NearCores, AreThoseOfTheListOfTheBus) {
  EXPECT_EQ(Devices("2-4,9,12-13").near("0000:3B:00.0"), (std::vector<int>{2, 3, 4, 9, 12, 13}));
  EXPECT_EQ(Devices("7").near("0000:3B:00.0"), (std::vector<int>{7}));
}

TEST(NearCores, AreNoneWhereTheSystemDoesNotTell) {
  EXPECT_EQ(Devices("0-3").near("0000:AF:00.0"), std::vector<int>{});
  EXPECT_EQ(Devices("").near("0000:3B:00.0"), std::vector<int>{});
  EXPECT_EQ(Devices("some").near("0000:3B:00.0"), std::vector<int>{});
}

cpu_set_t allowed() {
  cpu_set_t set;
  ::sched_getaffinity(0, sizeof set, &set);
  return set;
}

TEST(NearCores, AreWhereThisThreadAndItsOwnStay) {
  const cpu_set_t before = allowed();
  int core = 0;
  while (CPU_ISSET(core, &before) == 0) ++core;
  std::thread([&] {
    const cuda::StayOn near({core, CPU_SETSIZE + 5});
    std::thread([&] {
      const cpu_set_t now = allowed();
      EXPECT_EQ(CPU_COUNT(&now), 1);
      EXPECT_TRUE(CPU_ISSET(core, &now));
    }).join();
  }).join();
  const cpu_set_t after = allowed();
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(NearCores, AreLeftAgain) {
  const cpu_set_t before = allowed();
  int core = 0;
  while (CPU_ISSET(core, &before) == 0) ++core;
  { const cuda::StayOn near({core}); }
  const cpu_set_t after = allowed();
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(NearCores, OfWhichNoneMayBeUsedChangeNothing) {
  const cpu_set_t before = allowed();
  int other = 0;
  while (other < CPU_SETSIZE && CPU_ISSET(other, &before) != 0) ++other;
  const cuda::StayOn there({other}), nowhere({});
  const cpu_set_t after = allowed();
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

}  // namespace
}  // namespace orrery
