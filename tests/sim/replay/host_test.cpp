// Tasks of hosts in the replay: times that can be derived on paper, and by brute force.
#include "sim/cores/host.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "core/base/error.hpp"
#include "core/runtime/recorder.hpp"
#include "sim/replay/wire.hpp"
#include "tests/sim/replay/script.hpp"

namespace orrery::sim {
namespace {

/// One server with a host of this many cores.
StarCluster with_host(int cores, double bytes_per_second = 0) {
  StarCluster star;
  star.host_cores = cores;
  star.host_bytes_per_second = bytes_per_second;
  return star;
}

Cluster one_machine(int cores) {
  StarCluster star;
  star.devices_per_server = 1;
  star.cores = cores;
  return star.make();
}

double epoch_of(const Cluster& cluster, std::vector<PricedProgram> programs) {
  return seconds_of(simulation_of(cluster, std::move(programs))).at(0);
}

TEST(HostTasks, RunBesideKernels) {
  Script script;
  script.task(Lane::sampler, 2e-3);
  script.work(Lane::compute, 3e-3);
  script.sync(Lane::sampler);

  EXPECT_NEAR(epoch_of(with_host(4).make(), {script.done()}), 3e-3, kExact);
}

TEST(HostTasks, KeepTheirCoreWhileTheyWaitForMemory) {
  // On the only core a task comes after a kernel of 2 ms. It computes for 1 ms, and its bytes take 3.
  StarCluster star;
  star.devices_per_server = 1;
  star.cores = 1;
  Script script;
  script.work(Lane::compute, 2e-3);
  script.task(Lane::sampler, 1e-3, 1, 3e6);
  script.sync(Lane::sampler);
  Simulation s = simulation_of(star.make(), {script.done()});
  s.cluster.devices[0].memory_bytes_per_second = 1e9;
  s.behaviour.turn_seconds = 4e-3;

  const auto numbers = on_both_engines(s, [&](Traffic& traffic, Interconnect& network) {
    const Timeline made = replay(s, traffic, network).timelines.at(0);
    return std::vector{made.spans.back().begin, made.spans.back().end};
  });

  EXPECT_NEAR(numbers.at(0), 2e-3, kExact);
  EXPECT_NEAR(numbers.at(1), 5e-3, kExact);
}

TEST(HostTasks, BlockTheHostThatJoinsThem) {
  Script script;
  script.task(Lane::sampler, 5e-3);
  script.sync(Lane::sampler);  // a join does this
  script.work(Lane::compute, 1e-3);

  EXPECT_NEAR(epoch_of(with_host(4).make(), {script.done()}), 6e-3, kExact);
}

TEST(HostTasks, OfOneLaneFollowEachOther) {
  Script script;
  for (int i = 0; i < 3; ++i) script.task(Lane::store, 2e-3);
  script.sync(Lane::store);

  EXPECT_NEAR(epoch_of(with_host(4).make(), {script.done()}), 6e-3, kExact);
}

TEST(HostTasks, WithMoreThreadsThanCoresTakeTurns) {
  // Six threads on four cores: 1.5 times as long.
  Script script;
  script.task(Lane::sampler, 2e-3, 3);
  script.task(Lane::store, 2e-3, 3);
  script.sync(Lane::sampler);
  script.sync(Lane::store);

  EXPECT_NEAR(epoch_of(with_host(4).make(), {script.done()}), 3e-3, kExact);
}

TEST(HostTasks, OfAllRanksOfAServerShareItsHost) {
  const auto programs = [] {
    Script script;
    script.task(Lane::sampler, 1e-3, 4);
    script.sync(Lane::sampler);
    return std::vector{script.done(), script.done()};
  };
  StarCluster two_servers = with_host(4);
  two_servers.servers = 2;
  two_servers.devices_per_server = 1;

  EXPECT_NEAR(epoch_of(with_host(4).make(), programs()), 2e-3, kExact);
  EXPECT_NEAR(epoch_of(two_servers.make(), programs()), 1e-3, kExact);
}

TEST(HostTasks, TakeTheCoresOfKernelsWhereTheDeviceIsTheMachine) {
  // Two threads of a kernel and two of a task on two cores: both at half speed.
  Script script;
  script.work(Lane::compute, 1e-3, 2);
  script.task(Lane::sampler, 1e-3, 2);
  script.sync(Lane::sampler);

  EXPECT_NEAR(epoch_of(one_machine(2), {script.done()}), 2e-3, kExact);
}

TEST(HostTasks, FindTheCoresOfAMachineWithTheServerToo) {
  Cluster cluster = one_machine(0);
  cluster.host.cores = 2;
  Script script;
  script.work(Lane::compute, 1e-3, 2);
  script.task(Lane::sampler, 1e-3, 2);
  script.sync(Lane::sampler);

  EXPECT_NEAR(epoch_of(cluster, {script.done()}), 2e-3, kExact);
}

TEST(HostTasks, ShareTheRateOfTheMemory) {
  // 4 MB at 2 GB/s are 2 ms alone and 4 ms beside another of the same bytes; a third computes for
  // 5 ms and touches nothing.
  Script alone, two, three;
  for (Script* s : {&alone, &two, &three}) s->task(Lane::sampler, 1e-3, 1, 4e6);
  for (Script* s : {&two, &three}) s->task(Lane::store, 1e-3, 1, 4e6);
  three.task(Lane::host, 5e-3);
  for (Script* s : {&alone, &two, &three})
    for (const Lane lane : {Lane::sampler, Lane::store, Lane::host}) s->sync(lane);
  const Cluster cluster = with_host(4, 2e9).make();

  EXPECT_NEAR(epoch_of(cluster, {alone.done()}), 2e-3, kExact);
  EXPECT_NEAR(epoch_of(cluster, {two.done()}), 4e-3, kExact);
  EXPECT_NEAR(epoch_of(cluster, {three.done()}), 5e-3, kExact);
}

TEST(HostTasks, OfAMachineUseItsMemory) {
  Cluster cluster = one_machine(4);
  cluster.devices[0].memory_bytes_per_second = 1e9;
  Script script;
  script.task(Lane::sampler, 1e-3, 1, 4e6);
  script.sync(Lane::sampler);

  EXPECT_NEAR(epoch_of(cluster, {script.done()}), 4e-3, kExact);
}

/// A task of this many threads, then ten kernels of a microsecond, issued in 100 us each.
PricedProgram issues_beside_a_task(double seconds, int threads) {
  Script script;
  script.task(Lane::sampler, seconds, threads);
  for (int i = 0; i < 10; ++i) script.work(Lane::compute, 1e-6);
  return script.done();
}

double slowed_issue(const Cluster& cluster, double seconds, int threads,
                    Hosts hosts = Hosts::per_rank) {
  Simulation s = simulation_of(cluster, {issues_beside_a_task(seconds, threads)});
  s.behaviour.issue_seconds = 100e-6;
  s.hosts = hosts;
  return seconds_of(s).at(0);
}

TEST(HostIssue, SlowsDownBesideTasksOnTheSameCores) {
  // The task is issued after 100 us; then it and the thread that issues ask for four threads of one
  // core, so that the ten kernels are issued in 4 x 1 ms.
  EXPECT_NEAR(slowed_issue(with_host(1).make(), 10e-3, 3), 100e-6 + 4e-3 + 1e-6, kExact);
}

TEST(HostIssue, GoesOnAtFullSpeedWhenTheTaskHasEnded) {
  // The task's 0.2 ms take 0.4 beside the issue of 0.2 ms; 0.8 ms of issue are left then.
  EXPECT_NEAR(slowed_issue(with_host(1).make(), 0.2e-3, 1), (100 + 400 + 800) * 1e-6 + 1e-6,
              kExact);
}

TEST(HostIssue, TakesACoreFromTasks) {
  // The task's 10 ms on the one core: 1 ms is done in the 2 ms beside the issue of 1 ms.
  Script script;
  script.task(Lane::sampler, 10e-3);
  for (int i = 0; i < 10; ++i) script.work(Lane::compute, 1e-6);
  script.sync(Lane::sampler);
  Simulation s = simulation_of(with_host(1).make(), {script.done()});
  s.behaviour.issue_seconds = 100e-6;

  EXPECT_NEAR(seconds_of(s).at(0), 100e-6 + 2e-3 + 9e-3, kExact);
}

TEST(HostIssue, IsAsItWasWhileThereAreCoresEnough) {
  const double without = slowed_issue(with_host(1).make(), 0, 1);

  EXPECT_EQ(slowed_issue(with_host(2).make(), 0.3e-3, 1), without);
  EXPECT_EQ(slowed_issue(with_host(40).make(), 10e-3, 39), without);
  EXPECT_EQ(slowed_issue(one_machine(1), 0, 1), without);
}

TEST(HostIssue, OfOneProcessForAllRanksTakesOneCore) {
  const auto epoch = [](Hosts hosts) {
    std::vector<PricedProgram> programs;
    for (int r = 0; r < 2; ++r) {
      Script script;
      for (int i = 0; i < 10; ++i) script.work(Lane::compute, 1e-6);
      programs.push_back(script.done());
    }
    Simulation s = simulation_of(with_host(1).make(), programs);
    s.behaviour.issue_seconds = 5e-6;
    s.hosts = hosts;
    return seconds_of(s).at(1);
  };

  EXPECT_NEAR(epoch(Hosts::per_server), 20 * 5e-6 + 1e-6, kExact);
  EXPECT_NEAR(epoch(Hosts::per_rank), 20 * 5e-6 + 1e-6, kExact);  // two on one core: as slow
}

TEST(HostIssue, EndsSpansAndPhasesAtTheSameTimes) {
  // The second phase begins when the host has issued the kernels, slowed down by a task that began
  // after the host had come there on paper.
  Script script;
  script.task(Lane::sampler, 10e-3, 3);
  for (int i = 0; i < 10; ++i) script.work(Lane::compute, 1e-6);
  script.hold(7);
  Simulation s = simulation_of(with_host(1).make(), {script.done()});
  s.behaviour.issue_seconds = 100e-6;

  const auto numbers = on_both_engines(s, [&](Traffic& traffic, Interconnect& network) {
    const Timeline made = replay(s, traffic, network).timelines.at(0);
    return std::vector{made.memory.at(0).at, made.spans.back().begin};
  });

  EXPECT_NEAR(numbers.at(0), 4.1e-3, kExact);
  EXPECT_NEAR(numbers.at(1), 4.1e-3, kExact);
}

TEST(NetworkStack, SharesTheCoresOfTheHost) {
  // 1 MB between two servers: 1 ms of a core at each end, longer than the wire takes. At the
  // sender's one core a task of 3 ms is under way: until the message's part is over, after 2 ms,
  // both go at half speed.
  StarCluster star = with_host(1);
  star.servers = 2;
  star.devices_per_server = 1;
  star.nic_rate = 100e9;
  const Group pair{0, 0, 2, 1};
  const auto epochs = [&](bool busy) {
    Script sender, receiver;
    if (busy) sender.task(Lane::sampler, 3e-3);
    sender.send(Lane::comm, pair, 1, 1e6);
    if (busy) sender.sync(Lane::sampler);
    receiver.receive(Lane::comm, pair, 0, 1e6);
    Simulation s = simulation_of(star.make(), {sender.done(), receiver.done()});
    s.library.core_seconds_per_byte = 1e-9;
    return seconds_of(s);
  };

  EXPECT_NEAR(epochs(false).at(0), 1e-3, kExact);
  EXPECT_NEAR(epochs(true).at(0), 4e-3, kExact);
  EXPECT_NEAR(epochs(true).at(1), 2e-3, kExact);
}

/// The error of the replay of a simulation; "" if there is none.
std::string refusal(const Simulation& s) {
  const auto letters =
      on_both_engines(s, [&](Traffic& traffic, Interconnect& network) -> std::vector<double> {
        try {
          replay(s, traffic, network);
        } catch (const ConfigError& error) {
          const std::string text = error.what();
          return {text.begin(), text.end()};
        }
        return {};
      });
  std::string text;
  for (const double letter : letters) text += static_cast<char>(letter);
  return text;
}

TEST(HostTasks, AreRefusedWhereTheClusterSaysNothingOfHosts) {
  Script computes, moves;
  computes.task(Lane::sampler, 1e-3);
  moves.task(Lane::sampler, 1e-3, 1, 100);
  Cluster silent = with_host(4).make();
  silent.host.cores = 0;

  EXPECT_EQ(refusal(simulation_of(silent, {computes.done()})).rfind("server.host_cores: ", 0), 0U);
  EXPECT_EQ(
      refusal(simulation_of(one_machine(0), {computes.done()})).rfind("server.host_cores: ", 0),
      0U);
  EXPECT_EQ(refusal(simulation_of(with_host(4).make(), {moves.done()}))
                .rfind("server.host_memory_bytes_per_second: ", 0),
            0U);
  EXPECT_EQ(refusal(simulation_of(with_host(4).make(), {computes.done()})), "");
}

TEST(HostTasks, AreSpansOfTheirLanesAndPartsOfTheEpoch) {
  Script script;
  script.task(Lane::sampler, 2e-3);
  script.task(Lane::store, 5e-3);
  script.work(Lane::compute, 1e-3);
  for (const Lane lane : {Lane::sampler, Lane::store}) script.sync(lane);
  const Simulation s = simulation_of(with_host(4).make(), {script.done()});

  const auto numbers = on_both_engines(s, [&](Traffic& traffic, Interconnect& network) {
    const Replay made = replay(s, traffic, network);
    std::vector<double> list;
    for (const Lane lane : {Lane::sampler, Lane::store})
      for (const Span& span : made.timelines.at(0).spans)
        if (span.lane == lane && span.kind == "host") list.push_back(span.end - span.begin);
    const Breakdown& parts = made.epochs.at(0).at(0).breakdown;
    for (const double part : {parts.compute, parts.sample, parts.load, parts.other})
      list.push_back(part);
    return list;
  });

  // Computation goes before loading, which goes before sampling.
  const std::vector<double> expected{2e-3, 5e-3, 1e-3, 0, 4e-3, 0};
  ASSERT_EQ(numbers.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(numbers[i], expected[i], kExact);
}

/// Fills cost by their bytes only; a kind of task by its items and bytes.
DeviceProfile by_hand() {
  DeviceProfile profile;
  profile.name = "by hand";
  profile.roofline.bytes_per_second = 1e9;
  profile.roofline.flops_per_second = 1e12;
  profile.roofline.cache_bytes_per_second = 1e12;
  profile.roofline.by_kind["fill"] = {1, 1};
  profile.host["draw"] = {1e-3, 2e-6, 0, 1};
  return profile;
}

/// The program of a strategy: a task is drawn during a kernel of 4 ms, the host joins it, and gives
/// the device a kernel of 2 ms.
Program recorded(std::int64_t items, int threads) {
  Recorder rt({});
  rt.phase({Stage::forward, 0});
  const Tensor x = rt.alloc({1000, 1000}, DType::f32, Space::device, "x");
  const Tensor half = rt.alloc({500, 1000}, DType::f32, Space::device, "half");
  const Task task = rt.host(Lane::sampler, [&] { return HostWork{"draw", items, 0, threads}; });
  rt.submit(Lane::compute, Fill{x, 0});
  rt.join(task);
  rt.submit(Lane::compute, Fill{half, 0});
  rt.sync(rt.record(Lane::compute));
  rt.phase({Stage::evaluate, 0});
  return rt.program();
}

TEST(HostTasks, OfARecordedProgramAreReplayedAndJoined) {
  const auto epoch = [](std::int64_t items, int threads) {
    return epoch_of(with_host(4).make(), {price(recorded(items, threads), by_hand(), 1)});
  };

  EXPECT_NEAR(epoch(1000, 1), 4e-3 + 2e-3, kExact);          // 1 + 2 ms lie under 4 ms
  EXPECT_NEAR(epoch(5000, 1), 1e-3 + 10e-3 + 2e-3, kExact);  // the host waits for 11 ms
  EXPECT_NEAR(epoch(5000, 4), 4e-3 + 2e-3, kExact);          // 1 + 2.5 ms lie under it again
  EXPECT_NEAR(epoch(5000, 8), 2 * (1e-3 + 1.25e-3) + 2e-3, kExact);  // on four cores
}

struct RandomTask {
  double seconds;
  int threads;
  double bytes;
};

/// When lanes of tasks are done, by taking turns on paper: from one end of a part to the next.
double brute_force(const std::vector<std::vector<RandomTask>>& lanes, int cores, double rate) {
  struct Running {
    std::size_t next = 0;
    double seconds = 0, bytes = 0;
    bool busy = false;
  };
  std::vector<Running> state(lanes.size());
  for (double now = 0;;) {
    int threads = 0, moving = 0;
    bool any = false;
    for (std::size_t l = 0; l < lanes.size(); ++l) {
      Running& lane = state[l];
      if (!lane.busy && lane.next < lanes[l].size())
        lane = {lane.next, lanes[l][lane.next].seconds, lanes[l][lane.next].bytes, true};
      if (!lane.busy) continue;
      any = true;
      threads += lane.seconds > 0 ? lanes[l][lane.next].threads : 0;
      moving += lane.bytes > 0 ? 1 : 0;
    }
    if (!any) return now;
    const double speed = threads > cores ? static_cast<double>(cores) / threads : 1;
    double step = 1e9;
    for (const Running& lane : state) {
      if (!lane.busy) continue;
      if (lane.seconds > 0) step = std::min(step, lane.seconds / speed);
      if (lane.bytes > 0) step = std::min(step, lane.bytes / (rate / moving));
    }
    for (Running& lane : state) {
      if (!lane.busy) continue;
      lane.seconds -= step * speed;
      if (moving > 0) lane.bytes -= step * rate / moving;
      if (lane.seconds < 1e-15) lane.seconds = 0;
      if (lane.bytes < 1e-6) lane.bytes = 0;
      if (lane.seconds > 0 || lane.bytes > 0) continue;
      lane.busy = false;
      ++lane.next;
    }
    now += step;
  }
}

TEST(HostTasks, TakeAsLongAsBruteForceSays) {
  std::mt19937 random(7);
  const auto draw = [&](int most) {
    return static_cast<int>(random() % static_cast<unsigned>(most));
  };
  for (int trial = 0; trial < 20; ++trial) {
    const int cores = 1 + draw(6);
    const double rate = 1e9;
    std::vector<std::vector<RandomTask>> lanes;
    std::vector<PricedProgram> programs;
    for (int r = 0; r < 2; ++r) {
      Script script;
      for (const Lane lane : {Lane::sampler, Lane::store, Lane::host}) {
        auto& tasks = lanes.emplace_back();
        for (int n = draw(5); n >= 0; --n) {
          tasks.push_back({(1 + draw(999)) * 1e-6, 1 + draw(4), draw(3) * 1e5 * draw(10)});
          script.task(lane, tasks.back().seconds, tasks.back().threads, tasks.back().bytes);
        }
      }
      for (const Lane lane : {Lane::sampler, Lane::store, Lane::host}) script.sync(lane);
      programs.push_back(script.done());
    }

    const auto seconds = seconds_of(simulation_of(with_host(cores, rate).make(), programs));

    EXPECT_NEAR(std::max(seconds.at(0), seconds.at(1)), brute_force(lanes, cores, rate), 1e-9);
  }
}

TEST(HostClock, GivesBackTheTimesOfAllTurns) {
  HostClock clock;

  clock.turn(10, 0.5);   // 10 s of work
  clock.turn(14, 1);     // 12
  clock.turn(15, 0.25);  // 13

  EXPECT_DOUBLE_EQ(clock.work_at(19), 14);
  EXPECT_DOUBLE_EQ(clock.time_of(3), 3);
  EXPECT_DOUBLE_EQ(clock.time_of(11), 12);
  EXPECT_DOUBLE_EQ(clock.time_of(12.5), 14.5);
  EXPECT_DOUBLE_EQ(clock.time_of(14), 19);
}

}  // namespace
}  // namespace orrery::sim
