// Files in the replay: bytes over the rate of the storage, and what ranks leave to each other.
#include <gtest/gtest.h>

#include <string>

#include "core/base/error.hpp"
#include "tests/sim/replay/script.hpp"

namespace orrery::sim {
namespace {

constexpr double kExactWithFiles = 1e-8;

/// The time of each rank that reads so many bytes; two ranks a server.
std::vector<double> reading(const FileStorage& storage, const std::vector<double>& bytes,
                            int host_cores = 4) {
  StarCluster star;
  star.servers = static_cast<int>(bytes.size() + 1) / 2;
  star.host_cores = host_cores;
  Cluster cluster = star.make();
  cluster.storage = storage;
  std::vector<PricedProgram> programs;
  for (const double of_rank : bytes) {
    Script script;
    if (of_rank > 0) script.read(of_rank);
    programs.push_back(script.done());
  }
  return seconds_of(simulation_of(cluster, std::move(programs)));
}

TEST(StorageOfClusters, TakesItsLatencyAndBytesOverItsRate) {
  EXPECT_NEAR(reading({2e9, 0, 3e-3}, {5e9, 0}).at(0), 3e-3 + 2.5, kExactWithFiles);
}

TEST(StorageOfClusters, IsSharedByTheRanksOfAServer) {
  // Half the rate each until 1 GB has come for both; then the second rank has 2 GB left, alone.
  const auto seconds = reading({2e9, 0, 0}, {1e9, 3e9});

  EXPECT_NEAR(seconds.at(0), 1, kExactWithFiles);
  EXPECT_NEAR(seconds.at(1), 1 + 1, kExactWithFiles);
}

TEST(StorageOfClusters, LetsServersReadBesideEachOther) {
  const auto seconds = reading({2e9, 0, 0}, {2e9, 0, 4e9, 0});

  EXPECT_NEAR(seconds.at(0), 1, kExactWithFiles);
  EXPECT_NEAR(seconds.at(2), 2, kExactWithFiles);
}

TEST(StorageOfClusters, SharedByServersHasOneRateForAll) {
  // 1.2 GB/s for two servers: 0.6 each, below what one alone may read (1 GB/s).
  const auto seconds = reading({1e9, 1.2e9, 0}, {0.6e9, 0, 1.6e9, 0});

  EXPECT_NEAR(seconds.at(0), 1, kExactWithFiles);
  EXPECT_NEAR(seconds.at(2), 1 + 1, kExactWithFiles);
}

/// The star's adapters carry 1 GB/s, and only a file system that is shared is behind them.
TEST(StorageOfClusters, SharedByServersIsBehindTheirLinks) {
  EXPECT_NEAR(reading({4e9, 8e9, 0}, {3e9, 0, 3e9, 0}).at(2), 3, kExactWithFiles) << "network";
  EXPECT_NEAR(reading({4e9, 0, 0}, {3e9, 0, 3e9, 0}).at(2), 0.75, kExactWithFiles) << "own disks";
  EXPECT_NEAR(reading({4e9, 1.5e9, 0}, {3e9, 0, 3e9, 0}).at(2), 4, kExactWithFiles)
      << "the file system itself";
  EXPECT_NEAR(reading({0.5e9, 8e9, 0}, {3e9, 0, 3e9, 0}).at(2), 6, kExactWithFiles) << "a client";
  EXPECT_NEAR(reading({4e9, 8e9, 0}, {3e9, 0}).at(0), 0.75, kExactWithFiles)
      << "one server alone has no network";
}

TEST(StorageOfClusters, NeedsNoHostOfTheServers) {
  EXPECT_NEAR(reading({2e9, 0, 0}, {1e9, 3e9}, 0).at(1), 2, kExactWithFiles);
}

TEST(StorageOfClusters, ThatIsNotDescribedTakesNoTime) {
  EXPECT_NEAR(reading({}, {1e9, 3e9}).at(1), 0, kExactWithFiles);
}

TEST(StorageOfClusters, WithNumbersThatMeanNothingIsAnError) {
  Cluster cluster = StarCluster{}.make();
  for (const FileStorage& storage :
       {FileStorage{-1, 0, 0}, FileStorage{1, -1, 0}, FileStorage{1, 0, -1}, FileStorage{0, 1, 0},
        FileStorage{0, 0, 1}}) {
    cluster.storage = storage;
    EXPECT_THROW(validate(cluster), ConfigError);
  }
  cluster.storage = {1, 1, 0};
  EXPECT_NO_THROW(validate(cluster));
}

}  // namespace
}  // namespace orrery::sim
