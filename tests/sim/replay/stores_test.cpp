// Rows of stores in the replay: a message to each owner, what its host does, a message back; times
// that can be derived on paper.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/base/error.hpp"
#include "core/runtime/recorder.hpp"
#include "sim/replay/wire.hpp"
#include "tests/sim/replay/script.hpp"

namespace orrery::sim {
namespace {

constexpr double kExactWithStores = 1e-10;
constexpr double kHop = 5e-6;  // latency from server to server, at 1 GB/s
constexpr double kRows = 500;  // an owner sends them in one piece
constexpr double kAsked = 4 * kRows / 1e9, kAnswered = 512 * kRows / 1e9;  // seconds on the wire

/// Servers with a device each and a host beside it that has four cores.
StarCluster servers(int count) {
  StarCluster star;
  star.servers = count;
  star.devices_per_server = 1;
  star.host_cores = 4;
  star.host_bytes_per_second = 1e12;
  return star;
}

/// The first rank pulls or pushes this many rows of the second, which takes this long to serve
/// them.
std::vector<PricedProgram> one_access(double rows, double seconds, bool adds, int busy_threads) {
  Script asks, owns;
  asks.access(Lane::store, kPair, {0, rows}, seconds, adds);
  asks.sync(Lane::store);
  if (busy_threads > 0) owns.work(Lane::compute, 1, busy_threads);
  return {asks.done(), owns.done()};
}

TEST(Stores, AnswerWhileTheirOwnerComputesForASecond) {
  const auto seconds =
      seconds_of(simulation_of(servers(2).make(), one_access(kRows, 300e-6, false, 1)));

  EXPECT_NEAR(seconds.at(0), kHop + kAsked + 300e-6 + kHop + kAnswered, kExactWithStores);
  EXPECT_NEAR(seconds.at(1), 1, kExactWithStores);
}

TEST(Stores, TakeCoresOfKernelsWhereTheDeviceIsTheMachine) {
  // The owner's kernel has both cores; together with the thread that serves, three threads want
  // them.
  StarCluster machines;
  machines.servers = 2;
  machines.devices_per_server = 1;
  machines.device_rate = 1e15;
  machines.device_latency = 0;
  machines.cores = 2;

  const auto seconds =
      seconds_of(simulation_of(machines.make(), one_access(kRows, 300e-6, false, 2)));

  EXPECT_NEAR(seconds.at(0), kHop + kAsked + 450e-6 + kHop + kAnswered, kExactWithStores);
  EXPECT_NEAR(seconds.at(1), 1 + 150e-6, kExactWithStores);
}

TEST(Stores, TakeRowsThereAndAWordBackWhenTheyArePushed) {
  const auto seconds =
      seconds_of(simulation_of(servers(2).make(), one_access(kRows, 300e-6, true, 1)));

  EXPECT_NEAR(seconds.at(0), kHop + kAsked + kAnswered + 300e-6 + kHop + 1e-9, kExactWithStores);
}

TEST(Stores, ContendForTheLinkOfAnOwner) {
  // Two ranks ask the third at the same time, at half the rate of its adapter, and are served one
  // after the other. The first answer goes alone for 150 us; of the 106 us that it has left it takes
  // 212 beside the second, which then has 150 us left.
  const Group world{0, 0, 3, 1};
  std::vector<PricedProgram> programs;
  for (int r = 0; r < 3; ++r) {
    Script script;
    if (r < 2) script.access(Lane::store, world, {0, 0, kRows}, 150e-6);
    script.sync(Lane::store);
    programs.push_back(script.done());
  }

  const auto seconds = seconds_of(simulation_of(servers(3).make(), programs));

  const double begun = kHop + 2 * kAsked + 150e-6 + kHop;
  EXPECT_NEAR(seconds.at(0), begun + 150e-6 + 212e-6, kExactWithStores);
  EXPECT_NEAR(seconds.at(1), begun + 150e-6 + 212e-6 + 150e-6, kExactWithStores);
}

TEST(Stores, HaveOneThreadThatServesOneAfterTheOther) {
  const auto last_of_five = [](const char* library) {
    const Group world{0, 0, 6, 1};
    std::vector<PricedProgram> programs;
    for (int r = 0; r < 6; ++r) {
      Script script;
      if (r < 5) script.access(Lane::store, world, {0, 0, 0, 0, 0, 1}, 400e-6);
      script.sync(Lane::store);
      programs.push_back(script.done());
    }
    StarCluster star = servers(6);
    star.nic_rate = 1e15;
    Simulation s = simulation_of(star.make(), programs);
    s.library.name = library;
    // Five requests come at once; who is served first is the engine's choice.
    const auto sorted = on_both_engines(s, [&](Traffic& traffic, Interconnect& network) {
      std::vector<double> seconds;
      for (const auto& rank : replay(s, traffic, network).epochs)
        seconds.push_back(rank.at(0).seconds);
      std::sort(seconds.begin(), seconds.end());
      return seconds;
    });
    return sorted.back();
  };

  EXPECT_NEAR(last_of_five("mpi"), 2 * kHop + 5 * 400e-6, kExactWithStores);
  // Ranks that are threads read the rows themselves: five of them on the owner's four cores.
  EXPECT_NEAR(last_of_five("threads"), 2 * kHop + 500e-6, kExactWithStores);
}

TEST(Stores, SendWhatIsGatheredWhileTheyGatherTheRest) {
  // Ten pieces of 512 rows. If the wire is slower, it waits for the first piece; if gathering is
  // slower, the last piece is still to be sent.
  const double rows = 10 * 512, piece = 262144e-9, request = kHop + 4 * rows / 1e9;
  const auto pull = [&](double seconds) {
    return seconds_of(simulation_of(servers(2).make(), one_access(rows, seconds, false, 0))).at(0);
  };

  EXPECT_NEAR(pull(1e-3), request + 0.1e-3 + kHop + 10 * piece, kExactWithStores);
  EXPECT_NEAR(pull(20e-3), request + 20e-3 + kHop + piece, kExactWithStores);
}

/// The owner sends the asker a message of its own while its rows are under way. Over MPI it comes after
/// them, or after the first 64 KiB of each of sixteen pieces; other libraries send it beside them.
TEST(Stores, LetMessagesOfTheSameProcessesWaitBehindTheirRows) {
  constexpr double kBytes = 100e3, kSent = 300e-6, kWay = kHop + 1e-6;  // from device to device
  const auto arrival = [&](double rows, const char* library) {
    Script owns, asks;
    asks.access(Lane::store, kPair, {0, rows}, 0);
    asks.receive(Lane::comm, kPair, 1, kBytes);
    owns.work(Lane::compute, kSent);
    owns.wait(Lane::comm, Lane::compute);
    owns.send(Lane::comm, kPair, 0, kBytes);
    Simulation s = simulation_of(servers(2).make(), {asks.done(), owns.done()});
    s.library.name = library;
    return seconds_of(s).at(1);
  };
  const double rows = 2048;               // 1 MiB
  const double gathered = 262144 / 1e12;  // the first piece, in the owner's memory
  const double answered = kHop + 4 * rows / 1e9 + gathered + kHop + 512 * rows / 1e9;

  EXPECT_NEAR(arrival(rows, "mpi"), answered + kWay + kBytes / 1e9, kExactWithStores);
  EXPECT_NEAR(arrival(rows, "nccl"), kSent + kWay + 2 * kBytes / 1e9, kExactWithStores);
  EXPECT_NEAR(arrival(10 * rows, "mpi"), kSent + 16 * 65536e-9 + kWay + 2 * kBytes / 1e9,
              kExactWithStores);
}

/// Two ranks pull from each other. The first one's second request goes after the answer that it sends, and a
/// short message does not hide that a long one is under way.
TEST(Stores, LetRequestsWaitBehindTheRowsOfTheOtherDirection) {
  const double shorter = 1024, longer = 2048;
  Script one, other;
  one.access(Lane::store, kPair, {0, shorter}, 0);
  one.access(Lane::store, kPair, {0, shorter}, 0);
  other.access(Lane::store, kPair, {longer, 0}, 0);
  for (Script* script : {&one, &other}) script->sync(Lane::store);
  Simulation s = simulation_of(servers(2).make(), {one.done(), other.done()});
  s.library.name = "mpi";
  const auto seconds = seconds_of(s);

  const double gathered = 262144 / 1e12;
  const auto pulled = [&](double rows) {
    return 2 * kHop + 4 * rows / 1e9 + gathered + 512 * rows / 1e9;
  };
  EXPECT_NEAR(seconds.at(1), pulled(longer), 1e-8);
  // The second pull begins when the other's rows have left.
  EXPECT_NEAR(seconds.at(0), pulled(longer) + pulled(shorter), 1e-8);
}

TEST(Stores, OfTheSameMemoryAreCopiedOnce) {
  // Two ranks of one server, and a rank of itself: no link is between them.
  StarCluster star = servers(1);
  star.devices_per_server = 2;
  Script other, own;
  other.access(Lane::store, kPair, {0, 1000}, 300e-6);
  own.access(Lane::store, kPair, {1000, 0}, 300e-6);
  for (Script* s : {&other, &own}) s->sync(Lane::store);
  const auto epoch = [&](const PricedProgram& first) {
    Simulation s = simulation_of(star.make(), {first, Script{}.done()});
    s.library.message_seconds = 2e-6;
    return seconds_of(s).at(0);
  };

  EXPECT_NEAR(epoch(other.done()), 2e-6 + 300e-6 + 2e-6, kExactWithStores);
  EXPECT_NEAR(epoch(own.done()), 300e-6, kExactWithStores);
}

TEST(Stores, LetTheLaneGoWithTheLastAnswer) {
  // Own rows are there after 300 us, those of the other have a way to go besides.
  Script asks;
  asks.access(Lane::store, kPair, {1000, 2}, 300e-6);
  asks.access(Lane::store, kPair, {0, 0}, 300e-6);  // nobody is asked
  asks.sync(Lane::store);

  const auto seconds = seconds_of(simulation_of(servers(2).make(), {asks.done(), Script{}.done()}));

  EXPECT_NEAR(seconds.at(0), kHop + 8e-9 + 300e-6 + kHop + 1024e-9, kExactWithStores);
}

TEST(Stores, UseTheCoresOfTheNetworkStackAtBothEnds) {
  Simulation s = simulation_of(servers(2).make(), one_access(kRows, 300e-6, false, 1));
  s.library.core_seconds_per_byte = 10e-9;

  EXPECT_NEAR(seconds_of(s).at(0), 10 * kAsked + 300e-6 + 10 * kAnswered, kExactWithStores);
}

TEST(Stores, CountTheirBytesOnTheLinksThatTheyPass) {
  const Simulation s = simulation_from(
      to_bytes(simulation_of(servers(2).make(), one_access(kRows, 300e-6, false, 1))));

  const auto numbers = on_both_engines(s, [&](Traffic& traffic, Interconnect& network) {
    std::vector<double> there_and_back{0, 0};
    for (const LinkUse& link : replay(s, traffic, network).links)
      if (link.type == "net")
        there_and_back[link.name.starts_with("s0/nic >") ? 0 : 1] += link.bytes;
    return there_and_back;
  });

  // Out of the adapter of server 0; into it, into that of server 1 and out of it.
  EXPECT_EQ(numbers.at(0), 4 * kRows);
  EXPECT_EQ(numbers.at(1), 4 * kRows + 2 * 512 * kRows);
}

TEST(Stores, AreRefusedWhereTheClusterSaysNothingOfHosts) {
  Cluster silent = servers(2).make();
  silent.host.memory_bytes_per_second = 0;
  const Simulation s = simulation_of(silent, one_access(1, 1e-6, false, 0));

  const auto refused =
      on_both_engines(s, [&](Traffic& traffic, Interconnect& network) -> std::vector<double> {
        try {
          replay(s, traffic, network);
        } catch (const ConfigError& error) {
          return {error.path == "server.host_memory_bytes_per_second" ? 1.0 : 0.0};
        }
        return {-1};
      });

  EXPECT_EQ(refused.at(0), 1);
}

/// Rank 0 pulls two rows of 64 numbers of its own and three of rank 1, which opens its store late.
PricedProgram recorded(int rank, const DeviceProfile& profile) {
  Recorder rt({rank, 2, {}, true});
  rt.phase({Stage::forward, 0});
  const Store store{3, kPair};
  const Tensor rows = rt.alloc({10, 64}, DType::f32, Space::host, "rows");
  if (rank == 1) {
    const Task task = rt.host(Lane::sampler, [] { return HostWork{"late", 1, 0, 1}; });
    rt.join(task);
  }
  rt.submit(Lane::store, Expose{store, rows});
  if (rank == 0) {
    const auto counts =
        std::make_shared<const std::vector<std::int64_t>>(std::vector<std::int64_t>{2, 3});
    const Tensor index = rt.alloc({5, 1}, DType::i32, Space::host, "index");
    const Tensor y = rt.alloc({5, 64}, DType::f32, Space::host, "y");
    rt.submit(Lane::store, Pull{store, index, counts, y});
  }
  rt.submit(Lane::store, Withdraw{store, rows});
  rt.sync(rt.record(Lane::store));
  rt.phase({Stage::evaluate, 0});
  return price(rt.program(), profile, 1);
}

TEST(Stores, OfRecordedProgramsOpenServeAndClose) {
  DeviceProfile profile;
  profile.host["late"] = {.launch_seconds = 1e-3};
  profile.host["serve"] = {10e-6, 1e-6, 0, 1};
  Simulation s = simulation_of(servers(2).make(), {recorded(0, profile), recorded(1, profile)});
  s.collectives.algorithm = "flat";

  const auto numbers = on_both_engines(s, [&](Traffic& traffic, Interconnect& network) {
    const Replay made = replay(s, traffic, network);
    const auto& spans = made.timelines.at(0).spans;
    return std::vector<double>{static_cast<double>(spans.size()), spans.at(0).end,
                               spans.at(1).end - spans.at(1).begin, spans.at(1).bytes,
                               spans.at(1).communicates ? spans.at(1).external : 0.0};
  });

  ASSERT_EQ(numbers.at(0), 3);  // expose, pull, withdraw
  EXPECT_GT(numbers.at(1), 1e-3) << "opened before the other came";
  EXPECT_LT(numbers.at(1), 1e-3 + 30e-6);
  EXPECT_NEAR(numbers.at(2), kHop + 12e-9 + (10e-6 + 3e-6) + kHop + 3 * 256e-9, kExactWithStores);
  EXPECT_EQ(numbers.at(3), 5 * (4 + 256));
  EXPECT_EQ(numbers.at(4), 1);
}

}  // namespace
}  // namespace orrery::sim
