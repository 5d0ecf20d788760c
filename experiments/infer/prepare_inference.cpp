#include "experiments/infer/prepare_inference.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string_view>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/graph/files/checksum.hpp"
#include "core/runtime/recording.hpp"
#include "core/terminal/activity.hpp"
#include "experiments/infer/read_edges.hpp"
#include "experiments/infer/sample_stage.hpp"
#include "experiments/infer/take_over.hpp"
#include "experiments/run/agreement.hpp"

namespace orrery {

namespace {

std::string_view bytes_of_array(const auto& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(*values.data())};
}

/// A checksum of the rows of a part, and of their features.
std::string contents_of_part(const InferenceProblem& problem, int part) {
  constexpr std::int64_t kBlock = 4096;
  const Share rows = problem.layout().rows(part);
  const Features& features = *problem.data->features;
  std::string all;
  for (std::int64_t first = rows.first; first < rows.end(); first += kBlock) {
    std::vector<Vertex> vertices, numbers;  // numbers: the length of each row, and its columns
    for (std::int64_t v = first; v < std::min(first + kBlock, rows.end()); ++v) {
      vertices.push_back(static_cast<Vertex>(v));
      const auto row = problem.data->graph.row(v);
      numbers.push_back(static_cast<Vertex>(row.size()));
      numbers.insert(numbers.end(), row.begin(), row.end());
    }
    std::vector<float> values(vertices.size() * at(features.width()));
    features.read(vertices, 0, features.width(), values.data(), features.width());
    all += checksum(bytes_of_array(numbers)) + checksum(bytes_of_array(values));
  }
  return checksum(all);
}

/// A line of what the system says of this process's memory, in bytes; nothing if it does not.
std::optional<std::int64_t> told_of_memory(std::string_view key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key)) return std::stoll(line.substr(key.size())) * 1024;
  return std::nullopt;
}

/// Loads the data set and says what that took: seconds, and how far the process grew at most, by arrays
/// and by pages of files that it maps. The peak is not reset for that: others measure it, too.
StageBefore read_whole(const Experiment& experiment, std::shared_ptr<const InferenceData>& into) {
  const auto before = told_of_memory("VmRSS:"), peak_before = told_of_memory("VmHWM:");
  const auto begin = std::chrono::steady_clock::now();
  DatasetCache datasets;
  Experiment without_files = experiment;  // rows in files are not read here
  without_files.dataset.feature_files.clear();
  const ProblemData data = datasets.load(without_files);
  into = data.statistics ? inference_data(*data.statistics)
                         : inference_data(data.whole ? *data.whole->data : *data.data);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  StageBefore read{"read", took.count(), 0};
  // A peak that is higher than that of all before was reached here.
  const auto peak = told_of_memory("VmHWM:");
  if (before && peak && peak_before && *peak > *peak_before) read.peak_bytes = *peak - *before;
  return read;
}

}  // namespace

StageBefore of_all_ranks(const StageBefore& mine, const Job& job) {
  if (job.world == nullptr) return mine;
  StageBefore all = mine;
  all.received_bytes = 0;
  const nlohmann::ordered_json told{mine.seconds, mine.received_bytes,
                                    mine.peak_bytes.value_or(-1)};
  for (const std::string& text : job.world->all_gather(told.dump())) {
    const auto one = nlohmann::ordered_json::parse(text);
    all.seconds = std::max(all.seconds, one[0].get<double>());
    all.received_bytes += one[1].get<double>();
    const auto peak = one[2].get<std::int64_t>();
    if (peak >= 0) all.peak_bytes = std::max(all.peak_bytes.value_or(0), peak);
  }
  return all;
}

std::string contents_of(const InferenceProblem& problem, const Job& job) {
  const Activity activity("checking what the data set holds");
  const TileLayout layout = problem.layout();
  std::string all;
  if (job.world == nullptr) {
    for (int part = 0; part < layout.row_parts; ++part) all += contents_of_part(problem, part);
    return checksum(all);
  }
  const int rank = job.world->rank();
  const auto each = job.world->all_gather(
      layout.column_of(rank) == 0 ? contents_of_part(problem, layout.part_of(rank)) : "");
  for (const std::string& text : each) all += text;
  return checksum(all);
}

LoadedInference load_inference(const Experiment& experiment, const Job& job,
                               const KeptInput* kept) {
  if (experiment.links)
    throw ConfigError(
        "links",
        "orrery infer computes the classes of vertices, and a model of links has none: "
        "leave links out");
  if (experiment.dataset.reorder != "none")
    throw ConfigError("dataset.reorder",
                      "numbers vertices anew, and embeddings are rows by number: set it to none");
  LoadedInference loaded;
  const std::string& files = experiment.dataset.feature_files;
  if (kept != nullptr && kept->there().rows) {
    const Activity reading("reading the rows that were kept");
    loaded = load_kept(experiment, *kept, job);
  } else if (experiment.dataset.edge_list) {
    const Activity reading(loading_words(experiment.dataset));
    loaded = load_edge_list(experiment, job);
  } else if (job.world != nullptr && folder_of_ranges(experiment)) {
    const Activity reading(loading_words(experiment.dataset));
    loaded = load_ranges(experiment, job);
  } else {
    const StageBefore read = read_whole(experiment, loaded.data);
    require_same_data(
        job, fmt::format("{} vertices, {} edges", loaded.data->vertices(), loaded.data->edges));
    loaded.stages.push_back(of_all_ranks(read, job));
  }
  if (kept != nullptr && !loaded.taken_over && keeps_rows(experiment))
    kept->put_rows(loaded.data->graph, loaded.data->edges);
  const auto settings = experiment.resolved.value("inference", nlohmann::ordered_json::object());
  if (experiment.statistics && settings.contains("preparation") && loaded.data->features) {
    auto with_files = std::make_shared<InferenceData>(*loaded.data);
    with_files->feature_files = std::make_shared<const FeatureFiles>(
        FeatureFiles::counted(loaded.data->vertices(), loaded.data->features->width()));
    loaded.data = std::move(with_files);
  }
  if (!files.empty()) {
    const Activity reading("reading which vertices the rows in " + files + " are of");
    auto with_files = std::make_shared<InferenceData>(*loaded.data);
    with_files->feature_files =
        std::make_shared<const FeatureFiles>(files, loaded.data->vertices());
    with_files->features = features_in(*with_files, experiment.inference);
    loaded.data = std::move(with_files);
  }
  if (!loaded.data->features)
    throw ConfigError(
        "dataset.features",
        fmt::format("'{}' has no features; set it to {} to infer from random ones",
                    loaded.data->name,
                    experiment.dataset.generator.empty() ? "{\"random\": width}" : "their width"));
  return loaded;
}

std::shared_ptr<const Features> features_in(const InferenceData& data,
                                            const InferenceConfig& config) {
  if (data.feature_files->is_counted()) return data.features;
  return config.preparation == Preparation::scan ? scanned_features(data.feature_files)
                                                 : located_features(data.feature_files);
}

double feature_file_bytes(const InferenceProblem& problem) {
  if (!problem.data->feature_files) return 0;
  const auto once = static_cast<double>(problem.data->feature_files->bytes());
  return problem.config.preparation == Preparation::scan ? problem.layout().ranks() * once : once;
}

std::shared_ptr<const InferenceData> with_classes(std::shared_ptr<const InferenceData> data,
                                                  const Experiment& experiment,
                                                  const TrainedWeights* weights) {
  if (weights == nullptr) return data;
  auto same = std::make_shared<InferenceData>(*data);
  same->classes = classes_of(experiment.model, data->features->width(), *weights);
  return same;
}

InferenceProblem inference_of(const Experiment& experiment,
                              std::shared_ptr<const InferenceData> data) {
  InferenceProblem problem;
  problem.data = std::move(data);
  problem.model = experiment.model;
  problem.train_seed = experiment.train.seed;
  problem.config = experiment.inference;
  problem.column_tiles = experiment.strategy.column_tiles;
  return problem;
}

RankStages count_stages(const InferenceBody& body, const Job& job) {
  const Activity counting("counting what the ranks move and hold");
  const auto of_rank = [&](int rank) {
    return stage_costs(record_rank(body, rank, body.epochs(), {}), body.epochs());
  };
  RankStages all;
  if (job.world == nullptr) {
    for (int rank = 0; rank < body.ranks(); ++rank) all.push_back(of_rank(rank));
    return all;
  }
  for (const std::string& text : job.world->all_gather(to_json(of_rank(job.world->rank())).dump()))
    all.push_back(stage_costs_from(nlohmann::ordered_json::parse(text)));
  return all;
}

RankStages fit_groups(InferenceProblem& problem, const std::optional<std::int64_t>& device_bytes,
                      const std::function<RankStages(const InferenceProblem&)>& count) {
  RankStages stages = count(problem);
  const bool groups = problem.config.spmm != SparseProduct::exchange_graph;
  if (problem.config.group_bytes > 0 || !device_bytes || !groups) return stages;
  const auto widths =
      widths_of(problem.model, problem.data->features->width(), problem.data->classes);
  const std::int64_t row = bytes_of(DType::f32) * *std::max_element(widths.begin(), widths.end());
  std::int64_t bytes = row * problem.data->vertices() / problem.config.rows;
  // Half of what a whole part would take may still be more than the rows that are cut into groups
  // take, and then changes nothing; and a peak may rise before it falls again, because groups fall
  // on other rows.
  constexpr int kRises = 2;
  for (int rises = 0; largest_peak(stages) > *device_bytes && bytes > row && rises < kRises;) {
    bytes /= 2;
    InferenceProblem smaller = problem;
    smaller.config.group_bytes = bytes;
    RankStages fewer = count(smaller);
    const std::int64_t before = largest_peak(stages), now = largest_peak(fewer);
    if (now > before) ++rises;
    if (now >= before) continue;
    rises = 0;
    problem.config.group_bytes = bytes;
    stages = std::move(fewer);
  }
  return stages;
}

RankStages fit_groups(InferenceProblem& problem, const std::optional<std::int64_t>& device_bytes,
                      const Job& job) {
  std::int64_t counted_with = problem.config.group_bytes;
  const auto count = [&](const InferenceProblem& asked) {
    if (asked.config.group_bytes == counted_with) return count_stages(InferenceBody(asked), job);
    InferenceProblem located = asked;
    located.input = locate_input(located, job);
    return count_stages(InferenceBody(located), job);
  };
  RankStages stages = fit_groups(problem, device_bytes, count);
  if (problem.config.group_bytes != counted_with) problem.input = locate_input(problem, job);
  return stages;
}

std::int64_t peak_of(const std::vector<StageCost>& stages) {
  std::int64_t most = 0;
  for (const StageCost& stage : stages) most = std::max(most, stage.peak_bytes);
  return most;
}

std::int64_t largest_peak(const RankStages& stages) {
  std::int64_t most = 0;
  for (const auto& rank : stages) most = std::max(most, peak_of(rank));
  return most;
}

double received_bytes_of(const RankStages& stages) {
  double sum = 0;
  for (const auto& rank : stages)
    for (const StageCost& stage : rank) sum += stage.received_bytes;
  return sum;
}

}  // namespace orrery
