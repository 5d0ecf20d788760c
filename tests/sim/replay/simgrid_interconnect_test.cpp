#include "sim/replay/simgrid_interconnect.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "core/base/rng.hpp"
#include "tests/sim/replay/in_child.hpp"

namespace orrery::sim {
namespace {

struct Flow {
  int connection = 0;
  double bytes = 0, latency_seconds = 0, begins = 0;
};

/// When each flow ends, as SimGrid says. Every flow has ends of its own.
class Ends final : public NetworkListener {
 public:
  static std::vector<double> of(const InterconnectPlan& plan, const std::vector<Flow>& flows) {
    return in_child([&] {
      const auto network = make_simgrid_interconnect(plan);
      Ends ends(plan, flows, *network);
      for (std::size_t i = 0; i < flows.size(); ++i) network->at(flows[i].begins, i);
      network->run(ends);
      return ends.at_;
    });
  }
  void on_timer(std::uint64_t i) override {
    const Flow& flow = flows_[i];
    const auto& c = plan_.connections[static_cast<std::size_t>(flow.connection)];
    network_.send(c.from, c.to, flow.bytes, flow.latency_seconds, i);
  }
  void on_arrival(std::uint64_t i) override { at_[i] = network_.now(); }

 private:
  Ends(const InterconnectPlan& plan, const std::vector<Flow>& flows, Interconnect& network)
      : plan_(plan), flows_(flows), network_(network), at_(flows.size(), -1) {}
  const InterconnectPlan& plan_;
  const std::vector<Flow>& flows_;
  Interconnect& network_;
  std::vector<double> at_;
};

/// Max-min fair rates by progressive filling: all unfrozen flows grow alike until a capacity is
/// full, whose flows are frozen then.
std::vector<double> fair_rates(const InterconnectPlan& plan, const std::vector<int>& connections) {
  std::vector<double> left = plan.bytes_per_second, rate(connections.size(), 0);
  std::vector<bool> frozen(connections.size(), false);
  const auto uses = [&](std::size_t flow, std::size_t capacity) {
    const auto& list = plan.connections[static_cast<std::size_t>(connections[flow])].capacities;
    return std::find(list.begin(), list.end(), static_cast<int>(capacity)) != list.end();
  };
  for (;;) {
    double growth = std::numeric_limits<double>::infinity();
    std::size_t full = 0;
    for (std::size_t c = 0; c < left.size(); ++c) {
      int users = 0;
      for (std::size_t f = 0; f < rate.size(); ++f) users += !frozen[f] && uses(f, c) ? 1 : 0;
      if (users > 0 && left[c] / users < growth) {
        growth = left[c] / users;
        full = c;
      }
    }
    if (growth == std::numeric_limits<double>::infinity()) return rate;
    for (std::size_t f = 0; f < rate.size(); ++f) {
      if (frozen[f]) continue;
      rate[f] += growth;
      for (std::size_t c = 0; c < left.size(); ++c)
        if (uses(f, c)) left[c] -= growth;
    }
    for (std::size_t f = 0; f < rate.size(); ++f)
      if (uses(f, full)) frozen[f] = true;
  }
}

/// When each flow ends if rates are fair at every instant: after its latency it shares.
std::vector<double> reference(const InterconnectPlan& plan, const std::vector<Flow>& flows) {
  std::vector<double> left, ends(flows.size(), -1);
  for (const Flow& f : flows) left.push_back(f.bytes);
  double now = 0;
  for (std::size_t done = 0; done < flows.size();) {
    std::vector<std::size_t> active;
    std::vector<int> connections;
    double next = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < flows.size(); ++i) {
      const double starts = flows[i].begins + flows[i].latency_seconds;
      if (ends[i] >= 0) continue;
      if (starts > now) {
        next = std::min(next, starts);
      } else {
        active.push_back(i);
        connections.push_back(flows[i].connection);
      }
    }
    const auto rates = fair_rates(plan, connections);
    for (std::size_t k = 0; k < active.size(); ++k)
      next = std::min(next, now + left[active[k]] / rates[k]);
    for (std::size_t k = 0; k < active.size(); ++k) {
      const std::size_t i = active[k];
      left[i] -= rates[k] * (next - now);
      if (left[i] < flows[i].bytes * 1e-13 + 1e-6) {
        ends[i] = next;
        ++done;
      }
    }
    now = next;
  }
  return ends;
}

TEST(SimGridInterconnect, OneMessageTakesItsLatencyAndItsBytesOverTheRate) {
  const InterconnectPlan plan{{25e9}, 2, {{0, 1, {0}}}};
  for (const double bytes : {0.0, 1.0, 1e3, 1e6, 1e9, 1e12}) {
    const auto ends = Ends::of(plan, {{0, bytes, 3e-6, 0.5}});

    EXPECT_NEAR(ends.at(0), 0.5 + 3e-6 + bytes / 25e9, 1e-12 * (1 + bytes / 25e9));
  }
}

TEST(SimGridInterconnect, FlowsOfDifferentLatencyShareALinkFairly) {
  // Both pass capacity 0 (10 GB/s): 100 MB each, latencies 2 us and 21 us. Together they move
  // 200 MB, so the second ends at 20 ms but for what the first had alone in the first 19 us, and
  // the first when both have had equal shares: 2 us + 190 kB alone, then half each.
  const InterconnectPlan plan{{10e9, 1e12}, 4, {{0, 1, {0}}, {2, 3, {0, 1}}}};
  const auto ends = Ends::of(plan, {{0, 1e8, 2e-6, 0}, {1, 1e8, 21e-6, 0}});

  const double alone = 19e-6 * 10e9;
  const double first = 21e-6 + 2 * (1e8 - alone) / 10e9;
  EXPECT_NEAR(ends.at(0), first, 1e-11);
  EXPECT_NEAR(ends.at(1), 2e-6 + 2e8 / 10e9, 1e-11);
}

TEST(SimGridInterconnect, HalfTheRateTakesTwiceAsLong) {
  const auto end = [](double rate) {
    return Ends::of({{rate}, 2, {{0, 1, {0}}}}, {{0, 1e9, 0, 0}}).at(0);
  };

  EXPECT_NEAR(end(5e9) / end(10e9), 2, 1e-12);
}

TEST(SimGridInterconnect, AgreesWithProgressiveFillingOnRandomFlows) {
  int flows_seen = 0;
  double worst = 0;
  for (std::uint64_t trial = 0; flows_seen < 500; ++trial) {
    const auto draw = [&](std::uint32_t what, std::uint64_t i, std::uint64_t below) {
      return random_bits(trial, Purpose::permutation, what, static_cast<std::uint32_t>(i))[0] %
             below;
    };
    InterconnectPlan plan;
    const std::uint64_t links = 2 + draw(0, 0, 6), count = 2 + draw(1, 0, 8);
    for (std::uint64_t l = 0; l < links; ++l)
      plan.bytes_per_second.push_back(1e9 * static_cast<double>(1 + draw(2, l, 30)));
    std::vector<Flow> flows;
    for (std::uint64_t f = 0; f < count; ++f) {
      std::vector<int> route;
      for (std::uint64_t l = 0; l < links; ++l)
        if (draw(3, f * 64 + l, 3) == 0) route.push_back(static_cast<int>(l));
      if (route.empty()) route.push_back(static_cast<int>(draw(4, f, links)));
      plan.connections.push_back({static_cast<int>(2 * f), static_cast<int>(2 * f + 1), route});
      flows.push_back({static_cast<int>(f), 1e5 * static_cast<double>(1 + draw(5, f, 900)),
                       1e-6 * static_cast<double>(draw(6, f, 40)),
                       1e-5 * static_cast<double>(draw(7, f, 100))});
    }
    plan.ends = static_cast<int>(2 * count);

    const auto simulated = Ends::of(plan, flows), expected = reference(plan, flows);

    ASSERT_EQ(simulated.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      worst = std::max(worst, std::abs(simulated[i] - expected[i]) / expected[i]);
    flows_seen += static_cast<int>(count);
  }
  EXPECT_LT(worst, 1e-9);
}

}  // namespace
}  // namespace orrery::sim
