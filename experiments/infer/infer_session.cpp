#include "experiments/infer/infer_session.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <optional>
#include <sstream>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/units.hpp"
#include "core/graph/files/folder_in_progress.hpp"
#include "core/terminal/activity.hpp"
#include "core/terminal/message.hpp"
#include "core/terminal/tell.hpp"
#include "core/terminal/terminal.hpp"
#include "experiments/config/shipped.hpp"
#include "experiments/config/this_machine.hpp"
#include "experiments/config/version.hpp"
#include "experiments/execute/execute_mpi.hpp"
#include "experiments/execute/launch.hpp"
#include "experiments/infer/choose_tiles.hpp"
#include "experiments/infer/embedding_files.hpp"
#include "experiments/infer/layer_files.hpp"
#include "experiments/infer/prepare_inference.hpp"
#include "experiments/infer/trained_weights.hpp"
#include "experiments/predict/simulate.hpp"
#include "experiments/results/table.hpp"
#include "experiments/run/available_memory.hpp"
#include "experiments/run/forecast.hpp"
#include "experiments/run/interruption.hpp"
#include "experiments/run/job_script.hpp"
#include "experiments/run/run_session.hpp"
#include "experiments/run/speaker.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// The stages that come before the ranks begin, in seconds.
struct Before {
  double read = 0, sample = 0;
  std::optional<double> read_bytes;  ///< received while edges were read in ranges
};

/// What cannot be inferred, told before anything is loaded.
/// `planned`: rows and columns are still to be chosen.
void require_inferable(const Experiment& e, bool planned) {
  const InferenceConfig& config = e.inference;
  if (!planned && config.rows * config.columns != e.ranks())
    throw ConfigError(
        "inference",
        fmt::format("{} rows times {} columns are {} tiles, one for each rank, but "
                    "there are {} ranks: change them, or cluster.ranks",
                    config.rows, config.columns, config.rows * config.columns, e.ranks()));
  if (e.backend == "model" || e.backend == "nccl")
    throw ConfigError("backend", fmt::format("orrery infer runs on threads, mpi or sim, and not "
                                             "on {}",
                                             e.backend));
  if (e.statistics || !e.parts.empty() || e.dataset.magnify > 1)
    throw ConfigError("dataset",
                      "orrery infer needs the edges of the whole graph: give it a path "
                      "or a generator, and no statistics, parts or magnify");
  require_layer_by_layer(e.model);
  require_clusters(e);
}

std::vector<std::string> stage_names(int layers) {
  std::vector<std::string> names{"read", "sample", "features"};
  for (int l = 1; l <= layers; ++l) names.push_back(fmt::format("layer {}", l));
  names.emplace_back("write");
  return names;
}

/// Of each stage of the ranks, from `features` on, the seconds of the slowest; 0 of the layers that
/// were `done` before.
std::vector<double> slowest_seconds(const Outcome& outcome, int done = 0) {
  std::vector<double> seconds(at(done) + 1, 0);
  for (const RankOutcome& rank : outcome.ranks) {
    seconds[0] = std::max(seconds[0], rank.seconds_to_first_epoch);
    seconds.resize(std::max(seconds.size(), at(done) + rank.epochs.size() + 1));
    for (std::size_t e = 0; e < rank.epochs.size(); ++e) {
      double& most = seconds[at(done) + e + 1];
      most = std::max(most, rank.epochs[e].seconds);
    }
  }
  return seconds;
}

/// `before`: null for a simulation, which neither reads nor samples, and whose set-up is not timed.
Json stages_json(const InferenceProblem& problem, const Before* before, const RankStages& counted,
                 const std::vector<double>& seconds) {
  Json list = Json::array();
  const auto names = stage_names(problem.layers());
  for (std::size_t i = 0; i < names.size(); ++i) {
    Json stage{{"name", names[i]}, {"seconds", nullptr}, {"received_bytes", 0}, {"peak_bytes", 0}};
    if (i < 2) {
      if (before == nullptr) continue;
      stage["seconds"] = i == 0 ? before->read : before->sample;
      stage["received_bytes"] = stage["peak_bytes"] = nullptr;
      if (i == 0 && before->read_bytes) stage["received_bytes"] = *before->read_bytes;
    } else {
      const std::size_t s = i - 2;
      double received = 0;
      std::int64_t peak = 0;
      for (const auto& rank : counted) {
        received += rank[s].received_bytes;
        peak = std::max(peak, rank[s].peak_bytes);
      }
      if (s > 0 || before != nullptr) stage["seconds"] = seconds[s];
      stage["received_bytes"] = received;
      stage["peak_bytes"] = peak;
    }
    list.push_back(std::move(stage));
  }
  return list;
}

Json result_of(const Experiment& experiment, const InferenceProblem& problem,
               const RankStages& counted) {
  const InferenceConfig& config = problem.config;
  Json neighbours = Json::array(), peaks = Json::array();
  for (int l = 1; l <= problem.model.layers; ++l)
    neighbours.push_back(problem.graphs->neighbours(l));
  for (const auto& rank : counted) peaks.push_back(peak_of(rank));
  Json result{{"schema_version", kSchemaVersion},
              {"name", experiment.name},
              {"backend", experiment.backend},
              {"dataset", problem.data->name},
              {"generated", problem.data->generated},
              {"vertices", problem.data->vertices()},
              {"columns_out", problem.data->classes},
              {"ranks", experiment.ranks()},
              {"rows", config.rows},
              {"columns", config.columns},
              {"fanout", config.fanout},
              {"group_bytes", nullptr},
              {"gemm", config.gemm == DenseProduct::ring ? "ring" : "reduce"},
              {"neighbours", neighbours},
              {"planned_received_bytes", received_bytes_of(counted)},
              {"received_bytes", nullptr},
              {"peak_bytes", peaks}};
  if (config.group_bytes > 0) result["group_bytes"] = config.group_bytes;
  return result;
}

double total_seconds(const Json& stages) {
  double sum = 0;
  for (const Json& stage : stages)
    if (stage["seconds"].is_number()) sum += stage["seconds"].get<double>();
  return sum;
}

/// A table with a line for each stage; a column for each cluster that it was simulated on.
std::string stages_text(const Json& result) {
  const bool simulated = result["backend"] == "sim";
  std::vector<std::string> header{"stage", simulated ? "simulated" : "seconds", "received",
                                  "most held by a rank"};
  const Json others = result.value("simulated_on", Json::object());
  for (const auto& [cluster, told] : others.items())
    if (told.contains("stages")) header.push_back("on " + cluster);
  Table table(header);
  const auto seconds_of = [](const Json& stage) {
    return stage["seconds"].is_null() ? "-" : human_seconds(stage["seconds"].get<double>());
  };
  const auto bytes_of = [](const Json& bytes) {
    return bytes.is_null() ? "-" : human_bytes(bytes.get<double>());
  };
  for (const Json& stage : result["stages"]) {
    std::vector<std::string> row{stage["name"], seconds_of(stage),
                                 bytes_of(stage["received_bytes"]), bytes_of(stage["peak_bytes"])};
    for (const auto& [cluster, told] : others.items()) {
      if (!told.contains("stages")) continue;
      std::string cell = "-";
      for (const Json& there : told["stages"])
        if (there["name"] == stage["name"]) cell = seconds_of(there);
      row.push_back(cell);
    }
    table.add(row);
  }
  return table.text(room_on(stdout));
}

void print_result(const Json& result, const std::string& folder) {
  fmt::print(
      "\n{}: {} vertices, {} columns, {} ranks as {} rows x {} columns, {}\n\n",
      result["name"].get<std::string>(), result["vertices"].get<std::int64_t>(),
      result["columns_out"].get<std::int64_t>(), result["ranks"].get<int>(),
      result["rows"].get<int>(), result["columns"].get<int>(),
      result["backend"] == "sim" ? "simulated" : "as " + result["backend"].get<std::string>());
  fmt::print("{}", stages_text(result));
  const Json others = result.value("simulated_on", Json::object());
  for (const auto& [cluster, told] : others.items())
    if (told.contains("not_simulated"))
      fmt::print("not simulated on {}: {}\n", cluster, told["not_simulated"].get<std::string>());
  if (result["backend"] != "sim") fmt::print("embeddings: {}/embeddings\n", folder);
}

/// The stages of the inference, replayed on the cluster of the experiment.
Json simulate_stages(const InferenceProblem& problem, Experiment experiment,
                     const RankStages& counted, Json* simulation) {
  const InferenceBody body(problem);
  experiment.simulation.epochs = body.epochs();
  Simulator simulator(&stop_requested());
  SimulatedOutcome made = simulate(body, experiment, simulator);
  if (simulation != nullptr) *simulation = std::move(made.simulation);
  return stages_json(problem, nullptr, counted, slowest_seconds(made.outcome));
}

/// On each cluster of `simulate_on`, or why not.
Json simulate_elsewhere(const InferenceProblem& problem, const Experiment& experiment,
                        const RankStages& counted, bool quiet) {
  Json told = Json::object();
  for (const std::string& cluster : experiment.simulate_on) try {
      if (cluster == kThisMachine) measure_this_machine(quiet);
      told[cluster]["stages"] =
          simulate_stages(problem, on_cluster(experiment, cluster), counted, nullptr);
      told[cluster]["seconds"] = total_seconds(told[cluster]["stages"]);
    } catch (const Error& error) {
      told[cluster] = {{"not_simulated", error.what()}};
    }
  return told;
}

void require_memory_for(std::int64_t bytes) {
  const auto available = available_memory();
  if (!available || bytes <= *available) return;
  throw Error(
      fmt::format("its ranks on this machine need {} of memory, and {} can be had; smaller "
                  "inference.group_bytes "
                  "or ranks on more machines need less, and orrery infer --anyway tries it",
                  human_bytes(bytes), human_bytes(*available)));
}

/// Runs it for real; all ranks of a job call it. Returns the outcome of all ranks on the one that
/// leads, where the embeddings are in their place then.
Outcome infer_for_real(const InferenceProblem& problem, const Experiment& experiment,
                       const InferOptions& options, const fs::path& folder, LayerFiles* layers,
                       const Job& job) {
  std::optional<FolderInProgress> embeddings;
  std::string path;
  if (job.leads()) {
    embeddings.emplace(folder / "embeddings", true,
                       [](const fs::path& there) { return more_than(there, is_embedding_file); });
    path = embeddings->path().string();
  }
  job.share(path);
  EmbeddingFiles files(path);
  const InferenceBody body(problem, &files, layers);
  ExecuteOptions execute;
  execute.kernels = experiment.kernels;
  execute.tf32 = experiment.tf32;
  execute.placement = experiment.places_ranks() || job.world == nullptr ? experiment.placement()
                                                                        : job.world->placement();
  execute.capacities = memory_capacities(experiment);
  execute.timeline_epochs = {0, 0};
  execute.stop = &stop_requested();
  if (!options.anyway) execute.require_memory = require_memory_for;
  Outcome outcome;
  {
    const auto names = stage_names(problem.layers());
    Activity activity("inferring " + names[3]);
    const auto progress = [&](const EpochReport& report, double) {
      const std::size_t next = at(report.epoch) + 4;
      if (next < names.size()) activity.update({"inferring " + names[next]});
    };
    outcome = job.world == nullptr
                  ? execute_on_threads(body, execute, progress)
                  : execute_on_mpi(*job.world, *job.communicator, body, execute, progress);
  }
  if (outcome.interrupted) throw Error("interrupted: no embeddings were written");
  if (embeddings) {
    write_file(embeddings->path() / "meta.json",
               embeddings_meta(problem.layout(), problem.data->classes).dump(2) + "\n");
    embeddings->commit();
  }
  return outcome;
}

/// What the values of layers depend on.
Json layers_identity(const Experiment& experiment, const InferenceProblem& problem) {
  const InferenceConfig& config = problem.config;
  return {{"dataset", experiment.resolved["dataset"]},
          {"model", experiment.resolved["model"]},
          {"seed", experiment.seed},
          {"kernels", experiment.kernels},
          {"inference",
           {{"rows", config.rows},
            {"columns", config.columns},
            {"fanout", config.fanout},
            {"group_bytes", config.group_bytes},
            {"gemm", config.gemm == DenseProduct::ring ? "ring" : "reduce"}}},
          {"weights", checksum_of(*problem.weights)}};
}

/// Where layers are kept, if they are, with those that are there; the same on all ranks.
std::optional<LayerFiles> open_layers(const Experiment& experiment, const InferenceProblem& problem,
                                      const InferOptions& options, const fs::path& folder,
                                      const Job& job) {
  std::string done = "0";
  if (job.leads() && (options.keep_layers || options.resume))
    done = std::to_string(open_layer_files(
        folder, layers_identity(experiment, problem), problem.layout(),
        widths_of(problem.model, problem.data->features->width(), problem.data->classes),
        options.resume));
  job.share(done);
  if (!options.keep_layers && !options.resume) return std::nullopt;
  return LayerFiles(folder, std::stoi(done));
}

double counted_bytes(const Outcome& outcome) {
  double sum = 0;
  for (const RankOutcome& rank : outcome.ranks)
    for (const std::int64_t bytes : rank.received_from) sum += static_cast<double>(bytes);
  return sum;
}

/// The data with as many classes as its weights were trained for: those of another graph may have
/// others, or this one no labels.
std::shared_ptr<const InferenceData> with_classes(std::shared_ptr<const InferenceData> data,
                                                  const Experiment& experiment,
                                                  const TrainedWeights* weights) {
  if (weights == nullptr) return data;
  auto same = std::make_shared<InferenceData>(*data);
  same->classes = classes_of(experiment.model, data->features->width(), *weights);
  return same;
}

/// All of it, on every rank; `results` on the one that leads.
void infer(const Experiment& experiment, const InferOptions& options, const fs::path& folder,
           const ResultFolder* results, const Job& job) {
  const bool simulated = experiment.backend == "sim";
  std::shared_ptr<const TrainedWeights> weights;
  if (!simulated)
    weights = experiment.weights.empty() ? train_weights(experiment, folder / "training",
                                                         {.quiet = options.quiet,
                                                          .resume = options.resume,
                                                          .anyway = options.anyway,
                                                          .stop = &stop_requested()},
                                                         job)
                                         : read_weights(experiment, job);
  Before before;
  const auto begin = Clock::now();
  const LoadedInference loaded = load_inference(experiment, job);
  if (simulated && !experiment.weights.empty() && loaded.data->classes == 0)
    weights = read_weights(experiment, job);
  InferenceProblem problem =
      inference_of(experiment, experiment.weights.empty()
                                   ? loaded.data
                                   : with_classes(loaded.data, experiment, weights.get()));
  before.read = seconds_since(begin);
  before.read_bytes = loaded.received_bytes;
  problem.weights = std::move(weights);
  const auto sampling = Clock::now();
  problem.graphs = make_graphs(problem, job);
  before.sample = seconds_since(sampling);
  RankStages counted = fit_groups(problem, experiment.device_bytes, job);
  if (job.leads() && !options.quiet)
    tell("{}: {} vertices, {} edges; a rank holds at most {}\n", problem.data->name,
         problem.data->vertices(), problem.data->edges, human_bytes(largest_peak(counted)));

  Json result;
  if (simulated) {
    result = result_of(experiment, problem, counted);
    Json simulation;
    result["stages"] = simulate_stages(problem, experiment, counted, &simulation);
    result["seconds"] = total_seconds(result["stages"]);
    result["simulation"] = std::move(simulation);
  } else {
    auto layers = open_layers(experiment, problem, options, folder / "layers", job);
    const int done = layers ? layers->layers_done() : 0;
    if (done > 0) {
      counted = count_stages(InferenceBody(problem, nullptr, &*layers), job);
      if (job.leads() && !options.quiet)
        tell("going on after layer {} of {}\n", done, problem.layers());
    }
    const Outcome outcome =
        infer_for_real(problem, experiment, options, folder, layers ? &*layers : nullptr, job);
    if (!job.leads()) return;
    result = result_of(experiment, problem, counted);
    result["kernels"] = outcome.kernels;
    result["received_bytes"] = counted_bytes(outcome);
    result["stages"] = stages_json(problem, &before, counted, slowest_seconds(outcome, done));
    result["resumed_after_layer"] = done > 0 ? Json(done) : Json(nullptr);
    result["seconds"] = total_seconds(result["stages"]);
    if (job.world == nullptr && !experiment.simulate_on.empty())
      result["simulated_on"] = simulate_elsewhere(problem, experiment, counted, options.quiet);
  }
  result["out_dir"] = folder.string();
  result["provenance"] = provenance();
  results->write("config.json", experiment.resolved.dump(2) + "\n");
  results->write("result.json", result.dump(2) + "\n");
  std::error_code left;  // layers that cannot be removed harm nobody
  fs::remove_all(folder / "layers", left);
  if (!options.quiet && !options.json) print_result(result, folder.string());
  if (options.json) fmt::print("{}\n", result.dump());
}

/// The seconds of the best ways, on the cluster of the experiment, where that is to be simulated.
void simulate_best(std::vector<TileChoice>& choices, const InferenceProblem& asked,
                   const Experiment& experiment) {
  constexpr std::size_t kReplayed = 5;
  if (experiment.backend != "sim") return;
  for (std::size_t i = 0; i < std::min(kReplayed, choices.size()); ++i) {
    TileChoice& choice = choices[i];
    if (!choice.fits) return;
    InferenceProblem problem = asked;
    problem.config = choice.config;
    problem.model.order = choice.order;
    problem.graphs = make_graphs(problem);
    const RankStages counted = count_stages(InferenceBody(problem), {});
    choice.seconds = total_seconds(simulate_stages(problem, experiment, counted, nullptr));
  }
}

Json choice_json(const TileChoice& choice) {
  Json one{{"rows", choice.config.rows},
           {"columns", choice.config.columns},
           {"gemm", choice.config.gemm == DenseProduct::ring ? "ring" : "reduce"},
           {"order", name_of(choice.order)},
           {"group_bytes", nullptr},
           {"received_bytes", choice.received_bytes},
           {"peak_bytes", choice.peak_bytes},
           {"fits", choice.fits},
           {"seconds", nullptr}};
  if (choice.config.group_bytes > 0) one["group_bytes"] = choice.config.group_bytes;
  if (choice.seconds) one["seconds"] = *choice.seconds;
  return one;
}

std::string choices_text(const std::vector<TileChoice>& choices, bool simulated) {
  std::vector<std::string> header{"rows x columns", "gemm",      "order", "groups of",
                                  "received",       "most held", "fits"};
  if (simulated) header.push_back("simulated");
  Table table(header);
  for (const TileChoice& choice : choices) {
    std::vector<std::string> row{
        fmt::format("{} x {}", choice.config.rows, choice.config.columns),
        choice.config.columns == 1                 ? "-"
        : choice.config.gemm == DenseProduct::ring ? "ring"
                                                   : "reduce",
        name_of(choice.order),
        choice.config.group_bytes > 0 ? human_bytes(choice.config.group_bytes) : "a part",
        human_bytes(choice.received_bytes),
        human_bytes(choice.peak_bytes),
        choice.fits ? "yes" : "no"};
    if (simulated) row.push_back(choice.seconds ? human_seconds(*choice.seconds) : "-");
    table.add(row);
  }
  return table.text(room_on(stdout));
}

/// What to write into the file, and how much more the next best way receives.
std::string advice_on(const std::vector<TileChoice>& choices) {
  const TileChoice& best = choices.front();
  if (!best.fits)
    return "none fits into the memory of a rank: more ranks, or a narrower model, need less";
  std::string keys =
      fmt::format("\"rows\": {}, \"columns\": {}, \"gemm\": \"{}\"", best.config.rows,
                  best.config.columns, best.config.gemm == DenseProduct::ring ? "ring" : "reduce");
  if (best.config.group_bytes > 0)
    keys += fmt::format(", \"group_bytes\": {}", best.config.group_bytes);
  std::string text = fmt::format(
      "the fewest bytes: \"inference\": {{{}}}, \"model\": {{\"order\": "
      "\"{}\"}}",
      keys, name_of(best.order));
  if (choices.size() > 1 && choices[1].fits && best.received_bytes > 0)
    text += fmt::format("; the next best, {} x {}, receives {:.1f} % more", choices[1].config.rows,
                        choices[1].config.columns,
                        100 * (choices[1].received_bytes / best.received_bytes - 1));
  return text;
}

void print_plan(const Experiment& experiment, const InferOptions& options) {
  const InferenceProblem asked = inference_of(experiment, load_inference(experiment, {}).data);
  std::vector<TileChoice> choices =
      choose_tiles(asked, experiment.ranks(), experiment.device_bytes);
  simulate_best(choices, asked, experiment);
  if (options.json) {
    Json result{{"schema_version", kSchemaVersion},
                {"name", experiment.name},
                {"ranks", experiment.ranks()},
                {"device_bytes", nullptr},
                {"choices", Json::array()}};
    if (experiment.device_bytes) result["device_bytes"] = *experiment.device_bytes;
    for (const TileChoice& choice : choices) result["choices"].push_back(choice_json(choice));
    fmt::print("{}\n", result.dump());
    return;
  }
  fmt::print("{}: {} ranks\n\n{}\n{}\n", experiment.name, experiment.ranks(),
             choices_text(choices, experiment.backend == "sim"),
             wrapped(advice_on(choices), paragraph_on(stdout)));
}

Experiment experiment_of(const InferOptions& options, const Launch& launch) {
  const auto experiments = load_experiments(options.file, options.overrides, launch.size);
  if (experiments.size() > 1 || !experiments.front().label.empty())
    throw ConfigError("sweep",
                      "orrery infer takes one experiment: choose a combination with "
                      "--set");
  require_inferable(experiments.front(), options.plan);
  return experiments.front();
}

void require_started_right(const Experiment& e, const InferOptions& options, const Launch& launch) {
  if (e.over_mpi() && (launch.size != e.ranks() || (launch.size == 1 && !MpiWorld::built())))
    throw ConfigError(
        "backend",
        fmt::format("expected {} process{} of an MPI job, but {} process{} started; run it as: {}",
                    e.ranks(), e.ranks() == 1 ? "" : "es", launch.size,
                    launch.size == 1 ? " was" : "es were",
                    mpirun_line(e, {options.file, options.overrides, options.out, options.force,
                                    options.anyway, options.resume, "infer"})));
  if (!e.over_mpi() && launch.size > 1)
    throw ConfigError("backend",
                      fmt::format("{} processes were started, but backend \"{}\" is one process: "
                                  "start it without mpirun or srun, or add --backend mpi",
                                  launch.size, e.backend));
}

/// A result of the same experiment that is already there, when asked to resume.
bool already_complete(const InferOptions& options, const fs::path& folder,
                      const Experiment& experiment) {
  if (!options.resume || !fs::exists(folder / "result.json")) return false;
  std::stringstream kept;
  kept << std::ifstream(folder / "config.json").rdbuf();
  return kept.str() == experiment.resolved.dump(2) + "\n";
}

}  // namespace

int infer_session(InferOptions options) {
  if (!options.backend.empty()) options.overrides.push_back("backend=" + options.backend);
  const Launch launch = launch_from_environment();
  const Experiment experiment = experiment_of(options, launch);
  if (options.plan) {
    if (launch.rank > 0) return 0;  // the first does it for all
    end_on_signals();
    tell_activities(!options.quiet);
    print_plan(experiment, options);
    return 0;
  }
  require_started_right(experiment, options, launch);
  const fs::path folder =
      options.out.empty() ? default_result_folder(experiment.name) : fs::path(options.out);
  if (options.resume && options.out.empty())
    throw ConfigError("--resume", "needs --out, the folder of the inference to go on with");
  if (already_complete(options, folder, experiment)) {
    if (launch.rank > 0) return 0;
    tell("{}: the inference is complete, there is nothing to resume\n", folder.string());
    if (options.json) {
      std::ifstream in(folder / "result.json");
      fmt::print("{}\n", Json::parse(in).dump());
    }
    return 0;
  }
  if (!experiment.over_mpi()) {
    const ResultFolder results(folder, options.existing());
    heed_signals(false, true);
    tell_activities(!options.quiet);
    infer(experiment, options, folder, &results, {});
    return 0;
  }
  heed_signals(true, launch.rank == 0);
  tell_activities(launch.rank == 0 && !options.quiet);
  Speaker speaker(options.out);
  MpiOptions mpi;
  mpi.may_report = [&](const JobFailure& failure) { return speaker.may_speak(failure); };
  mpi.ending = &ended_from_outside();
  MpiWorld world(mpi);
  world.run([&](Communicator& communicator) {
    const Job job{&world, &communicator};
    std::string shared = folder.string();
    job.share(shared);
    std::optional<ResultFolder> results;
    if (job.leads()) results.emplace(shared, options.existing());
    job.share(shared);  // the folder is there
    speaker.meet_in(shared);
    try {
      infer(experiment, options, shared, results ? &*results : nullptr, job);
    } catch (const OutOfMemory& error) {
      world.fail(with_advice(error));
    }
  });
  return 0;
}

}  // namespace orrery
