#include "experiments/infer/inference_report.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/index.hpp"
#include "core/base/units.hpp"
#include "experiments/config/version.hpp"
#include "experiments/infer/layer_orders.hpp"
#include "experiments/infer/plan_inference.hpp"
#include "experiments/results/table.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

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

}  // namespace

std::string name_of(DenseProduct gemm) { return gemm == DenseProduct::ring ? "ring" : "reduce"; }

std::string name_of(SparseProduct spmm) {
  switch (spmm) {
    case SparseProduct::ids_then_rows:
      return "ids_then_rows";
    case SparseProduct::exchange_graph:
      return "exchange_graph";
    case SparseProduct::two_d:
      return "2d";
  }
  return {};
}

std::string name_of(EdgeProduct sddmm) {
  return sddmm == EdgeProduct::split ? "split" : "duplicated";
}

std::string name_of(Preparation preparation) {
  switch (preparation) {
    case Preparation::scan:
      return "scan";
    case Preparation::redistribute:
      return "redistribute";
    case Preparation::fused:
      return "fused";
  }
  return {};
}

Json preparation_of(const InferenceProblem& problem) {
  return problem.data->feature_files ? Json(name_of(problem.config.preparation)) : Json(nullptr);
}

std::vector<std::string> stage_names(int layers) {
  std::vector<std::string> names{"features"};
  for (int l = 1; l <= layers; ++l) names.push_back(fmt::format("layer {}", l));
  names.emplace_back("write");
  return names;
}

std::vector<double> slowest_seconds(const Outcome& outcome, int done) {
  std::vector<double> ends(at(done) + 1, 0);  // of stages, for the last rank; 0 before `done`
  for (const RankOutcome& rank : outcome.ranks) {
    double end = rank.seconds_to_first_epoch;
    ends[0] = std::max(ends[0], end);
    ends.resize(std::max(ends.size(), at(done) + rank.epochs.size() + 1));
    for (std::size_t e = 0; e < rank.epochs.size(); ++e) {
      end += rank.epochs[e].seconds;
      double& last = ends[at(done) + e + 1];
      last = std::max(last, end);
    }
  }
  std::vector<double> seconds(ends.size(), 0);
  seconds[0] = ends[0];
  for (std::size_t s = at(done) + 1; s < ends.size(); ++s)
    seconds[s] = ends[s] - (s == at(done) + 1 ? ends[0] : ends[s - 1]);
  return seconds;
}

Json stages_json(const InferenceProblem& problem, const std::vector<StageBefore>* before,
                 const RankStages& counted, const std::vector<double>& seconds) {
  Json list = Json::array();
  if (before != nullptr)
    for (const StageBefore& stage : *before) {
      list.push_back({{"name", stage.name},
                      {"seconds", stage.seconds},
                      {"received_bytes", stage.received_bytes},
                      {"peak_bytes", stage.peak_bytes ? Json(*stage.peak_bytes) : Json()}});
      if (stage.file_bytes) list.back()["file_bytes"] = *stage.file_bytes;
    }
  const auto names = stage_names(problem.layers());
  for (std::size_t s = 0; s < names.size(); ++s) {
    double received = 0;
    std::int64_t peak = 0;
    for (const auto& rank : counted) {
      received += rank[s].received_bytes;
      peak = std::max(peak, rank[s].peak_bytes);
    }
    list.push_back({{"name", names[s]},
                    {"seconds", nullptr},
                    {"received_bytes", received},
                    {"peak_bytes", peak}});
    if (s > 0 || before != nullptr) list.back()["seconds"] = seconds[s];
    if (s == 0 && problem.data->feature_files)
      list.back()["file_bytes"] = feature_file_bytes(problem);
  }
  return list;
}

Json inference_result(const Experiment& experiment, const InferenceProblem& problem,
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
              {"gemm", name_of(config.gemm)},
              {"spmm", name_of(config.spmm)},
              {"sddmm", nullptr},
              {"order", nullptr},
              {"preparation", preparation_of(problem)},
              {"neighbours", neighbours},
              {"planned_received_bytes", received_bytes_of(counted)},
              {"received_bytes", nullptr},
              {"peak_bytes", peaks},
              {"taken_over", Json::array()},
              {"flush_seconds", nullptr}};
  if (config.group_bytes > 0) result["group_bytes"] = config.group_bytes;
  if (weighs_edges(problem.model))
    result["sddmm"] = name_of(config.sddmm);
  else
    result["order"] = order_json(orders_of(problem, config));
  return result;
}

double total_seconds(const Json& stages) {
  double sum = 0;
  for (const Json& stage : stages)
    if (stage["seconds"].is_number()) sum += stage["seconds"].get<double>();
  return sum;
}

void print_inference(const Json& result) {
  fmt::print(
      "\n{}: {} vertices, {} columns, {} ranks as {} rows x {} columns, {}\n\n",
      result["name"].get<std::string>(), result["vertices"].get<std::int64_t>(),
      result["columns_out"].get<std::int64_t>(), result["ranks"].get<int>(),
      result["rows"].get<int>(), result["columns"].get<int>(),
      result["backend"] == "sim" ? "simulated" : "as " + result["backend"].get<std::string>());
  fmt::print("{}{}", stages_text(result), fewest_bytes_text(result));
  const Json others = result.value("simulated_on", Json::object());
  for (const auto& [cluster, told] : others.items())
    if (told.contains("not_simulated"))
      fmt::print("not simulated on {}: {}\n", cluster, told["not_simulated"].get<std::string>());
  if (result["backend"] != "sim")
    fmt::print("embeddings: {}/embeddings\n", result["out_dir"].get<std::string>());
}

}  // namespace orrery
