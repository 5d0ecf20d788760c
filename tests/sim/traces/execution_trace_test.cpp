#include "sim/traces/execution_trace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/rng.hpp"
#include "sim/traces/chakra.hpp"
#include "sim/traces/goal.hpp"
#include "tests/sim/replay/script.hpp"
#include "tests/sim/traces/read_traces.hpp"

namespace orrery::sim {
namespace {

using Type = TraceNode::Type;
constexpr TraceOptions kAll{{0, 1}, false}, kWhole{{0, 1}, true};

/// When the last node ends if messages take no time: the longest way through the nodes of all
/// ranks. Fails if some node never starts.
double longest_way(const ExecutionTrace& trace) {
  constexpr double kOpen = -1;
  std::map<int, double> sent;  // by tag
  std::vector<std::vector<double>> ends;
  for (const auto& nodes : trace.ranks) ends.emplace_back(nodes.size(), kOpen);
  const auto end_of = [&](std::size_t r, const TraceNode& node) {
    double begin = 0;
    for (const std::uint32_t before : node.after) {
      if (ends[r].at(before) == kOpen) return kOpen;
      begin = std::max(begin, ends[r][before]);
    }
    if (node.type == Type::receive && !sent.contains(node.tag)) return kOpen;
    return std::max(begin, node.type == Type::receive ? sent.at(node.tag) : 0) + node.seconds;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t r = 0; r < ends.size(); ++r)
      for (std::size_t n = 0; n < ends[r].size(); ++n) {
        if (ends[r][n] != kOpen) continue;
        ends[r][n] = end_of(r, trace.ranks[r][n]);
        if (ends[r][n] == kOpen) continue;
        moved = true;
        if (trace.ranks[r][n].type == Type::send) sent[trace.ranks[r][n].tag] = ends[r][n];
      }
  }
  double last = 0;
  for (std::size_t r = 0; r < ends.size(); ++r)
    for (const double end : ends[r]) {
      EXPECT_NE(end, kOpen) << "a node of rank " << r << " waits for ever";
      last = std::max(last, end);
    }
  return last;
}

/// Draws from 0 to `below` − 1.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}
  int operator()(int below) {
    return static_cast<int>(random_bits(seed_, Purpose::sampler, count_++)[0] %
                            static_cast<std::uint32_t>(below));
  }

 private:
  std::uint64_t seed_;
  std::uint32_t count_ = 0;
};

/// Programs of 2 to 5 ranks at random, on a network that takes (almost) no time. All ranks issue
/// their collectives in one order, so that none waits for ever.
Simulation random_simulation(std::uint64_t seed) {
  Draws draw(seed);
  const int ranks = 2 + draw(4);
  std::vector<Script> scripts(at(ranks));
  const std::array lanes{Lane::compute, Lane::comm, Lane::comm2, Lane::copy};
  for (int step = 0; step < 20; ++step) {
    const Lane comm = lanes[at(1 + draw(2))];
    const int what = draw(8), from = draw(ranks), to = (from + 1 + draw(ranks - 1)) % ranks;
    for (int r = 0; r < ranks; ++r) {
      Script& script = scripts[at(r)];
      if (what == 0) script.all_reduce(comm, world_group(ranks), 120);
      if (what == 1) script.all_to_all(comm, world_group(ranks), 10);
      if (what == 2) script.broadcast(comm, world_group(ranks), from, 1000);
      if (what == 3 && r == from) script.send(comm, world_group(ranks), to, 50);
      if (what == 3 && r == to) script.receive(comm, world_group(ranks), from, 50);
      if (what == 4) script.work(lanes[at(draw(4))], 1 + draw(100) / 100.0);
      if (what == 5) script.wait(lanes[at(draw(4))], lanes[at(draw(4))]);
      if (what == 6) script.sync(lanes[at(draw(4))]);
      if (what == 7) script.work(Lane::compute, 0.25 + r);
    }
  }
  StarCluster star;
  star.devices_per_server = ranks;
  star.device_rate = 1e18;
  star.device_latency = 0;
  std::vector<PricedProgram> programs;
  for (Script& script : scripts) programs.push_back(script.done());
  return simulation_of(star.make(), programs);
}

/// Bytes of the messages between each two ranks, and that both ends say the same.
std::map<std::pair<int, int>, std::int64_t> bytes_between(const ExecutionTrace& trace) {
  std::map<std::pair<int, int>, std::int64_t> sent, received;
  std::set<std::tuple<int, int, int, std::int64_t>> sends, receives;
  for (std::size_t r = 0; r < trace.ranks.size(); ++r)
    for (const TraceNode& node : trace.ranks[r]) {
      const int own = static_cast<int>(r);
      if (node.type == Type::send) {
        sent[{own, node.peer}] += node.bytes;
        EXPECT_TRUE(sends.emplace(own, node.peer, node.tag, node.bytes).second);
      } else if (node.type == Type::receive) {
        received[{node.peer, own}] += node.bytes;
        EXPECT_TRUE(receives.emplace(node.peer, own, node.tag, node.bytes).second);
      }
    }
  EXPECT_EQ(sends, receives);
  EXPECT_EQ(sent, received);
  return sent;
}

TEST(ExecutionTrace, HasTheWaitsOfLanes) {
  Script sender, receiver;
  sender.work(Lane::compute, 1);
  sender.wait(Lane::comm, Lane::compute);
  sender.send(Lane::comm, kPair, 1, 100);
  sender.work(Lane::compute, 2);
  receiver.receive(Lane::comm, kPair, 0, 100);
  receiver.wait(Lane::compute, Lane::comm);
  receiver.work(Lane::compute, 4);

  const ExecutionTrace trace =
      trace_of(simulation_of(StarCluster{}.make(), {sender.done(), receiver.done()}), kAll);

  ASSERT_EQ(trace.ranks[0].size(), 3U);
  ASSERT_EQ(trace.ranks[1].size(), 2U);
  const auto find = [&](std::size_t rank, Type type, double seconds) {
    const auto& nodes = trace.ranks[rank];
    return static_cast<std::uint32_t>(
        std::find_if(nodes.begin(), nodes.end(),
                     [&](const TraceNode& n) { return n.type == type && n.seconds == seconds; }) -
        nodes.begin());
  };
  using Ids = std::vector<std::uint32_t>;
  EXPECT_EQ(trace.ranks[0].at(find(0, Type::send, 0)).after, Ids{find(0, Type::compute, 1)});
  EXPECT_EQ(trace.ranks[0].at(find(0, Type::compute, 2)).after, Ids{find(0, Type::compute, 1)});
  EXPECT_EQ(trace.ranks[1].at(find(1, Type::compute, 4)).after, Ids{find(1, Type::receive, 0)});
  EXPECT_DOUBLE_EQ(longest_way(trace), 5);
}

/// The host reads back the first product before it issues the second, which is on another lane.
TEST(ExecutionTrace, HasTheWaitsOfHosts) {
  Script script;
  script.work(Lane::compute, 1);
  script.sync(Lane::compute);
  script.work(Lane::copy, 2);

  const ExecutionTrace trace =
      trace_of(simulation_of(StarCluster{}.make(), {script.done(), Script{}.done()}), kAll);

  EXPECT_DOUBLE_EQ(longest_way(trace), 3);
}

TEST(ExecutionTrace, SendsWhatAnAllReduceSends) {
  for (const int p : {2, 3, 5, 8}) {
    StarCluster star;
    star.devices_per_server = p;
    std::vector<PricedProgram> programs;
    for (int r = 0; r < p; ++r) {
      Script script;
      script.all_reduce(Lane::comm, world_group(p), 840.0 * 4);
      programs.push_back(script.done());
    }
    Simulation s = simulation_of(star.make(), programs);
    s.collectives.algorithm = "ring";

    const auto sent = bytes_between(trace_of(s, kAll));

    for (int r = 0; r < p; ++r)
      EXPECT_EQ(sent.at({r, (r + 1) % p}), 2 * (p - 1) * 840 * 4 / p) << p << " ranks";
  }
}

/// A chain of 4 ranks passes 10 chunks on: the last one has all when 12 have passed one after the
/// other, not 30. Each chunk is added up for a second to see that.
TEST(ExecutionTrace, PassesChunksOnWhileTheyArrive) {
  StarCluster star;
  star.devices_per_server = 4;
  std::vector<PricedProgram> programs;
  for (int r = 0; r < 4; ++r) {
    Script script;
    script.call(Lane::comm, world_group(4), {CollectiveKind::reduce, 1, 0, 0, -1, 1000, 1000});
    programs.push_back(script.done());
  }
  Simulation s = simulation_of(star.make(), programs);
  s.collectives.algorithm = "chain";
  s.collectives.chunk_bytes = 100;
  s.library.reduce_bytes_per_second = 100;

  const ExecutionTrace trace = trace_of(s, kAll);

  std::int64_t bytes = 0;
  for (const auto& [pair, sent] : bytes_between(trace)) bytes += sent;
  EXPECT_EQ(bytes, 3000);
  EXPECT_EQ(sums_of(trace).messages, 30);
  EXPECT_DOUBLE_EQ(longest_way(trace), 12);
}

TEST(ExecutionTrace, AsksOwnersForRows) {
  Script asker, owner;
  asker.access(Lane::copy, kPair, {3, 5}, 2);
  owner.access(Lane::copy, kPair, {0, 0}, 0);

  const ExecutionTrace trace =
      trace_of(simulation_of(StarCluster{}.make(), {asker.done(), owner.done()}), kAll);

  const auto sent = bytes_between(trace);
  EXPECT_EQ(sent.at({0, 1}), 5 * 4);
  EXPECT_EQ(sent.at({1, 0}), 5 * 512);
  EXPECT_DOUBLE_EQ(longest_way(trace), 2);  // its own rows at the same time
}

TEST(ExecutionTrace, LeavesEqualCollectivesWhole) {
  std::vector<PricedProgram> programs;
  for (int r = 0; r < 4; ++r) {
    Script script;
    script.all_reduce(Lane::comm, world_group(4), 400);
    script.all_reduce(Lane::comm, {1, r / 2 * 2, 2, 1}, 100);
    script.all_to_all(Lane::comm, world_group(4), 7);
    programs.push_back(script.done());
  }
  StarCluster star;
  star.devices_per_server = 4;

  const ExecutionTrace trace = trace_of(simulation_of(star.make(), programs), kWhole);

  EXPECT_EQ(trace.groups, (std::vector<std::vector<int>>{{0, 1, 2, 3}, {0, 1}, {2, 3}}));
  const TraceSums sums = sums_of(trace);
  EXPECT_EQ(sums.collectives, 8);
  EXPECT_EQ(sums.message_bytes, 12 * 7);
  EXPECT_EQ(chakra_groups(trace), "{\n  \"1\": [0, 1],\n  \"2\": [2, 3]\n}\n");
}

TEST(ExecutionTrace, OfAnotherEpochIsEmpty) {
  Script script;
  script.work(Lane::compute, 1);
  const Simulation s = simulation_of(StarCluster{}.make(), {script.done(), Script{}.done()});

  EXPECT_EQ(sums_of(trace_of(s, {{1, 1}, false})).nodes, 0);
}

/// Scripts at random: on a network that takes no time, the replay of a simulation ends when the
/// longest way through its trace does. (Kernels of different lanes have cores enough.)
TEST(ExecutionTrace, EndsWhenTheSimulationWithoutANetworkDoes) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Simulation s = random_simulation(seed);
    const ExecutionTrace trace = trace_of(s, kAll);

    bytes_between(trace);
    const auto seconds = seconds_of(s);
    const double expected = *std::max_element(seconds.begin(), seconds.end());
    EXPECT_NEAR(longest_way(trace), expected, 1e-9 * expected) << "seed " << seed;
  }
}

TEST(ExecutionTrace, IsReadBackFromChakra) {
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    for (const bool whole : {false, true}) {
      const ExecutionTrace trace = trace_of(random_simulation(seed), {{0, 1}, whole});
      const auto all = std::find_if(trace.groups.begin(), trace.groups.end(),
                                    [&](const auto& g) { return g.size() == trace.ranks.size(); });
      for (std::size_t r = 0; r < trace.ranks.size(); ++r)
        EXPECT_EQ(
            test::read_chakra(chakra_text(trace, static_cast<int>(r), "x"), static_cast<int>(r),
                              static_cast<int>(all - trace.groups.begin())),
            trace.ranks[r]);
    }
}

TEST(ExecutionTrace, IsReadBackFromGoal) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    ExecutionTrace trace = trace_of(random_simulation(seed), kAll);
    ExecutionTrace read = test::read_goal(goal_text(trace));
    for (std::size_t r = 0; r < trace.ranks.size(); ++r)
      for (std::size_t n = 0; n < trace.ranks[r].size(); ++n) {
        TraceNode& node = trace.ranks[r][n];
        EXPECT_NEAR(read.ranks.at(r).at(n).seconds, node.seconds, 0.51e-9);
        read.ranks[r][n].seconds = node.seconds;
        node.name.clear();  // GOAL has none of these
        node.flops = 0;
        if (node.type == Type::compute) node.bytes = 0;
      }
    EXPECT_EQ(read, trace);
  }
}

}  // namespace
}  // namespace orrery::sim
