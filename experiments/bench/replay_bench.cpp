// How fast simulations are replayed, from small clusters to thousands of ranks: messages per second
// of wall time, and memory. Each line is a new process, so its memory is its own.
//
//   replay_bench [RANKS...]                epochs; default: 8 64 256 (1024 takes some seconds)
//   replay_bench collectives [RANKS...]    one collective after the other; default: 256
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/rng.hpp"
#include "core/base/units.hpp"
#include "experiments/config/experiment.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/predict/simulate.hpp"

namespace orrery {
namespace {

/// One epoch of a GCN of three layers over the counts of papers100M, 1D, eight GPUs a server.
Experiment experiment_of(int ranks) {
  const std::string cluster =
      ranks <= 8
          ? fmt::format(R"("file": "hgx-h200", "gpus": {})", ranks)
          : fmt::format(R"("file": "fat-tree", "servers": {}, "gpus_per_server": 8)", ranks / 8);
  return parse_experiments(
             fmt::format(
                 R"({{"name": "replay-bench", "dataset": {{"statistics": {{"vertices": 111059956,
                 "edges": 1615685872, "features": 128, "classes": 172}}}},
                 "model": {{"type": "gcn", "layers": 3, "hidden": 208, "dropout": 0}},
                 "strategy": {{"type": "spmm_1d", "permute": true}},
                 "train": {{"epochs": 1, "eval_every": 0}}, "cluster": {{{}}}, "backend": "sim"}})",
                 cluster),
             "replay_bench", {})
      .front();
}

void run(int ranks) {
  const Experiment experiment = experiment_of(ranks);
  DatasetCache cache;
  const PreparedExperiment prepared = prepare(experiment, cache.load(experiment));
  Simulator simulator;
  const auto made = simulate(prepared, simulator);
  const auto& s = made.simulation;
  const double steps = s["operations"], memory = s["peak_rss_bytes"];
  fmt::print("{:>6} {:>12} {:>12} {:>10} {:>10} {:>12} {:>10} {:>14}\n", ranks,
             s["operations"].get<long>(), s["messages"].get<long>(),
             human_seconds(s["record_seconds"]), human_seconds(s["wall_seconds"]),
             human_count(s["messages_per_second"]) + "/s", human_bytes(memory),
             human_bytes(memory / steps));
}

void run_epochs(const std::vector<int>& ranks) {
  fmt::print("{:>6} {:>12} {:>12} {:>10} {:>10} {:>12} {:>10} {:>14}\n", "ranks", "operations",
             "messages", "recorded", "replayed", "messages", "memory", "per operation");
  for (const int r : ranks) run(r);
}

// ---- collectives --------------------------------------------------------------------------------

/// The same collective of all ranks many times; of a broadcast or a reduction, with all roots in turn.
struct Collective {
  const char* what;
  sim::CollectiveKind kind;
  const char* algorithm;
  double bytes;
  double arrivals;     ///< about: the calls that are made, times the ranks
  int most_ranks = 0;  ///< with more ranks one call alone has too many messages
};
constexpr std::array kCollectives{
    Collective{"broadcast, ring", sim::CollectiveKind::broadcast, "ring", 64e6, 5e5, 1 << 20},
    Collective{"broadcast, tree", sim::CollectiveKind::broadcast, "binomial tree", 64e6, 2e6,
               1 << 20},
    Collective{"broadcast, by servers", sim::CollectiveKind::broadcast, "hierarchical", 64e6, 2e6,
               1 << 20},
    Collective{"all-reduce, ring", sim::CollectiveKind::all_reduce, "ring", 64e6, 1, 512},
    Collective{"all-reduce, tree", sim::CollectiveKind::all_reduce, "double tree", 64e6, 5e5,
               1 << 20},
    Collective{"all-to-all, unequal", sim::CollectiveKind::all_to_all, "pairwise", 1e6, 1, 1024},
};

/// From half to one and a half times as much as on average for each pair.
std::vector<double> unequal(int rank, int ranks, double bytes) {
  std::vector<double> row;
  for (int to = 0; to < ranks; ++to) {
    const auto bits = random_bits(1, Purpose::permutation, static_cast<std::uint32_t>(rank),
                                  static_cast<std::uint32_t>(to));
    row.push_back(to == rank ? 0 : bytes * (0.5 + bits[0] / 4294967296.0));
  }
  return row;
}

/// What one rank does: an epoch of nothing but these calls.
sim::RankSchedule schedule_of(const Collective& collective, int rank, int ranks, int calls) {
  sim::RankSchedule schedule;
  schedule.phases = {{Stage::forward, 0}, {Stage::evaluate, 0}};
  schedule.kinds = {kind_named("broadcast")};
  schedule.host.push_back({sim::HostItem::Type::phase, Lane::compute, 0, {}});
  const bool from_roots = collective.kind == sim::CollectiveKind::broadcast;
  auto& lane = schedule.lanes[at(static_cast<int>(Lane::comm))];
  for (int i = 0; i < calls; ++i) {
    sim::Call call{collective.kind, 0, 0, from_roots ? i % ranks : -1, -1, collective.bytes,
                   collective.bytes};
    if (collective.kind == sim::CollectiveKind::all_to_all) {
      call.parts = 0;
      schedule.parts = {unequal(rank, ranks, collective.bytes)};
    }
    ++schedule.issued.submits;
    ++schedule.issued.calls;
    lane.push_back(
        {sim::LaneItem::Type::call, Lane::comm, 0, static_cast<std::uint32_t>(i), schedule.issued});
    schedule.calls.push_back(call);
  }
  schedule.host.push_back(
      {sim::HostItem::Type::sync, Lane::comm, static_cast<std::uint32_t>(calls), schedule.issued});
  schedule.host.push_back({sim::HostItem::Type::phase, Lane::compute, 1, schedule.issued});
  return schedule;
}

void run(const Collective& collective, int ranks) {
  if (ranks > collective.most_ranks) return;
  const Experiment experiment = experiment_of(ranks);
  const sim::DeviceProfile profile = profile_of(experiment);
  sim::Simulation s;
  s.cluster = *experiment.cluster;
  s.devices = experiment.devices;
  s.behaviour = behaviour_of(profile);
  s.library = library_of(experiment, profile);
  s.collectives.algorithm = collective.algorithm;
  s.timeline_ranks = 0;
  const int calls = std::max(1, static_cast<int>(collective.arrivals / ranks));
  std::shared_ptr<const sim::RankSchedule> schedule;
  for (int r = 0; r < ranks; ++r) {
    if (!schedule || collective.kind == sim::CollectiveKind::all_to_all)
      schedule = std::make_shared<sim::RankSchedule>(schedule_of(collective, r, ranks, calls));
    s.programs.push_back({schedule, {{Lane::comm, world_group(ranks)}}});
  }
  Simulator simulator;
  const sim::Replay made = simulator.replay(s, "replaying");
  const auto messages = static_cast<double>(made.messages);
  fmt::print(
      "{:>6}  {:<22} {:>12} {:>10} {:>12} {:>10}  {}\n", ranks, collective.what, made.messages,
      human_seconds(made.wall_seconds), human_count(messages / made.wall_seconds) + "/s",
      human_bytes(static_cast<double>(made.peak_rss_bytes)), made.algorithms.front().algorithm);
  std::fflush(stdout);  // the next one may take long
}

void run_collectives(const std::vector<int>& ranks) {
  fmt::print("{:>6}  {:<22} {:>12} {:>10} {:>12} {:>10}  {}\n", "ranks", "collective", "messages",
             "replayed", "messages", "memory", "algorithm");
  for (const int r : ranks)
    for (const Collective& collective : kCollectives) run(collective, r);
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
  try {
    const bool collectives = argc > 1 && std::string_view(argv[1]) == "collectives";
    std::vector<int> ranks;
    for (int i = collectives ? 2 : 1; i < argc; ++i) ranks.push_back(std::atoi(argv[i]));
    if (collectives)
      orrery::run_collectives(ranks.empty() ? std::vector{256} : ranks);
    else
      orrery::run_epochs(ranks.empty() ? std::vector{8, 64, 256} : ranks);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "replay_bench: {}\n", error.what());
    return 1;
  }
}
