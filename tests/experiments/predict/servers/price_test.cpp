// What an epoch costs, by hand.
#include "experiments/predict/servers/price.hpp"

#include "tests/experiments/predict/servers/described_cluster.hpp"

namespace orrery {
namespace {

using testing::described_cluster;
using testing::experiment_on;

TEST(PriceOfAnEpoch, CountsSecondsServersAndTheHour) {
  const std::string cluster = described_cluster(0, 0, 7.2);

  EXPECT_DOUBLE_EQ(*usd_per_epoch(experiment_on(cluster, 1), 1), 0.002);
  EXPECT_DOUBLE_EQ(*usd_per_epoch(experiment_on(cluster, 3), 1800), 3 * 3.6) << "half an hour";
}

TEST(PriceOfAnEpoch, IsToldByWhomOnlyTheClusterFileKnows) {
  EXPECT_FALSE(usd_per_epoch(experiment_on(described_cluster(0, 0), 2), 1)) << "no price";
  EXPECT_FALSE(usd_per_epoch(
      parse_experiments(R"({"name": "no cluster", "dataset": {"generate": "communities"},
          "model": {"type": "gcn"}, "strategy": {"type": "full_graph"}})",
                        "no cluster", {})
          .front(),
      1));
}

TEST(PriceOfAnEpoch, IsShownWithThreeDigits) {
  EXPECT_EQ(dollars(12.345), "$12.3");
  EXPECT_EQ(dollars(0.0000125), "$1.25e-05");
}

}  // namespace
}  // namespace orrery
