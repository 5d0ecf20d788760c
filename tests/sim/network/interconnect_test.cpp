#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "core/base/rng.hpp"
#include "sim/network/fluid_interconnect.hpp"
#include "sim/network/simgrid_interconnect.hpp"
#include "tests/sim/network/fair_rates.hpp"
#include "tests/sim/network/in_child.hpp"

namespace orrery::sim {
namespace {

struct Flow {
  int connection = 0;
  double bytes = 0, latency_seconds = 0, begins = 0;
};

using MakeInterconnect = std::unique_ptr<Interconnect> (*)(const InterconnectPlan&);

/// When each flow ends, as an engine says. Every flow has ends of its own.
class Ends final : public NetworkListener {
 public:
  static std::vector<double> of(MakeInterconnect make, const InterconnectPlan& plan,
                                const std::vector<Flow>& flows) {
    return in_child([&] {
      const auto network = make(plan);
      Ends ends(flows, *network);
      for (std::size_t i = 0; i < flows.size(); ++i) network->at(flows[i].begins, i);
      network->run(ends);
      return ends.at_;
    });
  }
  void on_timer(std::uint64_t i) override {
    const Flow& flow = flows_[i];
    network_.send(flow.connection, flow.bytes, flow.latency_seconds, i);
  }
  void on_arrival(std::uint64_t i) override { at_[i] = network_.now(); }

 private:
  Ends(const std::vector<Flow>& flows, Interconnect& network)
      : flows_(flows), network_(network), at_(flows.size(), -1) {}
  const std::vector<Flow>& flows_;
  Interconnect& network_;
  std::vector<double> at_;
};

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

class Engines : public ::testing::TestWithParam<MakeInterconnect> {};
INSTANTIATE_TEST_SUITE_P(, Engines,
                         ::testing::Values(make_simgrid_interconnect, make_fluid_interconnect),
                         [](const auto& which) {
                           return which.param == make_simgrid_interconnect ? "simgrid" : "fluid";
                         });

TEST_P(Engines, OneMessageTakesItsLatencyAndItsBytesOverTheRate) {
  const InterconnectPlan plan{{25e9}, 2, {{0, 1, {0}}}};
  for (const double bytes : {0.0, 1.0, 1e3, 1e6, 1e9, 1e12}) {
    const auto ends = Ends::of(GetParam(), plan, {{0, bytes, 3e-6, 0.5}});

    EXPECT_NEAR(ends.at(0), 0.5 + 3e-6 + bytes / 25e9, 1e-12 * (1 + bytes / 25e9));
  }
}

TEST_P(Engines, FlowsOfDifferentLatencyShareALinkFairly) {
  // Both pass capacity 0 (10 GB/s): 100 MB each, latencies 2 us and 21 us. Together they move
  // 200 MB, so the second ends at 20 ms but for what the first had alone in the first 19 us, and
  // the first when both have had equal shares: 2 us + 190 kB alone, then half each.
  const InterconnectPlan plan{{10e9, 1e12}, 4, {{0, 1, {0}}, {2, 3, {0, 1}}}};
  const auto ends = Ends::of(GetParam(), plan, {{0, 1e8, 2e-6, 0}, {1, 1e8, 21e-6, 0}});

  const double alone = 19e-6 * 10e9;
  const double first = 21e-6 + 2 * (1e8 - alone) / 10e9;
  EXPECT_NEAR(ends.at(0), first, 1e-11);
  EXPECT_NEAR(ends.at(1), 2e-6 + 2e8 / 10e9, 1e-11);
}

/// Timer 0 moves timer 1 from 5 to 2, and timer 2 from 3 to 6.
class Moves final : public NetworkListener {
 public:
  explicit Moves(Interconnect& network) : network_(network) {
    network.at(1, 0);
    timers_ = {network.at(5, 1), network.at(3, 2)};
  }
  void on_timer(std::uint64_t i) override {
    rung_.push_back(static_cast<double>(i));
    rung_.push_back(network_.now());
    if (i != 0) return;
    network_.move(timers_[0], 2, 1);
    network_.move(timers_[1], 6, 2);
  }
  void on_arrival(std::uint64_t) override {}
  std::vector<double> rung_;

 private:
  Interconnect& network_;
  std::vector<Interconnect::Timer> timers_;
};

TEST_P(Engines, ATimerThatWasMovedRingsThen) {
  const auto rung = in_child([this] {
    const InterconnectPlan plan{{1e9}, 2, {{0, 1, {0}}}};
    const auto network = GetParam()(plan);
    Moves moves(*network);
    network->run(moves);
    return moves.rung_;
  });

  EXPECT_EQ(rung, (std::vector<double>{0, 1, 1, 2, 2, 6}));
}

TEST_P(Engines, HalfTheRateTakesTwiceAsLong) {
  const auto end = [this](double rate) {
    return Ends::of(GetParam(), {{rate}, 2, {{0, 1, {0}}}}, {{0, 1e9, 0, 0}}).at(0);
  };

  EXPECT_NEAR(end(5e9) / end(10e9), 2, 1e-12);
}

TEST_P(Engines, AgreesWithProgressiveFillingOnRandomFlows) {
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

    const auto simulated = Ends::of(GetParam(), plan, flows), expected = reference(plan, flows);

    ASSERT_EQ(simulated.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      worst = std::max(worst, std::abs(simulated[i] - expected[i]) / expected[i]);
    flows_seen += static_cast<int>(count);
  }
  EXPECT_LT(worst, 1e-9);
}

}  // namespace
}  // namespace orrery::sim
