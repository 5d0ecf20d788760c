#include "experiments/run/experiment_stages.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/base/error.hpp"
#include "core/graph/files/folder_in_progress.hpp"
#include "core/partition/kept/kept_cuts.hpp"
#include "core/partition/parts/partitioned_dataset.hpp"
#include "core/partition/parts/write_parts.hpp"
#include "core/strategy/config/strategy_info.hpp"
#include "core/terminal/activity.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/predict/servers/reading.hpp"
#include "experiments/run/interruption.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Seconds that `work` takes.
template <class Work>
double timed(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void require_cuttable(const Experiment& experiment) {
  if (experiment.backend != "threads" && experiment.backend != "sim")
    throw ConfigError("backend", fmt::format("found \"{}\", but orrery breakdown trains on threads "
                                             "or simulated: set it to threads or sim",
                                             experiment.backend));
  if (!experiment.parts.empty())
    throw ConfigError("dataset.parts", "is already cut into parts: name the data set");
  if (experiment.statistics)
    throw ConfigError("dataset.statistics", "describe no graph to cut: name a data set");
  if (experiment.dataset.magnify > 1)
    throw ConfigError("dataset.magnify",
                      fmt::format("found {}, but copies are not written into parts: set it to 1",
                                  experiment.dataset.magnify));
}

Experiment cut_by(const Experiment& experiment, const std::string& method) {
  Json file = experiment.base;
  file["partition"]["method"] = method;
  return parse_experiments(file.dump(), experiment.name, {}).front();
}

/// Whether the files of the experiment pass the storage of a simulated cluster.
bool over_storage(const Experiment& experiment) {
  return experiment.backend == "sim" && experiment.cluster->storage.has_rate();
}

/// The stages up to the training. The parts lie in `folder` meanwhile, which a start after a kill clears.
CutStages prepare_parts(const Experiment& experiment, const ProblemData& data,
                        const fs::path& folder, Simulator& simulator) {
  CutStages stages;
  stages.method = experiment.partition.method;
  Partition cut;
  stages.partition = timed([&] { cut = make_partition(experiment, data); });
  const FolderInProgress unfinished(folder / (stages.method + "-parts"), false, {});
  const fs::path parts = unfinished.path() / "parts";
  {
    const Activity writing(fmt::format("writing the parts of {}", stages.method));
    stages.save =
        timed([&] { write_parts(*data.data, cut, {.method = stages.method, .hops = 1}, parts); });
  }
  stages.bytes = bytes_below(parts);
  if (over_storage(experiment)) {
    BytesOfRanks bytes;
    for (int part = 0; part < cut.parts; ++part)
      bytes.push_back(bytes_below(part_folder(parts, part)));
    stages.storage_save =
        storage_seconds(experiment, by_first_server(experiment, stages.bytes), simulator);
    stages.storage_load_parts =
        storage_seconds(experiment, by_owners(experiment, bytes), simulator);
  }
  const Activity reading(fmt::format("reading the parts of {}", stages.method));
  const PartitionedDataset stored(parts);
  for (int part = 0; part < cut.parts; ++part) {
    const double seconds = timed([&] { stored.read(part); });
    stages.load_all_parts += seconds;
    stages.load_parts = std::max(stages.load_parts, seconds);
  }
  return stages;
}

}  // namespace

std::optional<double> pays_after(double once, double each, double other_once, double other_each) {
  if (once <= other_once) return each <= other_each ? std::optional(0.0) : std::nullopt;
  if (each >= other_each) return std::nullopt;
  return std::floor((once - other_once) / (other_each - each)) + 1;
}

ExperimentStages measure_stages(const Experiment& experiment,
                                const std::vector<std::string>& methods, const fs::path& folder,
                                Runner& runner) {
  require_cuttable(experiment);
  const CutsAnew measured;  // a cut that is read tells nothing of its method
  std::vector<Experiment> cuts;
  for (const std::string& method : methods) cuts.push_back(cut_by(experiment, method));
  ExperimentStages made;
  made.reads_all = !info_of(experiment.strategy).needs_whole_data.empty();
  made.simulated = experiment.backend == "sim";
  if (made.simulated) made.cluster = experiment.cluster->name;
  fs::create_directories(folder);
  {
    DatasetCache datasets;
    ProblemData data;
    made.load = timed([&] { data = datasets.load(experiment); });
    Simulator simulator(&stop_requested());
    if (over_storage(experiment)) {
      const std::int64_t bytes = data_bytes(data.facts());
      made.storage_load =
          storage_seconds(experiment, by_first_server(experiment, bytes), simulator);
      made.storage_load_everywhere =
          storage_seconds(experiment, by_each_server(experiment, bytes), simulator);
    }
    for (const Experiment& cut : cuts)
      made.methods.push_back(prepare_parts(cut, data, folder, simulator));
  }
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    const ResultFolder results(folder / cuts[i].partition.method, Existing::overwrite);
    const auto run = runner.run(cuts[i], &results);
    if (!run->not_written.empty()) throw Error(run->not_written);
    CutStages& stages = made.methods[i];
    stages.epoch = run->result["epoch_seconds"];
    stages.epochs = cuts[i].train.epochs;
    if (run->result.contains("usd_per_epoch")) stages.usd_per_epoch = run->result["usd_per_epoch"];
    if (const Json& bytes = run->result["bytes"]; !bytes.is_null())
      stages.communicated = bytes["internal"].get<double>() + bytes["external"].get<double>();
  }
  return made;
}

}  // namespace orrery
