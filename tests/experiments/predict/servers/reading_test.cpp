// Files over the storage of simulated servers: the seconds of cases that can be counted by hand.
#include "experiments/predict/servers/reading.hpp"

#include "core/base/error.hpp"
#include "core/partition/parts/write_parts.hpp"
#include "experiments/config/load_problem.hpp"
#include "tests/experiments/predict/servers/described_cluster.hpp"

namespace orrery {
namespace {

using testing::described_cluster;
using testing::experiment_on;

/// Issuing the one task of a rank takes some microseconds.
constexpr double kIssue = 1e-4;

class StorageOfServers : public ::testing::Test {
 protected:
  void SetUp() override try { simulator.start(); } catch (const NotBuilt& error) {
    GTEST_SKIP() << error.what();
  }
  Simulator simulator;
};

TEST_F(StorageOfServers, ReadsOnLocalDisksSideBySide) {
  const std::string disks = described_cluster(1e9, 0);
  for (const int servers : {1, 2, 4}) {
    const Experiment experiment = experiment_on(disks, servers);
    EXPECT_NEAR(storage_seconds(experiment, by_each_server(experiment, 3e9), simulator), 3, kIssue);
  }
}

TEST_F(StorageOfServers, SharesOneFileSystemAmongAll) {
  // A server reads 1 GB/s at most, all together 2.
  const std::string shared = described_cluster(1e9, 2e9);
  for (const auto& [servers, seconds] :
       std::vector<std::pair<int, double>>{{1, 3}, {2, 3}, {3, 4.5}, {4, 6}}) {
    const Experiment experiment = experiment_on(shared, servers);
    EXPECT_NEAR(storage_seconds(experiment, by_each_server(experiment, 3e9), simulator), seconds,
                kIssue)
        << servers << " servers, N x bytes / rate";
  }
}

/// 1 TB/s of storage for a server, but its adapter carries less.
TEST_F(StorageOfServers, IsAsSlowAsTheNetwork) {
  const Experiment experiment = experiment_on(described_cluster(1e12, 8e12), 2);
  double adapter = 0;
  for (const ClusterLink& link : experiment.cluster->links)
    if (experiment.cluster->nodes[static_cast<std::size_t>(link.to)].kind ==
        NodeKind::kNetworkSwitch)
      adapter = link.bytes_per_second;
  ASSERT_GT(adapter, 0);
  EXPECT_NEAR(storage_seconds(experiment, by_each_server(experiment, 100e9), simulator),
              100e9 / adapter, 1e-3);
}

TEST_F(StorageOfServers, LetsTheServerThatCutsWriteAlone) {
  const Experiment experiment = experiment_on(described_cluster(1e9, 2e9), 4);
  EXPECT_NEAR(storage_seconds(experiment, by_first_server(experiment, 3e9), simulator), 3, kIssue);
}

/// 1.2 GB/s for two servers of at most 1: both read 0.6 until the smaller is done after a second. The
/// other has 1 GB left, alone. Neither its own bytes over its rate nor the sum over the shared one.
TEST_F(StorageOfServers, GivesTheRateOfThoseThatAreDoneToTheRest) {
  const Experiment experiment = experiment_on(described_cluster(1e9, 1.2e9), 2);
  EXPECT_NEAR(storage_seconds(experiment, {600'000'000, 0, 1'600'000'000, 0}, simulator), 2,
              kIssue);
}

TEST_F(StorageOfServers, HasReadersByStrategy) {
  const Experiment experiment = experiment_on(described_cluster(1e9, 0), 2);  // four ranks
  EXPECT_EQ(by_each_server(experiment, 7), (BytesOfRanks{7, 0, 7, 0}));
  EXPECT_EQ(by_first_server(experiment, 7), (BytesOfRanks{7, 0, 0, 0}));
  EXPECT_EQ(by_owners(experiment, {1, 2, 3, 4}), (BytesOfRanks{1, 2, 3, 4}));
  EXPECT_EQ(by_owners(experiment, {1, 2, 3, 4, 5, 6}), (BytesOfRanks{6, 8, 3, 4})) << "in turn";
  EXPECT_EQ(by_owners(experiment, {1, 2}), (BytesOfRanks{1, 1, 2, 2})) << "copies";
}

TEST_F(StorageOfServers, LoadsTheDataSetOnEachServer) {
  const auto loading = [&](const Experiment& experiment) {
    return loading_json(prepare(experiment, DatasetCache().load(experiment)), simulator);
  };
  const Experiment experiment = experiment_on(described_cluster(1e6, 2e6), 4);
  const auto told = loading(experiment);
  const ProblemData data = DatasetCache().load(experiment);
  const std::int64_t bytes = 4 * (2 * data.facts().edges + 24 * 500);

  EXPECT_EQ(told["reads"], "data set");
  EXPECT_EQ(told["bytes"], 4 * bytes);
  EXPECT_NEAR(told["seconds"], 4 * static_cast<double>(bytes) / 2e6, kIssue);
  EXPECT_TRUE(loading(experiment_on(described_cluster(0, 0), 4)).is_null()) << "no storage";
}

TEST_F(StorageOfServers, LoadsPartsByTheirFiles) {
  const std::string cluster = described_cluster(1e6, 0);
  const Experiment whole = experiment_on(cluster, 2);
  const ProblemData data = DatasetCache().load(whole);
  const std::string parts = ::testing::TempDir() + "read-parts";
  std::filesystem::remove_all(parts);
  write_parts(*data.data, make_partition(whole, data), {.method = "block", .hops = 1}, parts);
  const Experiment experiment =
      experiment_on(cluster, 2, {R"(dataset={"parts": ")" + parts + R"("})"});
  // Two ranks share the disk of a server: it is done with the bytes of both.
  double slowest = 0, all = 0;
  for (const int server : {0, 1}) {
    double bytes = 0;
    for (const int part : {2 * server, 2 * server + 1})
      for (const auto& file : std::filesystem::directory_iterator(part_folder(parts, part)))
        bytes += static_cast<double>(file.file_size());
    slowest = std::max(slowest, bytes / 1e6);
    all += bytes;
  }

  const auto told = loading_json(prepare(experiment, DatasetCache().load(experiment)), simulator);

  EXPECT_EQ(told["reads"], "parts");
  EXPECT_EQ(told["bytes"], all);
  EXPECT_NEAR(told["seconds"], slowest, kIssue);
}

}  // namespace
}  // namespace orrery
