// Messages between a program and its simulator come back as they were, or not at all.
#include "sim/replay/wire.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/base/error.hpp"
#include "core/ops/ops.hpp"
#include "tests/support/made_up_run.hpp"

namespace orrery::sim {
namespace {

/// Like those of made_up_run.hpp: no member has its default.
Cluster made_up_cluster() {
  return {"pair",
          "two devices on a cable",
          {{"s0/gpu0", NodeKind::kDevice, 0}, {"s1/nic", NodeKind::kNic, 1}},
          {{1, 2, 3e9, 4e-6, Duplex::kShared, "cable", 5, 6e9}},
          {{7, "v100", "v100-derived", 16, 8e11, 9e12, 10}, {11, "cpu", "xeon", 12, 13, 14, 15}},
          {16, 17, std::int64_t{1} << 38, 18, "epyc"},
          true,
          {19, 20, 21}};
}

RankSchedule made_up_schedule() {
  const Issued issued{4, 3};
  RankSchedule s;
  s.lanes.front() = {{LaneItem::Type::wait, Lane::comm2, 1, 2, issued}};
  s.lanes.back() = {{LaneItem::Type::call, Lane::store, 3, 4, issued},
                    {LaneItem::Type::work, Lane::copy, 5, 6, {7, 8}},
                    {LaneItem::Type::task, Lane::sampler, 9, 10, {11, 12}}};
  s.host = {{HostItem::Type::memory, Lane::sampler, 9, issued}};
  s.phases = {{Stage::backward, 10, 11}};
  s.works = {{1, 12, 13, 14, 15, 16}};
  s.calls = {{CollectiveKind::all_to_all, 1, 16, 17, 18, 19, 20, 0}};
  s.accesses = {{1, 2, 3, 4, 1, 5, 6, 7}};
  s.parts = {{21, 22, 23}, {}};
  s.device_bytes = {24, 25};
  s.kinds = {kind_named("spmm"), "host"};
  s.issued = {26, 27};
  return s;
}

/// Three ranks, two of which share a schedule.
Simulation made_up_simulation() {
  const auto shared = std::make_shared<RankSchedule>(made_up_schedule());
  const auto other = std::make_shared<RankSchedule>();
  const GroupTable groups{{Lane::comm2, {1, 2, 3, 4}}};
  return {made_up_cluster(),
          {2, 1, 0},
          {{shared, groups}, {other, {}}, {shared, {}}},
          {1, 2, 3, 4},
          {"nccl", 5, 6, 7, RateBySize({{8, 9}, {10, 11}}), 12, 13},
          {"ring", 11, 12, 13},
          Hosts::per_server,
          14,
          15};
}

Replay made_up_replay() {
  return {{{orrery::test::made_up_cost(1), orrery::test::made_up_cost(20)},
           {orrery::test::made_up_cost(40)}},
          {0.5, 1.5},
          {orrery::test::made_up_timeline(3)},
          {{"s0/gpu0 > s0/nic", "pcie", 1, 2, 3}},
          {{CollectiveKind::reduce_scatter, 4, "ring", 5, 6, 7}},
          8,
          9,
          10,
          11,
          12};
}

TEST(Wire, BringsBackEveryMemberOfASimulation) {
  const Simulation sent = made_up_simulation();

  const Simulation back = simulation_from(to_bytes(sent));

  EXPECT_EQ(back.cluster, sent.cluster);
  EXPECT_EQ(back.devices, sent.devices);
  ASSERT_EQ(back.programs.size(), sent.programs.size());
  for (std::size_t r = 0; r < sent.programs.size(); ++r) {
    EXPECT_EQ(*back.programs[r].schedule, *sent.programs[r].schedule);
    EXPECT_EQ(back.programs[r].groups, sent.programs[r].groups);
  }
  EXPECT_EQ(back.behaviour, sent.behaviour);
  EXPECT_EQ(back.library, sent.library);
  EXPECT_EQ(back.collectives, sent.collectives);
  EXPECT_EQ(back.hosts, sent.hosts);
  EXPECT_EQ(back.timeline_ranks, sent.timeline_ranks);
  EXPECT_EQ(back.timeline_epochs, sent.timeline_epochs);
}

TEST(Wire, SendsSharedSchedulesOnce) {
  const Simulation back = simulation_from(to_bytes(made_up_simulation()));

  EXPECT_EQ(back.programs.at(0).schedule, back.programs.at(2).schedule);
  EXPECT_NE(back.programs.at(0).schedule, back.programs.at(1).schedule);
}

TEST(Wire, BringsBackEveryMemberOfAReplay) {
  const Replay sent = made_up_replay();

  const Replay back = replay_from(to_bytes(sent));

  EXPECT_EQ(back.epochs, sent.epochs);
  EXPECT_EQ(back.setup_seconds, sent.setup_seconds);
  EXPECT_EQ(back.timelines, sent.timelines);
  EXPECT_EQ(back.links, sent.links);
  EXPECT_EQ(back.algorithms, sent.algorithms);
  EXPECT_EQ(back.messages, sent.messages);
  EXPECT_EQ(back.operations, sent.operations);
  EXPECT_EQ(back.simulated_seconds, sent.simulated_seconds);
  EXPECT_EQ(back.wall_seconds, sent.wall_seconds);
  EXPECT_EQ(back.peak_rss_bytes, sent.peak_rss_bytes);
}

TEST(Wire, RefusesMessagesThatEndTooEarly) {
  const std::string simulation = to_bytes(made_up_simulation());
  const std::string replay = to_bytes(made_up_replay());

  for (std::size_t size = 0; size < simulation.size(); ++size)
    EXPECT_THROW(simulation_from(simulation.substr(0, size)), Error) << size;
  for (std::size_t size = 0; size < replay.size(); ++size)
    EXPECT_THROW(replay_from(replay.substr(0, size)), Error) << size;
}

/// Half a header may look like one of any length; what does not arrive takes no memory.
TEST(Messages, ThatEndTooEarlyAreNone) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string header = std::string(7, '\xff') + std::string("\x7f\0\0\0\0\0\0\0\0", 9);
  ASSERT_EQ(::write(ends[1], header.data(), header.size()), 16);
  ::close(ends[1]);
  Answer kind{};
  std::string bytes;

  EXPECT_FALSE(read_message(ends[0], kind, bytes));
  ::close(ends[0]);
}

}  // namespace
}  // namespace orrery::sim
