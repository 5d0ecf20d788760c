#include "experiments/infer/read_edges.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/graph/read/choices.hpp"
#include "core/graph/read/lookup.hpp"
#include "core/graph/read/streamed_dataset.hpp"
#include "core/inference/input/edge_list_files.hpp"
#include "core/terminal/plain_text.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kPiece = 1 << 20;  // edges

/// Every rank's value, by rank.
std::vector<Json> told_by_all(const Job& job, const Json& mine) {
  if (job.world == nullptr) return {mine};
  std::vector<Json> all;
  for (const std::string& text : job.world->all_gather(mine.dump()))
    all.push_back(Json::parse(text));
  return all;
}

double received_so_far(const Job& job) {
  double bytes = 0;
  if (job.communicator != nullptr)
    for (const std::int64_t from : job.communicator->received_from())
      bytes += static_cast<double>(from);
  return bytes;
}

/// The two stages, for the slowest rank.
std::vector<StageBefore> stages_of(const Job& job, const RowsCost& cost, double received,
                                   double file_bytes) {
  StageBefore read{"read edges"}, build{"build the distributed CSR"};
  read.file_bytes = file_bytes;
  read.received_bytes = 0;
  build.received_bytes = 0;
  build.peak_bytes = 0;
  for (const Json& one :
       told_by_all(job, {cost.read_seconds, cost.build_seconds, received, cost.peak_bytes})) {
    read.seconds = std::max(read.seconds, one[0].get<double>());
    build.seconds = std::max(build.seconds, one[1].get<double>());
    *build.received_bytes += one[2].get<double>();
    build.peak_bytes = std::max(*build.peak_bytes, one[3].get<std::int64_t>());
  }
  return {read, build};
}

std::shared_ptr<const Features> in_its_type(std::shared_ptr<const Features> features,
                                            const DatasetOptions& options) {
  return features && options.half_features ? half_features(std::move(features)) : features;
}

/// How the rows of a graph are dealt: a single process has all of them.
TileLayout layout_of(const Experiment& experiment, const Job& job, std::int64_t vertices) {
  if (job.world == nullptr) return {vertices, 1, 1};
  return {vertices, experiment.inference.rows, experiment.inference.columns};
}

/// The number of vertices in the files, if nobody gives it: up to the largest number.
std::int64_t count_vertices(const EdgeListFiles& files, int rank, int ranks, const Job& job) {
  const auto share = files.share(rank, ranks);
  std::vector<Edge> piece;
  do share->next(kPiece, piece);
  while (!piece.empty());
  std::int64_t largest = -1;
  for (const Json& one : told_by_all(job, share->largest()))
    largest = std::max(largest, one.get<std::int64_t>());
  return largest + 1;
}

}  // namespace

std::optional<fs::path> folder_of_ranges(const Experiment& experiment) {
  const DatasetOptions& d = experiment.dataset;
  const bool folder = d.format == "auto" || d.format == "orrery";
  if (d.path.empty() || !folder || d.reorder != "none") return std::nullopt;
  const auto found = find_dataset(d.path);
  if (!found || !fs::exists(*found / "edges.npy")) return std::nullopt;
  return found;
}

LoadedInference load_ranges(const Experiment& experiment, const Job& job) {
  const StreamedDataset streamed = open_streamed_dataset(experiment.dataset);
  NpyEdges edges(streamed.edges, streamed.vertices);
  const double before = received_so_far(job);
  RowsCost cost;
  HeldRows rows =
      build_rows(edges, streamed.mirrored, layout_of(experiment, job, streamed.vertices),
                 job.world->rank(), *job.communicator, kPiece, &cost);
  if (streamed.says_undirected && !rows.symmetric)
    throw DataError(streamed.edges.string(), "",
                    "expected the reverse of every edge, as \"directed\" of meta.json says, and "
                    "some have none; set dataset.symmetric to true, which adds them, or "
                    "\"directed\" to true");
  const double received = received_so_far(job) - before;
  return {std::make_shared<const InferenceData>(InferenceData{
              streamed.name, streamed.generated, edges.size() * (streamed.mirrored ? 2 : 1),
              std::move(rows), std::nullopt,
              in_its_type(streamed.rows.features, experiment.dataset), streamed.rows.classes}),
          stages_of(job, cost, received, 8.0 * static_cast<double>(edges.size()))};
}

LoadedInference load_edge_list(const Experiment& experiment, const Job& job) {
  const DatasetOptions& options = experiment.dataset;
  const EdgeListFiles files(*options.edge_list);
  const int rank = job.world == nullptr ? 0 : job.world->rank();
  const int ranks = job.world == nullptr ? 1 : experiment.ranks();
  const bool stated = options.edge_list->vertices.has_value();

  const auto counting = Clock::now();
  const std::int64_t vertices =
      stated ? *options.edge_list->vertices : count_vertices(files, rank, ranks, job);
  const double counted = std::chrono::duration<double>(Clock::now() - counting).count();
  if (vertices == 0) files.require_edges(std::vector<std::int64_t>(files.files().size(), 0));

  const auto share = files.share(rank, ranks);
  const double before = received_so_far(job);
  RowsCost cost;
  HeldRows rows = build_rows(*share, options.symmetric, layout_of(experiment, job, vertices), rank,
                             job.communicator, kPiece, &cost);
  const double received = received_so_far(job) - before;
  cost.read_seconds += counted;

  std::vector<std::int64_t> edges_by_file(files.files().size(), 0);
  for (const Json& one : told_by_all(job, share->edges_by_file()))
    for (std::size_t i = 0; i < edges_by_file.size(); ++i)
      edges_by_file[i] += one[i].get<std::int64_t>();
  files.require_edges(edges_by_file);
  std::int64_t edges = 0;
  for (const std::int64_t count : edges_by_file) edges += count * (options.symmetric ? 2 : 1);

  double bytes = 0;
  for (const auto& file : files.files()) bytes += static_cast<double>(file.bytes);
  std::shared_ptr<const Features> features;
  std::vector<std::string> notes;
  choose_features(features, notes, vertices, options);
  return {std::make_shared<const InferenceData>(
              InferenceData{one_line(files.files().front().path.stem().string()), false, edges,
                            std::move(rows), std::nullopt, in_its_type(features, options), 0}),
          stages_of(job, cost, received, bytes * (stated ? 1 : 2))};
}

}  // namespace orrery
