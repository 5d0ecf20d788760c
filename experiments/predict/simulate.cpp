#include "experiments/predict/simulate.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/runtime/check/check.hpp"
#include "core/runtime/check/check_digest.hpp"
#include "core/strategy/train/record.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/config/profile_file.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;
using Programs = std::vector<std::shared_ptr<const Program>>;

const Device& device_of(const Experiment& experiment, int rank) {
  return experiment.cluster->devices[at(experiment.devices[at(rank)])];
}

std::vector<sim::PricedProgram> price_all(const Programs& programs, const Strategy& plan,
                                          const sim::DeviceProfile& profile, int threads) {
  std::vector<sim::PricedProgram> priced(programs.size());
  parallel_for(static_cast<std::int64_t>(programs.size()), 1, [&](std::int64_t r, std::int64_t) {
    const auto i = static_cast<std::size_t>(r);
    if (plan.representative(static_cast<int>(r)) == r)
      priced[i] = sim::price(*programs[i], profile, threads);
  });
  sim::ScheduleInterner interner;
  for (std::size_t r = 0; r < priced.size(); ++r) {
    const int rank = static_cast<int>(r), shown = plan.representative(rank);
    if (shown == rank) {
      priced[r].schedule = interner.intern(priced[r].schedule);
      continue;
    }
    priced[r] = priced[at(shown)];
    for (sim::GroupUse& use : priced[r].groups) use.group = plan.own_group(use.group, rank);
  }
  return priced;
}

Json algorithms_json(const std::vector<sim::AlgorithmUse>& uses, int epochs) {
  Json list = Json::array();
  for (const sim::AlgorithmUse& use : uses)
    list.push_back({{"collective", name_of(use.kind)},
                    {"ranks", use.ranks},
                    {"algorithm", use.algorithm},
                    {"bytes", {use.least_bytes, use.most_bytes}},
                    {"calls", use.calls},
                    {"epochs", epochs}});
  return list;
}

/// The mean of the epochs on their slowest ranks, but for the first, into which set-up reaches.
double usual_epoch_seconds(const sim::Replay& replay) {
  const std::size_t epochs = replay.epochs.front().size(), first = epochs > 1 ? 1 : 0;
  double sum = 0;
  for (std::size_t e = first; e < epochs; ++e) {
    double slowest = 0;
    for (const auto& rank : replay.epochs) slowest = std::max(slowest, rank[e].seconds);
    sum += slowest;
  }
  return sum / static_cast<double>(epochs - first);
}

Json links_json(const sim::Replay& replay, double epochs, double epoch_seconds) {
  std::vector<sim::LinkUse> links = replay.links;
  std::sort(links.begin(), links.end(), [](const sim::LinkUse& a, const sim::LinkUse& b) {
    return a.bytes / a.bytes_per_second > b.bytes / b.bytes_per_second;
  });
  Json list = Json::array();
  for (const sim::LinkUse& link : links)
    list.push_back({{"name", link.name},
                    {"type", link.type},
                    {"bytes_per_second", link.bytes_per_second},
                    {"bytes", link.bytes / epochs},
                    {"busy_seconds", link.busy_seconds / epochs},
                    {"utilisation", link.bytes / epochs / link.bytes_per_second / epoch_seconds}});
  return list;
}

}  // namespace

sim::DeviceProfile profile_of(const Experiment& experiment) {
  std::set<std::string> names;
  for (int r = 0; r < experiment.ranks(); ++r) names.insert(device_of(experiment, r).profile);
  if (!experiment.simulation.profile.empty()) names = {experiment.simulation.profile};
  if (names.size() > 1)
    throw ConfigError("cluster.file",
                      fmt::format("its devices have different profiles ({}); simulate ranks of one "
                                  "kind, or set simulation.profile",
                                  fmt::join(names, ", ")));
  sim::DeviceProfile profile = load_profile(*names.begin());
  for (const auto& [kind, factor] : experiment.simulation.scale) profile.scale[kind] = factor;
  return profile;
}

sim::Library library_of(const Experiment& experiment, const sim::DeviceProfile& profile) {
  const auto found = profile.libraries.find(experiment.simulation.library);
  if (found != profile.libraries.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, library] : profile.libraries) names.push_back(name);
  throw ConfigError(
      "simulation.library",
      fmt::format("the device profile {} knows nothing of \"{}\"; it has: {}", profile.name,
                  experiment.simulation.library, fmt::join(names, ", ")));
}

/// Proves the programs safe; those that ranks share once. Orders of collectives in which ranks
/// wait for each other for ever are found by the replay itself.
void check_shared(const Programs& programs, const Strategy& plan) {
  std::vector<std::vector<Finding>> findings(programs.size());
  std::vector<std::vector<CollectiveDigest>> digests(programs.size());
  parallel_for(static_cast<std::int64_t>(programs.size()), 1, [&](std::int64_t r, std::int64_t) {
    const auto i = static_cast<std::size_t>(r);
    if (plan.representative(static_cast<int>(r)) != r) return;
    findings[i] = find_local_problems(*programs[i]);
    digests[i] = digest_collectives(*programs[i]);
  });
  for (std::size_t r = 0; r < programs.size(); ++r) {
    throw_findings(findings[r]);
    const int rank = static_cast<int>(r), shown = plan.representative(rank);
    if (shown == rank) continue;
    digests[r] = digests[at(shown)];
    for (CollectiveDigest& digest : digests[r]) digest.group = plan.own_group(digest.group, rank);
  }
  throw_findings(compare_digests(digests));
}

int kernel_threads(const Experiment& experiment) {
  const int cores = device_of(experiment, 0).cores;
  const auto sharing =
      std::count(experiment.devices.begin(), experiment.devices.end(), experiment.devices.front());
  return std::max(1, cores / static_cast<int>(sharing));
}

SimulatedOutcome simulate(const Experiment& experiment, const Problem& problem,
                          const Strategy& plan, Simulator& simulator, bool progress) {
  require_trainable(problem);
  if (problem.strategy.depends_on_values())
    throw ConfigError("strategy.skip_below",
                      "which broadcasts are skipped depends on values, which a simulation does not "
                      "have: run it for real, or set it to 0 for a fixed strategy.staleness");
  const auto began = std::chrono::steady_clock::now();
  const sim::DeviceProfile profile = profile_of(experiment);
  const int epochs = std::min(experiment.simulation.epochs, problem.train.epochs);
  const auto programs = record_shared(plan, problem, epochs, device_capacities(experiment));
  check_shared(programs, plan);

  sim::Simulation simulation;
  simulation.cluster = *experiment.cluster;
  simulation.devices = experiment.devices;
  simulation.programs = price_all(programs, plan, profile, kernel_threads(experiment));
  simulation.behaviour = {profile.issue_seconds, profile.handover_seconds, profile.sync_seconds,
                          profile.communication_slowdown};
  simulation.library = library_of(experiment, profile);
  if (simulation.library.issue_seconds == 0)
    simulation.library.issue_seconds = profile.issue_seconds;
  simulation.collectives = {experiment.simulation.algorithm, experiment.simulation.window,
                            static_cast<double>(experiment.simulation.chunk_bytes),
                            experiment.simulation.channels};
  simulation.hosts = experiment.host_per_server ? sim::Hosts::per_server : sim::Hosts::per_rank;
  simulation.timeline_epochs = experiment.timeline_epochs;
  simulation.progress = progress && ::isatty(STDERR_FILENO) == 1;
  const double prepare_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  const sim::Replay replay = simulator.replay(simulation);

  SimulatedOutcome result;
  const Placement placement = experiment.placement();
  result.outcome.ranks.resize(static_cast<std::size_t>(problem.ranks()));
  parallel_for(problem.ranks(), 1, [&](std::int64_t r, std::int64_t) {
    const auto i = static_cast<std::size_t>(r);
    RankOutcome& rank = result.outcome.ranks[i];
    rank.epochs = replay.epochs[i];
    rank.summary = summarise(
        *programs[i], placement, static_cast<int>(r),
        [&](const Group& group) { return plan.own_group(group, static_cast<int>(r)); },
        std::min(epochs, period_of(problem.strategy, problem.train.epochs)));
    rank.timeline.rank = static_cast<int>(r);
  });
  for (const Timeline& timeline : replay.timelines)
    result.outcome.ranks[at(timeline.rank)].timeline = timeline;
  for (int e = 0; e < epochs; ++e) result.outcome.epochs.push_back({e, std::nullopt, std::nullopt});

  std::set<const sim::RankSchedule*> distinct;
  for (const sim::PricedProgram& p : simulation.programs) distinct.insert(p.schedule.get());
  Json scale = Json::object();
  for (const auto& [kind, factor] : profile.scale) scale[kind] = factor;
  result.simulation = {{"simulated", true},
                       {"cluster", experiment.cluster->name},
                       {"profile", profile.name},
                       {"profile_origin", profile.origin},
                       {"scale", scale},
                       {"library", simulation.library.name},
                       {"hosts", experiment.host_per_server ? "per_server" : "per_rank"},
                       {"algorithms", algorithms_json(replay.algorithms, epochs)},
                       {"epochs", epochs},
                       {"distinct_programs", distinct.size()},
                       {"operations", replay.operations},
                       {"messages", replay.messages},
                       {"messages_per_second",
                        static_cast<double>(replay.messages) / std::max(1e-9, replay.wall_seconds)},
                       {"record_seconds", prepare_seconds},
                       {"wall_seconds", replay.wall_seconds},
                       {"peak_rss_bytes", replay.peak_rss_bytes}};
  result.links = links_json(replay, epochs, usual_epoch_seconds(replay));
  return result;
}

}  // namespace orrery
