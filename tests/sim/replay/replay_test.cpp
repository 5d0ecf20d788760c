#include "sim/replay/replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "sim/replay/wire.hpp"
#include "tests/sim/replay/script.hpp"

namespace orrery::sim {
namespace {

TEST(Replay, OneMessageIsLatencyPlusBytesOverRate) {
  Script sender, receiver;
  sender.send(Lane::comm, kPair, 1, 5e6);
  receiver.receive(Lane::comm, kPair, 0, 5e6);

  const auto seconds =
      seconds_of(simulation_of(StarCluster{}.make(), {sender.done(), receiver.done()}));

  EXPECT_NEAR(seconds.at(0), 1e-6 + 5e6 / 10e9, kExact);
  EXPECT_NEAR(seconds.at(1), 1e-6 + 5e6 / 10e9, kExact);
}

/// Two servers of two. In one call rank 0 sends to its neighbour, over a device's 10 GB/s, and
/// receives from the other server, over a NIC's 1 GB/s. Both are under way until the first one ends,
/// which is half of that time for each.
TEST(Replay, AnExchangeOfServersIsDividedByItsMessages) {
  StarCluster star;
  star.servers = 2;
  star.nic_latency = 0;
  constexpr double kBytes = 5e6;
  const Group all = world_group(4);
  std::vector<Script> scripts(4);
  scripts[0].call(Lane::comm, all, {CollectiveKind::send_recv, 1, 0, 1, 2, kBytes, kBytes});
  scripts[1].receive(Lane::comm, all, 0, kBytes);
  scripts[2].send(Lane::comm, all, 0, kBytes);
  std::vector<PricedProgram> programs;
  for (Script& script : scripts) programs.push_back(script.done());
  const Simulation s = simulation_of(star.make(), programs);

  const auto spent = breakdown_of(s, 0);

  const double inside = 1e-6 + kBytes / 10e9, outside = 1e-6 + kBytes / 1e9;
  EXPECT_NEAR(spent[0], inside / 2, kExact);
  EXPECT_NEAR(spent[1], outside - inside / 2, kExact);
  EXPECT_NEAR(spent[2], outside, kExact);
  EXPECT_DOUBLE_EQ(spent[3], spent[2]);
}

/// Rank 1 computes for a second first. Until then rank 0 has its messages with the other server,
/// four that share the NICs two by two, and then waits for its neighbour alone.
TEST(Replay, WaitingForANeighbourIsTimeInsideTheServer) {
  StarCluster star;
  star.servers = 2;
  star.nic_latency = 0;
  constexpr double kBytes = 5e6;
  std::vector<PricedProgram> programs;
  for (int r = 0; r < 4; ++r) {
    Script script;
    if (r == 1) {
      script.work(Lane::compute, 1);
      script.wait(Lane::comm, Lane::compute);
    }
    script.all_to_all(Lane::comm, world_group(4), kBytes);
    programs.push_back(script.done());
  }
  Simulation s = simulation_of(star.make(), programs);
  s.collectives.window = 3;

  const auto spent = breakdown_of(s, 0);

  const double outside = 1e-6 + kBytes / 0.5e9;
  EXPECT_NEAR(spent[1], outside, kExact);
  EXPECT_NEAR(spent[0], 1 + 1e-6 + kBytes / 9e9 - outside, kExact);
  EXPECT_DOUBLE_EQ(spent[3], spent[2]);
}

/// Rank 3 gets all data from its neighbour, at 10 GB/s, which gets them over a NIC of 1 GB/s. It waits
/// for the network, but for the moments in which its own data move.
TEST(Replay, WaitingForWhatANeighbourAwaitsFromTheNetworkIsTimeBetweenServers) {
  StarCluster star;
  star.servers = 2;
  constexpr double kBytes = 50e6;
  for (const std::string algorithm : {"ring", "chain"}) {
    std::vector<PricedProgram> programs;
    for (int r = 0; r < 4; ++r) {
      Script script;
      script.broadcast(Lane::comm, world_group(4), 0, kBytes);
      programs.push_back(script.done());
    }
    Simulation s = simulation_of(star.make(), programs);
    s.collectives.algorithm = algorithm;
    s.collectives.channels = 1;

    const auto spent = breakdown_of(s, 3), root = breakdown_of(s, 1);

    EXPECT_NEAR(spent[0], kBytes / 10e9, 0.02 * kBytes / 10e9) << algorithm;
    EXPECT_NEAR(spent[0] + spent[1], kBytes / 1e9, 0.03 * kBytes / 1e9) << algorithm;
    EXPECT_DOUBLE_EQ(spent[3], spent[2]) << algorithm;
    EXPECT_NEAR(root[0] + root[1], root[2], kExact) << algorithm;
  }
}

/// Broadcasts of all roots over three servers, in chunks, one behind the other beside kernels that
/// they slow down, with all that a device and a library add.
Simulation pipelined_broadcasts() {
  StarCluster star;
  star.servers = 3;
  star.devices_per_server = 4;
  std::vector<PricedProgram> programs;
  for (int r = 0; r < 12; ++r) {
    Script script;
    for (int root = 0; root < 12; ++root) {
      script.broadcast(Lane::comm, world_group(12), root, root % 3 == 0 ? 1e3 : 5e6);
      script.wait(Lane::compute, Lane::comm);
      script.work(Lane::compute, 1e-3 * (1 + (r + root) % 3));
      if (root % 2 == 1) script.wait(Lane::comm, Lane::compute);
    }
    programs.push_back(script.done());
  }
  Simulation s = simulation_of(star.make(), programs);
  s.collectives.algorithm = "hierarchical";
  s.collectives.channels = 1;
  s.behaviour = {2e-6, 3e-6, 5e-6, 1.25};
  s.library.issue_seconds = 4e-6;
  s.library.collective_seconds = 6e-6;
  s.library.message_seconds = 1e-6;
  return s;
}

TEST(Replay, BroadcastsBehindEachOtherTakeAsLongOnBothEngines) {
  const Simulation s = pipelined_broadcasts();

  const auto seconds = seconds_of(s);
  const auto of_head = breakdown_of(s, 4);

  EXPECT_EQ(seconds.size(), 12);
  EXPECT_GT(of_head[1], 0);
}

TEST(Replay, EpochsCostWhatTheirTimelinesSay) {
  Simulation s = pipelined_broadcasts();
  s.timeline_ranks = 12;
  Traffic traffic(s.cluster, connected_pairs(s));
  const auto network = make_fluid_interconnect(traffic.plan());

  const Replay made = replay(s, traffic, *network);

  ASSERT_EQ(made.timelines.size(), 12);
  for (const Timeline& t : made.timelines) {
    EXPECT_EQ(t.spans.size(), 24);
    const EpochCost& cost = made.epochs[static_cast<std::size_t>(t.rank)].at(0);
    EXPECT_EQ(cost.seconds, epoch_seconds(t.marks, 0));
    EXPECT_EQ(cost.breakdown, epoch_breakdown(t, 0));
  }
}

/// The ranks are of three kinds, by r mod 3.
TEST(Replay, TimelinesComeBackOfTheFirstTheMiddleAndTheLastOfEachKind) {
  Simulation s = pipelined_broadcasts();
  ScheduleInterner interner;
  for (PricedProgram& program : s.programs) program.schedule = interner.intern(program.schedule);
  const auto shown = [&](int most) {
    s.timeline_ranks = most;
    Traffic traffic(s.cluster, connected_pairs(s));
    const auto network = make_fluid_interconnect(traffic.plan());
    const Replay made = replay(s, traffic, *network);
    std::vector<int> ranks;
    int slowest = 0;
    for (int r = 0; r < 12; ++r)
      if (made.epochs[static_cast<std::size_t>(r)].at(0).seconds >
          made.epochs[static_cast<std::size_t>(slowest)].at(0).seconds)
        slowest = r;
    for (const Timeline& t : made.timelines) ranks.push_back(t.rank);
    EXPECT_TRUE(std::ranges::find(ranks, slowest) != ranks.end());
    return std::pair{ranks, slowest};
  };
  const auto expect = [&](int most, std::set<int> ranks) {
    const auto [got, slowest] = shown(most);
    ranks.insert(slowest);
    EXPECT_EQ(got, std::vector<int>(ranks.begin(), ranks.end()));
  };

  expect(12, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  expect(9, {0, 6, 9, 1, 7, 10, 2, 8, 11});
  expect(4, {0, 2, 7, 9});
}

/// Rank 2 sends nothing and is sent nothing: it leaves when it has come, and that takes as long as a
/// collective begins.
TEST(Replay, WhoHasNoMessagesLeavesWhenItHasCome) {
  std::vector<PricedProgram> programs;
  for (int r = 0; r < 3; ++r) {
    Script script;
    script.parts(r < 2 ? std::vector<double>{r == 0 ? 0 : 5e6, r == 1 ? 0 : 5e6, 0.0}
                       : std::vector<double>{0, 0, 0});
    script.call(Lane::comm, world_group(3),
                {CollectiveKind::all_to_all, 1, 0, -1, -1, 5e6, 5e6, 0});
    programs.push_back(script.done());
  }
  StarCluster star;
  star.devices_per_server = 3;
  Simulation s = simulation_of(star.make(), programs);
  s.library.collective_seconds = 1e-3;

  const auto seconds = seconds_of(s);

  EXPECT_NEAR(seconds.at(0), 1e-3 + 1e-6 + 5e6 / 10e9, kExact);
  EXPECT_NEAR(seconds.at(1), 1e-3 + 1e-6 + 5e6 / 10e9, kExact);
  EXPECT_NEAR(seconds.at(2), 1e-3, kExact);
}

TEST(Replay, RingAllReduceIsTheTextbookFormula) {
  for (const int p : {2, 3, 4, 8}) {
    StarCluster star;
    star.devices_per_server = p;
    std::vector<PricedProgram> programs;
    for (int r = 0; r < p; ++r) {
      Script script;
      script.all_reduce(Lane::comm, world_group(p), 24e6);
      programs.push_back(script.done());
    }
    Simulation s = simulation_of(star.make(), programs);
    s.collectives.algorithm = "ring";

    const auto seconds = seconds_of(s);

    const double expected = 2 * (p - 1) * (1e-6 + 24e6 / p / 10e9);
    for (const double t : seconds) EXPECT_NEAR(t, expected, 1e-9 * expected + kExact);
  }
}

TEST(Replay, MarksDeviceMemoryWhenTheHostComesToIt) {
  Script script;
  script.hold(100);
  script.work(Lane::compute, 2);
  script.sync(Lane::compute);
  script.hold(300);
  script.work(Lane::compute, 1);
  script.hold(50);

  const Simulation s = simulation_of(StarCluster{}.make(), {script.done(), Script{}.done()});
  const auto marks = on_both_engines(s, [&](Traffic& traffic, Interconnect& network) {
    std::vector<double> numbers;
    const Replay made = replay(s, traffic, network);
    for (const Timeline::MemoryMark& mark : made.timelines.at(0).memory) {
      numbers.push_back(mark.at);
      numbers.push_back(static_cast<double>(mark.device_bytes));
    }
    return numbers;
  });

  EXPECT_EQ(marks, (std::vector<double>{0, 100, 2, 300, 2, 50}));
}

/// Stage i: broadcast of b_i seconds into buffer i mod 2, then a product of s_i seconds; broadcast
/// i waits for product i − 2.
std::vector<PricedProgram> two_buffers(const std::vector<double>& bytes,
                                       const std::vector<double>& products) {
  std::vector<PricedProgram> programs;
  for (int r = 0; r < 2; ++r) {
    Script script;
    std::vector<std::uint32_t> ends;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (i >= 2) script.wait(Lane::comm, Lane::compute, ends[i - 2]);
      script.broadcast(Lane::comm, kPair, static_cast<int>(i % 2), bytes[i]);
      script.wait(Lane::compute, Lane::comm);
      script.work(Lane::compute, products[i]);
      ends.push_back(script.position(Lane::compute));
    }
    programs.push_back(script.done());
  }
  return programs;
}

TEST(Replay, TwoBuffersOverlapAsTheFormulaSays) {
  // T = b_0 + Σ max(b_i, s_{i−1}) + s_last, b_i = 1 us + n_i / 10 GB/s: 101, 301, 51, 201 us.
  const std::vector<double> bytes{1e6, 3e6, 0.5e6, 2e6}, products{200e-6, 100e-6, 150e-6, 80e-6};

  const auto seconds =
      seconds_of(simulation_of(StarCluster{}.make(), two_buffers(bytes, products)));

  // 101 + max(301, 200) + max(51, 100) + max(201, 150) + 80: product 1 begins at 402, ends at 502;
  // broadcast 2 waits for product 0 (ends at 301) and for broadcast 1 (402): 402 to 453; product 2
  // from 502 to 652; broadcast 3 waits for product 1 (502): 502 to 703; product 3: 703 to 783.
  EXPECT_NEAR(seconds.at(0), 783e-6, kExact);
  EXPECT_NEAR(seconds.at(1), 783e-6, kExact);
}

TEST(Replay, ASlowerLinkTakesLonger) {
  const auto epoch = [](double rate) {
    StarCluster star;
    star.device_rate = rate;
    return seconds_of(simulation_of(star.make(), two_buffers({1e7, 1e7}, {1e-6, 1e-6}))).at(0);
  };

  EXPECT_NEAR(epoch(5e9) - epoch(10e9), 2e7 / 10e9, 1e-9);
}

TEST(Replay, DevicesBehindOneAdapterContend) {
  // Each of the four devices of server 0 sends 1 MB to its partner in server 1 over one 1 GB/s NIC.
  StarCluster star;
  star.servers = 2;
  star.devices_per_server = 4;
  std::vector<PricedProgram> programs;
  for (int r = 0; r < 8; ++r) {
    Script script;
    const Group pair{0, r % 4, 2, 4};
    if (r < 4)
      script.send(Lane::comm, pair, 1, 1e6);
    else
      script.receive(Lane::comm, pair, 0, 1e6);
    programs.push_back(script.done());
  }

  const auto seconds = seconds_of(simulation_of(star.make(), programs));

  for (const double t : seconds) EXPECT_NEAR(t, 1e-6 + 5e-6 + 4e6 / 1e9, kExact);
}

TEST(Replay, KernelsSlowDownWhileTheirDeviceCommunicates) {
  Script sender, receiver;
  for (Script* s : {&sender, &receiver}) s->work(Lane::compute, 1e-3);
  sender.send(Lane::comm, kPair, 1, 2e6);
  receiver.receive(Lane::comm, kPair, 0, 2e6);
  Simulation s = simulation_of(StarCluster{}.make(), {sender.done(), receiver.done()});
  s.behaviour.communication_slowdown = 1.25;

  const auto seconds = seconds_of(s);

  const double message = 1e-6 + 2e6 / 10e9;
  EXPECT_NEAR(seconds.at(0), message + (1e-3 - message / 1.25), kExact);
}

TEST(Replay, RanksShareTheCoresOfACpu) {
  StarCluster star;
  star.devices_per_server = 1;
  star.cores = 2;
  const auto epoch = [&](int ranks, int threads) {
    std::vector<PricedProgram> programs;
    for (int r = 0; r < ranks; ++r) {
      Script script;
      script.work(Lane::compute, 1e-3, threads);
      programs.push_back(script.done());
    }
    Simulation s = simulation_of(star.make(), programs);
    std::fill(s.devices.begin(), s.devices.end(), 0);
    return seconds_of(s).at(0);
  };

  EXPECT_NEAR(epoch(2, 1), 1e-3, kExact);
  EXPECT_NEAR(epoch(4, 1), 2e-3, kExact);
  EXPECT_NEAR(epoch(3, 2), 3e-3, kExact);
}

TEST(Replay, ServersOnOneMachineShareItsCores) {
  StarCluster star;
  star.servers = 4;
  star.devices_per_server = 1;
  star.cores = 1;
  Cluster cluster = star.make();
  const auto epochs = [&] {
    std::vector<PricedProgram> programs;
    for (const double seconds : {1e-3, 2e-3, 3e-3, 4e-3}) {
      Script script;
      script.work(Lane::compute, seconds, 1);
      programs.push_back(script.done());
    }
    return seconds_of(simulation_of(cluster, programs));
  };
  EXPECT_NEAR(epochs().at(0), 1e-3, kExact);

  cluster.servers_per_machine = 2;  // 0 and 2 on one core, 1 and 3 on the other
  validate(cluster);
  const auto shared = epochs();

  EXPECT_NEAR(shared.at(0), 2e-3, kExact);
  EXPECT_NEAR(shared.at(2), 4e-3, kExact);
  EXPECT_NEAR(shared.at(1), 4e-3, kExact);
  EXPECT_NEAR(shared.at(3), 6e-3, kExact);
  cluster.servers_per_machine = 3;
  EXPECT_THROW(validate(cluster), ConfigError);
}

TEST(Replay, CopiesTakeACoreFromKernels) {
  // Two ranks on two cores, each computing 1 ms with two threads (so both at half speed); rank 1
  // also copies 1 MB at 1 GB/s, a fifth thread: everything runs at 2/5 until the kernels are done.
  StarCluster star;
  star.devices_per_server = 1;
  star.cores = 2;
  Script sender, receiver;
  for (Script* s : {&sender, &receiver}) s->work(Lane::compute, 1e-3, 2);
  sender.send(Lane::comm, kPair, 1, 1e6);
  receiver.receive(Lane::comm, kPair, 0, 1e6);
  Simulation s = simulation_of(star.make(), {sender.done(), receiver.done()});
  s.devices = {0, 0};
  s.library.copy_bytes_per_second = 1e9;

  const auto seconds = seconds_of(s);

  EXPECT_NEAR(seconds.at(0), 1e-3 * 5 / 2, kExact);
  EXPECT_NEAR(seconds.at(1), 1e-3 * 5 / 2, kExact);
}

TEST(Replay, CopiesHaveTheRateOfTheirSize) {
  // 1 GB/s at 10 kB and a quarter of it at 1 MB: half of it at their geometric mean.
  StarCluster star;
  star.devices_per_server = 1;
  star.cores = 2;
  const auto copy = [&](double bytes) {
    Script sender, receiver;
    sender.send(Lane::comm, kPair, 1, bytes);
    receiver.receive(Lane::comm, kPair, 0, bytes);
    Simulation s = simulation_of(star.make(), {sender.done(), receiver.done()});
    s.devices = {0, 0};
    s.library.copy_bytes_per_second = RateBySize({{1e4, 1e9}, {1e6, 2.5e8}});
    return seconds_of(s).at(1);
  };

  EXPECT_NEAR(copy(1e3), 1e-6, kExact);
  EXPECT_NEAR(copy(1e5), 1e5 / 5e8, kExact);
  EXPECT_NEAR(copy(1e6), 4e-3, kExact);
  EXPECT_NEAR(copy(4e6), 16e-3, kExact);
}

TEST(Replay, TheHostIssuesInOrderAndOneHostServesAllDevicesOfAServer) {
  const auto epoch = [](Hosts hosts) {
    std::vector<PricedProgram> programs;
    for (int r = 0; r < 2; ++r) {
      Script script;
      for (int i = 0; i < 10; ++i) script.work(Lane::compute, 1e-6);
      programs.push_back(script.done());
    }
    Simulation s = simulation_of(StarCluster{}.make(), programs);
    s.behaviour.issue_seconds = 5e-6;
    s.hosts = hosts;
    return seconds_of(s);
  };

  EXPECT_NEAR(epoch(Hosts::per_rank).at(0), 10 * 5e-6 + 1e-6, kExact);
  EXPECT_NEAR(epoch(Hosts::per_server).at(1), 20 * 5e-6 + 1e-6, kExact);
}

TEST(Replay, HandOversAndSynchronisationCostTime) {
  Script script;
  script.work(Lane::compute, 1e-3);
  script.wait(Lane::copy, Lane::compute);
  script.work(Lane::copy, 1e-3);
  script.work(Lane::copy, 1e-3);
  Simulation s = simulation_of(StarCluster{}.make(), {script.done()});
  s.behaviour.handover_seconds = 10e-6;
  s.behaviour.sync_seconds = 7e-6;

  // Both lanes wake up once; the host waits for compute, then for copy.
  EXPECT_NEAR(seconds_of(s).at(0), 3e-3 + 2 * 10e-6 + 7e-6, kExact);
}

/// The second kernel of the compute lane has the core of the machine while the copy lane wakes: the core
/// does 3 ms of work and wakes two lanes, nothing at the same time.
TEST(Replay, WhoWakesOnAMachineTakesACore) {
  Script script;
  script.work(Lane::compute, 1e-3);
  script.wait(Lane::copy, Lane::compute);
  script.work(Lane::compute, 1e-3);
  script.work(Lane::copy, 1e-3);
  StarCluster star;
  star.cores = 1;
  Simulation s = simulation_of(star.make(), {script.done()});
  s.behaviour.handover_seconds = 10e-6;

  EXPECT_NEAR(seconds_of(s).at(0), 3e-3 + 2 * 10e-6, kExact);
}

/// Two ranks have one core: one computes first and the other after it, where sharing the core would let both
/// take twice as long. Who waits for the other has not computed meanwhile.
TEST(Replay, RanksTakeTurnsOnTheCoreOfAMachine) {
  std::vector<PricedProgram> programs;
  for (int r = 0; r < 2; ++r) {
    Script script;
    script.work(Lane::compute, 1e-3);
    script.work(Lane::compute, 1e-3);
    programs.push_back(script.done());
  }
  StarCluster star;
  star.cores = 1;
  star.devices_per_server = 1;
  Simulation s = simulation_of(star.make(), programs);
  s.devices = {0, 0};
  const auto spans = [&](double turn) {
    s.behaviour.turn_seconds = turn;
    return on_both_engines(s, [&](Traffic& traffic, Interconnect& network) {
      std::vector<double> times;
      for (const Timeline& timeline : replay(s, traffic, network).timelines)
        for (const Span& span : timeline.spans) {
          times.push_back(1e3 * span.begin);
          times.push_back(1e3 * span.end);
        }
      return times;
    });
  };
  const auto expect = [](const std::vector<double>& found, const std::vector<double>& meant) {
    ASSERT_EQ(found.size(), meant.size());
    for (std::size_t i = 0; i < meant.size(); ++i) EXPECT_NEAR(found[i], meant[i], 1e-8) << i;
  };

  expect(spans(0), {0, 2, 2, 4, 0, 2, 2, 4});
  expect(spans(3e-3), {0, 1, 1, 2, 2, 3, 3, 4});
  // The first turn ends amid the second kernel.
  expect(spans(1.5e-3), {0, 1, 1, 3.5, 1.5, 2.5, 2.5, 4});
}

/// Two ranks compute and meet, many times. The later of two normal numbers is on average the deviation over
/// the root of pi above their mean (the skew of a log-normal one adds less than the tolerance); one rank
/// alone takes the mean.
TEST(Replay, RanksWaitForTheOneWhoseOperationHappensToTakeLonger) {
  constexpr int kTimes = 600;
  constexpr double kVariation = 0.1;
  const auto seconds = [](int ranks) {
    std::vector<PricedProgram> programs;
    for (int r = 0; r < ranks; ++r) {
      Script script;
      for (int i = 0; i < kTimes; ++i) {
        script.work(Lane::compute, 1e-3);
        script.wait(Lane::comm, Lane::compute);
        if (ranks > 1) script.all_reduce(Lane::comm, world_group(ranks), 4);
        script.wait(Lane::compute, Lane::comm);
      }
      programs.push_back(script.done());
    }
    StarCluster star;
    star.device_latency = 1e-9;
    Simulation s = simulation_of(star.make(), programs);
    s.behaviour.variation = kVariation;
    return seconds_of(s).at(0) / (kTimes * 1e-3);
  };

  EXPECT_NEAR(seconds(1), 1, 0.015);
  EXPECT_NEAR(seconds(2), 1 + kVariation / std::sqrt(std::numbers::pi), 0.015);
}

TEST(Replay, RanksThatWaitForEachOtherForEverAreAnError) {
  Script first, second;
  first.send(Lane::comm, kPair, 1, 1);
  first.receive(Lane::comm, kPair, 1, 1);
  second.send(Lane::comm, kPair, 0, 1);
  Simulation s = simulation_of(StarCluster{}.make(), {first.done(), second.done()});

  const auto outcome =
      on_both_engines(s, [&](Traffic& traffic, Interconnect& network) -> std::vector<double> {
        try {
          replay(s, traffic, network);
        } catch (const ProgramError& error) {
          return {static_cast<double>(error.rank)};
        }
        return {-1};
      });

  EXPECT_EQ(outcome.at(0), 0);
}

TEST(Replay, CountsWhatPassesEachLink) {
  Script sender, receiver;
  sender.send(Lane::comm, kPair, 1, 5e6);
  receiver.receive(Lane::comm, kPair, 0, 5e6);
  const Simulation s = simulation_of(StarCluster{}.make(), {sender.done(), receiver.done()});

  const auto numbers = on_both_engines(s, [&](Traffic& traffic, Interconnect& network) {
    std::vector<double> list;
    for (const LinkUse& link : replay(s, traffic, network).links) {
      list.push_back(link.bytes);
      list.push_back(link.busy_seconds);
    }
    return list;
  });

  ASSERT_EQ(numbers.size(), 4U);
  for (const std::size_t link : {0U, 1U}) {
    EXPECT_EQ(numbers[2 * link], 5e6);
    EXPECT_NEAR(numbers[2 * link + 1], 1e-6 + 5e6 / 10e9, kExact);
  }
}

/// Seconds until rank 0 has sent `there` bytes to rank 1 of another server and received `back`, at
/// the same time, over cables of 1 GB/s each way and `both` in both together; and what passed the
/// cables, summed by type.
std::map<std::string, double> opposite_flows(double there, double back, double both) {
  Cluster cluster = StarCluster{.servers = 2, .devices_per_server = 1, .device_rate = 1e15}.make();
  for (ClusterLink& link : cluster.links)
    if (link.type == "net") link.both_bytes_per_second = both;
  Script first, second;
  if (there > 0) {
    first.send(Lane::comm, kPair, 1, there);
    second.receive(Lane::comm, kPair, 0, there);
  }
  if (back > 0) {
    first.receive(Lane::comm2, kPair, 1, back);
    second.send(Lane::comm2, kPair, 0, back);
  }
  const Simulation s = simulation_from(
      to_bytes(simulation_of(cluster, {first.done(), second.done()})));  // as the simulator gets it
  const auto numbers = on_both_engines(s, [&](Traffic& traffic, Interconnect& network) {
    const Replay made = replay(s, traffic, network);
    std::vector<double> list{made.epochs.at(0).at(0).seconds, 0, 0};
    for (const LinkUse& link : made.links) {
      if (link.type == "net") list[1] += link.bytes;
      if (link.type == "net (both ways)") list[2] += link.bytes;
    }
    return list;
  });
  return {{"seconds", numbers.at(0)}, {"each way", numbers.at(1)}, {"both ways", numbers.at(2)}};
}

TEST(Replay, OppositeFlowsShareTheTotalOfTheirCables) {
  // Half of 1.25 GB/s each until 1 MB has come back after 1.6 ms; then the other 3 MB at 1 GB/s.
  // The latency, of two cables and two buses, counts once.
  auto made = opposite_flows(4e6, 1e6, 1.25e9);

  EXPECT_NEAR(made["seconds"], 6e-6 + 1.6e-3 + 3e-3, 1e-9);
  EXPECT_EQ(made["each way"], 2 * 5e6);  // two cables
  EXPECT_EQ(made["both ways"], 2 * 5e6);
}

TEST(Replay, OneFlowAloneHasTheRateOfItsDirection) {
  EXPECT_NEAR(opposite_flows(4e6, 0, 1.25e9)["seconds"], 6e-6 + 4e-3, 1e-9);
}

TEST(Replay, OppositeFlowsWithoutATotalDoNotHinderEachOther) {
  for (const double both : {0.0, 2e9}) {
    auto made = opposite_flows(4e6, 1e6, both);

    EXPECT_NEAR(made["seconds"], 6e-6 + 4e-3, 1e-9);
    EXPECT_EQ(made["both ways"], 0);
  }
}

}  // namespace
}  // namespace orrery::sim
