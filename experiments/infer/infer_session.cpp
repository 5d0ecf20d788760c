#include "experiments/infer/infer_session.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "core/base/available_memory.hpp"
#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/json_reader.hpp"
#include "core/base/units.hpp"
#include "core/graph/files/bytes_of.hpp"
#include "core/graph/files/folder_in_progress.hpp"
#include "core/runtime/recording.hpp"
#include "core/terminal/activity.hpp"
#include "core/terminal/message.hpp"
#include "core/terminal/tell.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/execute/execute_mpi.hpp"
#include "experiments/execute/launch.hpp"
#include "experiments/infer/embedding_files.hpp"
#include "experiments/infer/inference_report.hpp"
#include "experiments/infer/kept/layer_files.hpp"
#include "experiments/infer/layer_orders.hpp"
#include "experiments/infer/plan_inference.hpp"
#include "experiments/infer/prepare_inference.hpp"
#include "experiments/infer/sample_stage.hpp"
#include "experiments/infer/simulate_inference.hpp"
#include "experiments/infer/take_over.hpp"
#include "experiments/infer/trained_weights.hpp"
#include "experiments/predict/simulate.hpp"
#include "experiments/run/agreement.hpp"
#include "experiments/run/forecast.hpp"
#include "experiments/run/interruption.hpp"
#include "experiments/run/job_script.hpp"
#include "experiments/run/speaker.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Refuses experiments that cannot be inferred, before anything is loaded. `planned`: rows and
/// columns are still to be chosen.
void require_inferable(const Experiment& e, bool planned) {
  const InferenceConfig& config = e.inference;
  if (!planned && config.rows * config.columns != e.ranks())
    throw ConfigError(
        "inference",
        fmt::format("{} rows times {} columns are {} tiles, one per rank, but there are {} "
                    "ranks: change the tiles, or cluster.ranks",
                    config.rows, config.columns, config.rows * config.columns, e.ranks()));
  if (e.backend == "model" || e.backend == "nccl")
    throw ConfigError("backend", fmt::format("orrery infer runs on threads, mpi or sim, and not "
                                             "on {}",
                                             e.backend));
  if (e.statistics && e.backend != "sim" && !planned)
    throw ConfigError("dataset.statistics",
                      "an inference needs edges: use --backend sim or --plan, or a path or a "
                      "generator");
  if (!e.dataset.feature_files.empty() && e.trains() && e.weights.empty() && !planned)
    throw ConfigError("inference.weights",
                      "is required with dataset.features.files, because training cannot read "
                      "these: name a checkpoint, or the folder of a run with "
                      "train.checkpoint_every");
  if (e.dataset.edge_list && e.trains() && e.weights.empty() && !planned)
    throw ConfigError("inference.weights",
                      "is required with dataset.edge_list, because it has no labels to train "
                      "with: name a checkpoint, or the folder of a run with "
                      "train.checkpoint_every");
  if (!e.parts.empty() || e.dataset.magnify > 1)
    throw ConfigError("dataset",
                      "orrery infer needs the whole graph: use a path, a generator or "
                      "statistics, without parts and magnify");
  if (e.edge_weights)
    throw ConfigError(
        "dataset.edge_weights",
        "orrery infer multiplies by degrees alone: leave it out, or use orrery predict");
  if (e.edge_features)
    throw ConfigError(
        "dataset.edge_features",
        "orrery infer knows edges by their two ends alone: leave it out, or use orrery "
        "predict");
  require_layer_by_layer(e.model);
  if (e.weights.empty() && e.strategy.type == "model_averaging" &&
      e.strategy.averaging == Averaging::model)
    throw ConfigError("strategy.averaging",
                      "training first with model_averaging leaves a model for each part: set it to "
                      "gradient, train with another strategy, or name inference.weights");
  if (e.weights.empty() && e.resolved["strategy"].value("learn_features", false))
    throw ConfigError(
        "strategy.learn_features",
        "inference reads the features of the data set, but the model would be trained on learned "
        "ones: set it to false, or name inference.weights");
  if (!e.weights.empty() && !fs::exists(e.weights))
    throw ConfigError("inference.weights",
                      e.weights +
                          ": no such file or folder; name a checkpoint, or the folder of a "
                          "run with train.checkpoint_every");
  require_clusters(e);
}

void require_memory_for(std::int64_t bytes) {
  const auto available = available_memory();
  if (!available || bytes <= *available) return;
  throw Error(
      fmt::format("its ranks on this machine need {} of memory, but {} are available; smaller "
                  "inference.group_bytes or ranks on more machines need less (orrery infer "
                  "--plan shows what each layout holds), and orrery infer --anyway tries it",
                  human_bytes(bytes), human_bytes(*available)));
}

/// Compares what ranks need with the memory of their device and of this machine, as running them
/// does, but before anything of an earlier result is deleted.
void require_room(const InferenceProblem& problem, const Experiment& experiment,
                  const RankStages& counted, const InferOptions& options, const Job& job) {
  const InferenceBody body(problem);
  const auto mine = [&](int rank) { return job.world == nullptr || job.world->rank() == rank; };
  std::int64_t here = 0;
  for (int rank = 0; rank < body.ranks(); ++rank) {
    if (mine(rank) && experiment.device_bytes &&
        peak_of(counted[at(rank)]) > *experiment.device_bytes)
      record_rank(body, rank, body.epochs(), memory_capacities(experiment));  // says where
    if (job.world == nullptr || job.world->placement().same_server(rank, job.world->rank()))
      here += peak_of(counted[at(rank)]);
  }
  if (!options.anyway && experiment.kernels != "cuda") require_memory_for(here);
}

struct RealInference {
  Outcome outcome;
  /// From the end of the last stage, which leaves the rows in the page cache, until they are on the disk.
  double flush_seconds = 0;
};

/// Runs it for real; all ranks of a job call it. The leading rank returns the outcome of all ranks,
/// when the embeddings are in their place.
RealInference infer_for_real(const InferenceProblem& problem, const Experiment& experiment,
                             const InferOptions& options, const fs::path& folder,
                             LayerFiles* layers, const Job& job) {
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
  RealInference made;
  Outcome& outcome = made.outcome;
  {
    const auto names = stage_names(problem.layers());
    Activity activity("inferring " + names[1]);
    const auto progress = [&](const EpochReport& report, double) {
      const std::size_t next = at(report.epoch) + 2;
      if (next < names.size()) activity.update({"inferring " + names[next]});
    };
    outcome = job.world == nullptr
                  ? execute_on_threads(body, execute, progress)
                  : execute_on_mpi(*job.world, *job.communicator, body, execute, progress);
  }
  if (outcome.interrupted) throw Error("interrupted: no embeddings were written");
  if (embeddings) {
    const Activity flushing("writing the embeddings to the disk");
    const auto begin = std::chrono::steady_clock::now();
    write_file(embeddings->path() / "meta.json",
               embeddings_meta(problem.layout(), problem.data->classes).dump(2) + "\n");
    embeddings->commit();
    made.flush_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  return made;
}

/// The inputs that the values of layers depend on; `contents`: of the data set.
Json layers_identity(const Experiment& experiment, const InferenceProblem& problem,
                     const std::string& contents) {
  const InferenceConfig& config = problem.config;
  return {{"dataset", experiment.resolved["dataset"]},
          {"contents of the data set", contents},
          {"model", experiment.resolved["model"]},
          {"seed", experiment.seed},
          {"kernels", experiment.kernels},
          {"tf32", experiment.tf32},
          {"strategy", {{"column_tiles", problem.column_tiles}}},
          {"inference",
           {{"rows", config.rows},
            {"columns", config.columns},
            {"fanout", config.fanout},
            {"group_bytes", config.group_bytes},
            {"sum_columns", config.sum_columns},
            {"gemm", name_of(config.gemm)},
            {"spmm", name_of(config.spmm)},
            {"sddmm", name_of(config.sddmm)},
            {"order", order_json(orders_of(problem, config))},
            {"preparation", preparation_of(problem)}}},
          {"weights", checksum_of(*problem.weights)}};
}

bool keeps_files(const InferOptions& options) { return options.keep_layers || options.resume; }

/// The store of layers, if they are kept, with the existing ones; the same on all ranks.
std::optional<LayerFiles> open_layers(const Experiment& experiment, const InferenceProblem& problem,
                                      const InferOptions& options, const fs::path& folder,
                                      const Job& job) {
  if (!keeps_files(options)) return std::nullopt;
  const std::string contents = contents_of(problem, job);
  std::string done = "0";
  if (job.leads())
    done = std::to_string(open_layer_files(
        folder, layers_identity(experiment, problem, contents), problem.layout(),
        widths_of(problem.model, problem.data->features->width(), problem.data->classes),
        options.resume));
  job.share(done);
  return LayerFiles(folder, std::stoi(done));
}

void remove_kept_files(const fs::path& folder) {
  remove_kept_input(folder);
  remove_layer_files(folder);
}

/// Keeps the input of an inference, on all ranks of a job, and takes over what a killed start of it
/// kept; nothing if it cannot be kept. Layers of another start are removed.
std::optional<KeptInput> opened_input(const Experiment& experiment, const InferOptions& options,
                                      const fs::path& folder, const Job& job) {
  if (!keeps_files(options) || !keeps_input(experiment)) return std::nullopt;
  if (job.leads() && !options.resume) remove_layer_files(folder);
  return open_input(experiment, folder, options.resume, job);
}

double counted_bytes(const Outcome& outcome) {
  double sum = 0;
  for (const RankOutcome& rank : outcome.ranks)
    for (const std::int64_t bytes : rank.received_from) sum += static_cast<double>(bytes);
  return sum;
}

/// An inference, ready to run or to be simulated. Its weights are there if they were named.
struct PreparedInference {
  InferenceProblem problem;
  std::vector<StageBefore> before;
  RankStages counted;
  std::vector<std::string> taken_over;  ///< stages that a killed start had finished
};

/// Everything that may fail before an earlier result is touched. `kept`: null if its input is not to be
/// kept yet.
PreparedInference prepare(const Experiment& experiment, const InferOptions& options,
                          const KeptInput* kept, const Job& job) {
  const bool simulated = experiment.backend == "sim";
  PreparedInference made;
  std::shared_ptr<const TrainedWeights> weights;
  if (!simulated && !experiment.weights.empty()) weights = read_weights(experiment, job);
  LoadedInference loaded = load_inference(experiment, job, kept);
  if (loaded.taken_over)
    for (const StageBefore& stage : loaded.stages) made.taken_over.push_back(stage.name);
  if (simulated && !experiment.weights.empty() && loaded.data->classes == 0)
    weights = read_weights(experiment, job);
  made.problem = inference_of(experiment, with_classes(loaded.data, experiment, weights.get()));
  made.before = std::move(loaded.stages);
  made.problem.weights = std::move(weights);
  made.before.push_back(draw_and_count(made.problem, job, kept));
  if (kept != nullptr && kept->there().draws) made.taken_over.push_back(made.before.back().name);
  if (job.leads() && !options.quiet && !made.taken_over.empty())
    tell("taking over from the start before: {}\n",
         fmt::format("{}", fmt::join(made.taken_over, ", ")));
  made.counted = fit_groups(made.problem, experiment.device_bytes, job);
  if (job.leads() && !options.quiet)
    tell("{}: {} vertices, {} edges; a rank holds at most {}\n", made.problem.data->name,
         made.problem.data->vertices(), made.problem.data->edges,
         human_bytes(largest_peak(made.counted)));
  if (!simulated) require_room(made.problem, experiment, made.counted, options, job);
  return made;
}

/// All of it except what prepare() did, on every rank; `results` on the leading one.
void infer(PreparedInference prepared, const Experiment& experiment, const InferOptions& options,
           const fs::path& folder, const ResultFolder* results, const Job& job) {
  const bool simulated = experiment.backend == "sim";
  InferenceProblem& problem = prepared.problem;
  RankStages& counted = prepared.counted;
  if (job.leads() && !options.quiet && !experiment.simulate_on.empty() &&
      (simulated || job.world != nullptr))
    tell("simulate_on is ignored here: it is for inference on threads\n");
  if (!simulated && experiment.weights.empty())
    problem.weights = train_weights(experiment, folder / "training",
                                    {.quiet = options.quiet,
                                     .resume = options.resume,
                                     .anyway = options.anyway,
                                     .stop = &stop_requested()},
                                    job);

  Json result;
  const RankStages whole = counted;
  if (simulated) {
    result = inference_result(experiment, problem, counted);
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
        tell("continuing after layer {} of {}\n", done, problem.layers());
    }
    const calibrate::WorkWatch watch;
    const auto [outcome, flush_seconds] =
        infer_for_real(problem, experiment, options, folder, layers ? &*layers : nullptr, job);
    const calibrate::OtherWork others = others_beside(job, watch.reading());
    if (!job.leads()) return;
    result = inference_result(experiment, problem, counted);
    result["kernels"] = outcome.kernels;
    result["received_bytes"] = counted_bytes(outcome);
    result["stages"] =
        stages_json(problem, &prepared.before, counted, slowest_seconds(outcome, done));
    result["flush_seconds"] = flush_seconds;
    result["other_work"] = calibrate::other_work_json(others);
    result["resumed_after_layer"] = done > 0 ? Json(done) : Json(nullptr);
    for (int layer = 1; layer <= done; ++layer)
      prepared.taken_over.push_back(stage_names(problem.layers())[at(layer)]);
    result["taken_over"] = prepared.taken_over;
    result["seconds"] = total_seconds(result["stages"]);
    if (job.world == nullptr && !experiment.simulate_on.empty())
      result["simulated_on"] = simulate_elsewhere(problem, experiment, whole, options.quiet);
  }
  result["fewest_bytes"] = nullptr;
  result["out_dir"] = folder.string();
  result["provenance"] = provenance();
  results->write("config.json", experiment.resolved.dump(2) + "\n");
  results->write("result.json", result.dump(2) + "\n");
  remove_kept_files(folder / "layers");
  result["fewest_bytes"] =
      fewest_bytes(experiment, problem, whole);  // may take seconds: the result is there
  if (!result["fewest_bytes"].is_null()) results->write("result.json", result.dump(2) + "\n");
  if (!options.quiet && !options.json) print_inference(result);
  if (options.json) fmt::print("{}\n", result.dump());
}

/// Prepares an inference and opens its folder on the leading rank: first, if the input is kept there
/// while it is prepared. An earlier result stays until nothing can fail, and its folder is opened last.
PreparedInference prepare_in(std::optional<ResultFolder>& results, const Experiment& experiment,
                             const InferOptions& options, const fs::path& folder, const Job& job) {
  const auto open = [&] {
    if (job.leads()) results.emplace(folder, options.existing());
    std::string there = folder.string();
    job.share(there);  // the folder is there
    if (job.world != nullptr) require_shared_folder(job, folder);
  };
  const fs::path kept_in = folder / "layers";
  std::string replaces = fs::exists(folder / "result.json") ? "yes" : "no";
  job.share(replaces);
  if (replaces == "no") {
    if (keeps_files(options)) open();
    const auto kept = opened_input(experiment, options, kept_in, job);
    PreparedInference prepared = prepare(experiment, options, kept ? &*kept : nullptr, job);
    if (!keeps_files(options)) open();
    return prepared;
  }
  PreparedInference prepared = prepare(experiment, options, nullptr, job);
  open();
  if (const auto kept = opened_input(experiment, options, kept_in, job)) {
    if (keeps_rows(experiment))
      kept->put_rows(prepared.problem.data->graph, prepared.problem.data->edges);
    kept->put_draws(prepared.problem.graphs->drawn());
  }
  return prepared;
}

Experiment experiment_of(const InferOptions& options, const Launch& launch) {
  const auto experiments = load_experiments(options.file, options.overrides, launch.size);
  if (experiments.size() > 1 || !experiments.front().label.empty())
    throw ConfigError("sweep",
                      "orrery infer takes one experiment: choose a combination with "
                      "--set");
  require_inferable(experiments.front(), options.plan);
  refuse_sensitivity(experiments.front(), "orrery infer");
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
                                    options.anyway, options.resume, "infer"}) +
                        (options.keep_layers ? " --keep-layers" : "") +
                        (options.json ? " --json" : "") + (options.quiet ? " --quiet" : "")));
  if (!e.over_mpi() && launch.size > 1)
    throw ConfigError("backend",
                      fmt::format("{} processes were started, but backend \"{}\" is one process: "
                                  "start it without mpirun or srun, or add --backend mpi",
                                  launch.size, e.backend));
}

/// The error, with a remedy.
std::string with_inference_advice(const OutOfMemory& error) {
  return fmt::format(
      "{}; more ranks or smaller inference.group_bytes need less, and orrery infer --plan shows "
      "what "
      "each layout holds",
      error.what());
}

/// An existing result of the same experiment, if asked to resume.
bool already_complete(const InferOptions& options, const fs::path& folder,
                      const Experiment& experiment) {
  if (!options.resume || !fs::exists(folder / "result.json") ||
      !fs::exists(folder / "embeddings" / "meta.json"))
    return false;
  const fs::path kept = folder / "config.json";
  return fs::exists(kept) && bytes_of(kept) == experiment.resolved.dump(2) + "\n";
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
    print_inference_plan(experiment, options.json);
    return 0;
  }
  require_started_right(experiment, options, launch);
  const fs::path folder =
      options.out.empty() ? default_result_folder(experiment.name) : fs::path(options.out);
  if (options.resume && options.out.empty())
    throw ConfigError("--resume", "needs --out, the folder of the inference to continue");
  if (experiment.backend == "sim" && (options.keep_layers || options.resume))
    throw ConfigError(options.resume ? "--resume" : "--keep-layers",
                      "a simulation computes no layers to keep: leave it out");
  if (already_complete(options, folder, experiment)) {
    if (launch.rank > 0) return 0;
    const fs::path file = folder / "result.json";
    const JsonReader kept_result(bytes_of(file), file.string());
    // They are left if a start was ended just after it wrote its result.
    remove_kept_files(folder / "layers");
    remove_unfinished(folder);
    tell("{}: the inference is complete, there is nothing to resume\n", folder.string());
    if (options.json) fmt::print("{}\n", kept_result.json().dump());
    return 0;
  }
  if (!experiment.over_mpi()) {
    require_replaceable(folder, options.existing());
    heed_signals(false, true);
    tell_activities(!options.quiet);
    try {
      std::optional<ResultFolder> results;
      PreparedInference prepared = prepare_in(results, experiment, options, folder, {});
      infer(std::move(prepared), experiment, options, folder, &*results, {});
    } catch (const OutOfMemory& error) {
      throw Error(with_inference_advice(error));
    }
    return 0;
  }
  heed_signals(true, launch.rank == 0);
  tell_activities(launch.rank == 0 && !options.quiet);
  Speaker speaker(options.out);
  MpiOptions mpi;
  mpi.may_report = [&](const JobFailure& failure) { return speaker.may_speak(failure); };
  mpi.ending = &ended_from_outside();
  mpi.processes = launch.size;
  MpiWorld world(mpi);
  world.run([&](Communicator& communicator) {
    const Job job{&world, &communicator};
    require_same_settings(job, {experiment});
    std::string shared = folder.string();
    job.share(shared);
    if (job.leads()) require_replaceable(shared, options.existing());
    job.share(shared);  // others begin when the folder is ready
    try {
      std::optional<ResultFolder> results;
      PreparedInference prepared = prepare_in(results, experiment, options, shared, job);
      speaker.meet_in(shared);
      infer(std::move(prepared), experiment, options, shared, results ? &*results : nullptr, job);
    } catch (const OutOfMemory& error) {
      world.fail(with_inference_advice(error));
    }
  });
  return 0;
}

}  // namespace orrery
