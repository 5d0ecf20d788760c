// How fast simulations are replayed, from small clusters to 1,024 ranks: messages per second of
// wall time, and memory. Each line is a new process, so its memory is its own.
//
//   replay_bench [RANKS...]      default: 8 64 256 (1024 takes a minute)
#include <fmt/core.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "core/base/error.hpp"
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

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
  try {
    std::vector<int> ranks;
    for (int i = 1; i < argc; ++i) ranks.push_back(std::atoi(argv[i]));
    if (ranks.empty()) ranks = {8, 64, 256};
    fmt::print("{:>6} {:>12} {:>12} {:>10} {:>10} {:>12} {:>10} {:>14}\n", "ranks", "operations",
               "messages", "recorded", "replayed", "messages", "memory", "per operation");
    for (const int r : ranks) orrery::run(r);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "replay_bench: {}\n", error.what());
    return 1;
  }
}
