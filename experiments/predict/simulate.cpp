#include "experiments/predict/simulate.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/terminal/activity.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/execute/measure.hpp"
#include "experiments/predict/server_memory.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

const Device& device_of(const Experiment& experiment, int rank) {
  return experiment.cluster->devices[at(experiment.devices[at(rank)])];
}

std::vector<sim::PricedProgram> price_all(const Programs& programs, const Body& body,
                                          const sim::DeviceProfile& profile, int threads) {
  std::vector<sim::PricedProgram> priced(programs.size());
  parallel_for(static_cast<std::int64_t>(programs.size()), 1, [&](std::int64_t r, std::int64_t) {
    const auto i = static_cast<std::size_t>(r);
    if (body.representative(static_cast<int>(r)) == r)
      priced[i] = sim::price(*programs[i], profile, threads);
  });
  sim::ScheduleInterner interner;
  for (std::size_t r = 0; r < priced.size(); ++r) {
    const int rank = static_cast<int>(r), shown = body.representative(rank);
    if (shown == rank) {
      priced[r].schedule = interner.intern(priced[r].schedule);
      continue;
    }
    priced[r] = priced[at(shown)];
    for (sim::GroupUse& use : priced[r].groups) use.group = body.own_group(use.group, rank);
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

/// What epochs and their evaluations used of every link: some of what an epoch sends may travel
/// while it is evaluated (stale rows), so it is held against the time of both.
Json links_json(const sim::Replay& replay, double epochs) {
  const double seconds = replay.simulated_seconds - *std::max_element(replay.setup_seconds.begin(),
                                                                      replay.setup_seconds.end());
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
                    {"utilisation", link.bytes / link.bytes_per_second / seconds}});
  return list;
}

/// The request to orrery-sim.
sim::Simulation build_simulation(const Body& body, const Experiment& experiment,
                                 const Programs& programs, const sim::DeviceProfile& profile) {
  const Activity pricing(fmt::format("pricing what {} ranks do", body.ranks()));
  sim::Simulation simulation;
  simulation.cluster = *experiment.cluster;
  simulation.devices = experiment.devices;
  simulation.programs = price_all(programs, body, profile, kernel_threads(experiment));
  simulation.behaviour = behaviour_of(profile);
  simulation.library = library_of(experiment, profile);
  if (simulation.library.issue_seconds == 0)
    simulation.library.issue_seconds = profile.issue_seconds;
  simulation.collectives = {experiment.simulation.algorithm, experiment.simulation.window,
                            static_cast<double>(experiment.simulation.chunk_bytes),
                            experiment.simulation.channels};
  simulation.hosts = experiment.host_per_server ? sim::Hosts::per_server : sim::Hosts::per_rank;
  simulation.timeline_epochs = experiment.timeline_epochs;
  simulation.engine = experiment.simulation.simgrid ? sim::Engine::simgrid : sim::Engine::fluid;
  return simulation;
}

/// The same result as that of a real run.
Outcome outcome_from(const Body& body, const Experiment& experiment, const Programs& programs,
                     const sim::Replay& replay, int epochs) {
  const auto summary =
      summaries(programs, body, experiment.placement(), std::min(epochs, body.period()));
  Outcome outcome;
  outcome.ranks.resize(programs.size());
  for (std::size_t r = 0; r < programs.size(); ++r) {
    outcome.ranks[r].epochs = replay.epochs[r];
    outcome.ranks[r].seconds_to_first_epoch = replay.setup_seconds[r];
    outcome.ranks[r].summary = summary[r];
    outcome.ranks[r].loads = programs[r]->loads;
    outcome.ranks[r].foreign_rows = programs[r]->foreign_rows;
    outcome.ranks[r].kept_rows = programs[r]->kept_rows;
    outcome.ranks[r].timeline.rank = static_cast<int>(r);
  }
  for (const Timeline& timeline : replay.timelines)
    outcome.ranks[at(timeline.rank)].timeline = timeline;
  for (int e = 0; e < epochs; ++e) outcome.epochs.push_back({e, std::nullopt, std::nullopt});
  return outcome;
}

Json settings_json(const Experiment& experiment, const sim::DeviceProfile& profile,
                   const sim::Simulation& simulation) {
  Json scale = Json::object();
  for (const auto& [kind, factor] : profile.scale) scale[kind] = factor;
  Json settings{{"simulated", true},
                {"cluster", experiment.cluster->name},
                {"profile", profile.name},
                {"profile_origin", profile.origin},
                {"profile_other_work_cores", profile.other_work_cores},
                {"scale", scale},
                {"engine", simulation.engine == sim::Engine::simgrid ? "simgrid" : "fluid"},
                {"library", simulation.library.name},
                {"hosts", experiment.host_per_server ? "per_server" : "per_rank"}};
  if (const std::string& host = experiment.cluster->host.profile; !host.empty())
    settings["host_profile"] = host;
  return settings;
}

Json replay_json(const sim::Simulation& simulation, const sim::Replay& replay, int epochs,
                 double record_seconds) {
  std::set<const sim::RankSchedule*> distinct;
  for (const sim::PricedProgram& p : simulation.programs) distinct.insert(p.schedule.get());
  return {{"algorithms", algorithms_json(replay.algorithms, epochs)},
          {"epochs", epochs},
          {"distinct_programs", distinct.size()},
          {"operations", replay.operations},
          {"messages", replay.messages},
          {"messages_per_second",
           static_cast<double>(replay.messages) / std::max(1e-9, replay.wall_seconds)},
          {"record_seconds", record_seconds},
          {"wall_seconds", replay.wall_seconds},
          {"peak_rss_bytes", replay.peak_rss_bytes}};
}

/// The epoch with one end of all efficiencies.
double seconds_with(Efficiencies which, const PricedRun& run, const Body& body,
                    const Experiment& experiment, Simulator& simulator) {
  const sim::DeviceProfile profile = profile_of(experiment, which);
  sim::Simulation simulation = build_simulation(body, experiment, run.programs, profile);
  simulation.timeline_epochs = {};
  const char* end = which == Efficiencies::lowest ? "lowest" : "highest";
  const sim::Replay replay =
      simulator.replay(simulation, fmt::format("replaying with the {} efficiencies", end));
  const int period = std::min(run.epochs, body.period());
  return measure(replay.epochs, summaries(run.programs, body, experiment.placement(), period))
      .epoch_seconds;
}

/// A skew given for a graph of counts must change the cost of its products.
void require_skew_counts(const Experiment& experiment, const sim::DeviceProfile& profile) {
  if (!experiment.statistics || experiment.statistics->skew <= 1) return;
  const auto table = profile.tables.find("spmm");
  const bool counts =
      table == profile.tables.end()
          ? profile.roofline.multiprocessors > 1
          : std::any_of(table->second.axes.begin(), table->second.axes.end(),
                        [](const sim::PriceTable::Axis& axis) { return axis.name == "skew"; });
  if (!counts)
    throw ConfigError("dataset.statistics.skew",
                      fmt::format("device profile \"{}\" has the same prices for any skew: leave "
                                  "the key out",
                                  profile.name));
}

/// Ranks on one CPU share its cores, and with them its peaks. Tables of measured times have the number
/// of threads among their axes.
void share_peaks(sim::Roofline& roofline, const Experiment& experiment) {
  const int cores = experiment.cluster->cores_of(experiment.devices.front());
  if (cores == 0) return;
  const double share = std::min(1.0, static_cast<double>(kernel_threads(experiment)) / cores);
  for (double* peak :
       {&roofline.flops_per_second, &roofline.bytes_per_second, &roofline.cache_bytes_per_second})
    *peak *= share;
}

}  // namespace

sim::DeviceProfile profile_of(const Experiment& experiment, Efficiencies which) {
  std::set<std::string> names;
  for (int r = 0; r < experiment.ranks(); ++r) names.insert(device_of(experiment, r).profile);
  if (!experiment.simulation.profile.empty()) names = {experiment.simulation.profile};
  if (names.size() > 1)
    throw ConfigError("cluster.file",
                      fmt::format("its devices have different profiles ({}); simulate ranks of one "
                                  "kind, or set simulation.profile",
                                  fmt::join(names, ", ")));
  sim::DeviceProfile profile = load_profile(*names.begin(), which);
  for (const auto& [kind, factor] : experiment.simulation.scale) profile.scale[kind] = factor;
  share_peaks(profile.roofline, experiment);
  require_skew_counts(experiment, profile);
  const std::string& host = experiment.cluster->host.profile;
  if (host.empty()) return profile;
  try {
    profile.host = load_profile(host).host;
  } catch (ConfigError& error) {
    error.add_context("server.host_profile of " + experiment.cluster->name);
    throw;
  }
  return profile;
}

sim::DeviceBehaviour behaviour_of(const sim::DeviceProfile& profile) {
  return {.issue_seconds = profile.issue_seconds,
          .handover_seconds = profile.handover_seconds,
          .sync_seconds = profile.sync_seconds,
          .communication_slowdown = profile.communication_slowdown,
          .variation = profile.variation,
          .turn_seconds = profile.turn_seconds};
}

sim::Library library_of(const Experiment& experiment, const sim::DeviceProfile& profile) {
  const auto found = profile.libraries.find(experiment.simulation.library);
  if (found != profile.libraries.end()) return found->second;
  // A device without cores may be a machine: then its profile has MPI alone.
  if (const auto mpi = profile.libraries.find("mpi");
      mpi != profile.libraries.end() && experiment.resolved["simulation"]["library"] == "auto")
    return mpi->second;
  std::vector<std::string> names;
  for (const auto& [name, library] : profile.libraries) names.push_back(name);
  throw ConfigError("simulation.library",
                    fmt::format("the device profile {} has no \"{}\"; it has: {}", profile.name,
                                experiment.simulation.library, fmt::join(names, ", ")));
}

void refuse_sensitivity(const Experiment& experiment, std::string_view command) {
  if (experiment.simulation.sensitivity)
    throw ConfigError(
        "simulation.sensitivity",
        fmt::format("is for the epochs of orrery run and sweep, and {} tells no band: "
                    "set it to false",
                    command));
}

int kernel_threads(const Experiment& experiment) {
  const int cores = experiment.cluster->cores_of(experiment.devices.front());
  const auto sharing =
      std::count(experiment.devices.begin(), experiment.devices.end(), experiment.devices.front());
  return std::max(1, cores / static_cast<int>(sharing));
}

namespace {

/// Errors    ServerTooSmall, if the ranks of a server hold more host memory together than it has
void require_server_memory(const PreparedExperiment& prepared, const Programs& programs) {
  const Experiment& experiment = prepared.experiment;
  if (!experiment.cluster || experiment.cluster->host.memory_bytes == 0) return;
  const std::optional<BatchesAhead> batches = in_flight(*prepared.strategy);
  const auto server = fullest_server(experiment, programs, batches ? batches->drawn : 0);
  if (server && !server->fits()) throw ServerTooSmall(*server);
}

}  // namespace

PricedRun price_run(const PreparedExperiment& prepared) {
  const TrainingBody body = prepared.body();
  if (body.depends_on_values())
    throw ConfigError("strategy.skip_below",
                      "skipping depends on values, which a simulation does not have: run it for "
                      "real, or set it to 0 for a fixed strategy.staleness");
  PricedRun run = price_run(body, prepared.experiment);
  require_server_memory(prepared, run.programs);
  return run;
}

PricedRun price_run(const Body& body, const Experiment& experiment) {
  if (body.depends_on_values())
    throw ConfigError("backend",
                      "it depends on values, which a simulation does not have: run it for real");
  const auto began = std::chrono::steady_clock::now();
  PricedRun run;
  run.profile = profile_of(experiment);
  run.epochs = std::min(experiment.simulation.epochs, body.epochs());
  run.programs = record_checked_shared(body, run.epochs, memory_capacities(experiment));
  run.simulation = build_simulation(body, experiment, run.programs, run.profile);
  run.record_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return run;
}

double least_epoch_seconds(const PricedRun& run) {
  std::vector<double> slowest(at(run.epochs), 0);
  std::set<const sim::RankSchedule*> seen;
  for (const sim::PricedProgram& program : run.simulation.programs) {
    const sim::RankSchedule& schedule = *program.schedule;
    if (!seen.insert(&schedule).second) continue;
    std::vector<double> seconds(slowest.size(), 0);
    for (const sim::LaneItem& item : schedule.lanes[at(Lane::compute)]) {
      const Phase& phase = schedule.phases[item.phase];
      if (item.type == sim::LaneItem::Type::work && phase.in_epoch())
        seconds[at(phase.epoch)] += schedule.works[item.index].seconds;
    }
    for (std::size_t e = 0; e < seconds.size(); ++e) slowest[e] = std::max(slowest[e], seconds[e]);
  }
  return *std::min_element(slowest.begin() + (slowest.size() > 1 ? 1 : 0), slowest.end());
}

namespace {

/// What a simulation drew of the batches of a rank's steps (simulation.batches), and how far the edges that the
/// host draws for all steps may be off: their standard error relative to their sum, if a step of each number
/// of targets is estimated by the mean of the drawn ones. Null where only one of them was drawn.
Json batches_json(const PreparedExperiment& prepared, const PricedRun& run) {
  const std::shared_ptr<const Steps> steps = prepared.strategy->schedule(0).training;
  std::vector<TrainStep> taken;
  for (int epoch = 0; epoch < run.epochs; ++epoch)
    for (int index = 0; index < steps->count(epoch); ++index)
      taken.push_back(steps->at(epoch, index));
  std::vector<double> edges(taken.size(), 0);  // of all ranks together
  for (const auto& program : run.programs) {
    std::size_t step = 0;
    for (const Step& each : program->steps)
      if (const auto* host = std::get_if<HostStep>(&each);
          host != nullptr && host->lane == Lane::sampler && step < edges.size())
        edges[step++] += static_cast<double>(host->work.items);
  }
  struct Kind {
    double steps = 0;
    std::map<std::pair<int, int>, double> drawn;  ///< edges, by epoch and step
  };
  std::map<double, Kind> kinds;  // by the number of targets
  for (std::size_t i = 0; i < taken.size(); ++i) {
    Kind& kind = kinds[taken[i].averaged_over.value_or(0)];
    ++kind.steps;
    kind.drawn[{taken[i].structure.draw, taken[i].structure.number}] = edges[i];
  }
  std::size_t drawn = 0;
  double all = 0, variance = 0;
  bool known = true;
  for (const auto& [targets, kind] : kinds) {
    const auto n = static_cast<double>(kind.drawn.size());
    double sum = 0, squares = 0;
    for (const auto& [step, of_step] : kind.drawn) sum += of_step;
    for (const auto& [step, of_step] : kind.drawn)
      squares += (of_step - sum / n) * (of_step - sum / n);
    drawn += kind.drawn.size();
    all += kind.steps * sum / n;
    if (kind.steps == n) continue;  // all were drawn
    known = known && n > 1;
    if (n > 1) variance += kind.steps * kind.steps * squares / (n - 1) / n;
  }
  return {{"drawn", drawn},
          {"steps", taken.size()},
          {"standard_error", known && all > 0 ? Json(std::sqrt(variance) / all) : Json()}};
}

/// replay(), and with simulation.sensitivity both ends.
SimulatedOutcome replay_with_ends(const PricedRun& run, const Body& body,
                                  const Experiment& experiment, Simulator& simulator) {
  if (experiment.simulation.sensitivity) profile_of(experiment, Efficiencies::lowest);  // has it?
  SimulatedOutcome result = replay(run, body, experiment, simulator);
  if (!experiment.simulation.sensitivity) return result;
  const auto with = [&](Efficiencies which) {
    return seconds_with(which, run, body, experiment, simulator);
  };
  result.simulation["sensitivity"] = {{"low_seconds", with(Efficiencies::highest)},
                                      {"high_seconds", with(Efficiencies::lowest)}};
  return result;
}

}  // namespace

SimulatedOutcome replay(const PricedRun& run, const Body& body, const Experiment& experiment,
                        Simulator& simulator) {
  const sim::Replay replay = simulator.replay(
      run.simulation,
      fmt::format("replaying {} epochs on {}", run.epochs, experiment.cluster->name));

  SimulatedOutcome result;
  result.outcome = outcome_from(body, experiment, run.programs, replay, run.epochs);
  result.simulation = settings_json(experiment, run.profile, run.simulation);
  result.simulation.update(replay_json(run.simulation, replay, run.epochs, run.record_seconds));
  result.links = links_json(replay, run.epochs);
  return result;
}

SimulatedOutcome simulate(const PreparedExperiment& prepared, Simulator& simulator) {
  const PricedRun run = price_run(prepared);
  SimulatedOutcome made = replay_with_ends(run, prepared.body(), prepared.experiment, simulator);
  if (prepared.experiment.resolved["simulation"].contains("batches"))
    made.simulation["batches"] = batches_json(prepared, run);
  return made;
}

SimulatedOutcome simulate(const Body& body, const Experiment& experiment, Simulator& simulator) {
  return replay_with_ends(price_run(body, experiment), body, experiment, simulator);
}

}  // namespace orrery
