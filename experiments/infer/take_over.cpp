#include "experiments/infer/take_over.hpp"

#include <string>

#include "core/graph/files/checksum.hpp"
#include "core/terminal/activity.hpp"
#include "experiments/infer/inference_report.hpp"
#include "experiments/infer/read_edges.hpp"

namespace orrery {
namespace {

/// Of every file that the rows of the graph are read from.
std::string checksums_of_edges(const Experiment& experiment) {
  const Activity checking("checking the files of edges");
  std::string all;
  if (experiment.dataset.edge_list)
    for (const std::string& file : experiment.dataset.edge_list->files) all += file_checksum(file);
  else if (const auto folder = folder_of_ranges(experiment))
    for (const char* name : {"meta.json", "edges.npy"}) all += file_checksum(*folder / name);
  return all;
}

nlohmann::ordered_json input_identity(const Experiment& experiment) {
  const InferenceConfig& config = experiment.inference;
  return {{"dataset", experiment.resolved["dataset"]},
          {"contents of the edges", checksums_of_edges(experiment)},
          {"seed", experiment.seed},
          {"over MPI", experiment.over_mpi()},
          {"model", experiment.resolved["model"]},
          {"inference",
           {{"rows", config.rows},
            {"columns", config.columns},
            {"fanout", config.fanout},
            {"spmm", name_of(config.spmm)},
            {"sddmm", name_of(config.sddmm)}}}};
}

}  // namespace

bool keeps_rows(const Experiment& experiment) {
  return experiment.dataset.edge_list ||
         (folder_of_ranges(experiment) && experiment.dataset.missing_features.empty());
}

bool keeps_input(const Experiment& experiment) {
  return keeps_rows(experiment) || !experiment.dataset.generator.empty();
}

KeptInput open_input(const Experiment& experiment, const std::filesystem::path& folder, bool resume,
                     const Job& job) {
  const TileLayout layout{0, experiment.inference.rows, experiment.inference.columns};
  const bool alone = job.world == nullptr;
  std::string there = "..";
  if (job.leads()) {
    const auto found =
        open_kept_input(folder, input_identity(experiment), alone ? 1 : layout.row_parts, resume);
    there = {found.rows ? 'y' : 'n', found.draws ? 'y' : 'n'};
  }
  job.share(there);
  const int rank = alone ? 0 : job.world->rank();
  return {folder,
          {there[0] == 'y', there[1] == 'y'},
          layout.part_of(rank),
          layout.column_of(rank) == 0};
}

}  // namespace orrery
