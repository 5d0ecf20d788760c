#include "experiments/infer/read_edges.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

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
#include "experiments/infer/kept/array_file.hpp"
#include "experiments/run/agreement.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kPiece = 1 << 20;  // edges

/// Every rank's value, by rank. `received`: grows by the bytes that come from other ranks.
std::vector<Json> told_by_all(const Job& job, const Json& mine, double& received) {
  if (job.world == nullptr) return {mine};
  std::vector<Json> all;
  received -= static_cast<double>(mine.dump().size());  // comes back from oneself
  for (const std::string& text : job.world->all_gather(mine.dump())) {
    received += static_cast<double>(text.size());
    all.push_back(Json::parse(text));
  }
  return all;
}

double received_so_far(const Job& job) {
  double bytes = 0;
  if (job.communicator != nullptr)
    for (const std::int64_t from : job.communicator->received_from())
      bytes += static_cast<double>(from);
  return bytes;
}

/// What reading the edges took on this rank.
struct EdgesRead {
  std::int64_t edges = 0;  ///< its share
  double received = 0;     ///< numbers of vertices and edges that ranks told each other
  double file_bytes = 0;   ///< of all ranks
};

/// The two stages. Edges are read into one piece of memory, and dealt from there before the next ones.
std::vector<StageBefore> stages_of(const Job& job, const EdgesRead& read, const RowsCost& cost,
                                   double received) {
  const std::int64_t piece = std::int64_t{sizeof(Edge)} * std::min(kPiece, read.edges);
  return {
      of_all_ranks({"read edges", cost.read_seconds, read.received, piece, read.file_bytes}, job),
      of_all_ranks({"build the distributed CSR", cost.build_seconds, received, cost.peak_bytes},
                   job)};
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
std::int64_t count_vertices(const EdgeListFiles& files, int rank, int ranks, const Job& job,
                            double& received) {
  const auto share = files.share(rank, ranks);
  std::vector<Edge> piece;
  do share->next(kPiece, piece);
  while (!piece.empty());
  std::int64_t largest = -1;
  for (const Json& one : told_by_all(job, share->largest(), received))
    largest = std::max(largest, one.get<std::int64_t>());
  return largest + 1;
}

/// The input with these rows of its graph: of a data set folder, of files of edges.
std::shared_ptr<const InferenceData> with_rows(const StreamedDataset& streamed,
                                               const DatasetOptions& options, KeptRows kept) {
  return std::make_shared<const InferenceData>(InferenceData{
      streamed.name, streamed.generated, kept.edges, std::move(kept.rows), std::nullopt,
      in_its_type(streamed.rows.features, options), streamed.rows.classes});
}
std::shared_ptr<const InferenceData> with_rows(const DatasetOptions& options, KeptRows kept) {
  std::shared_ptr<const Features> features;
  std::vector<std::string> notes;
  choose_features(features, notes, kept.rows.vertices, options);
  const fs::path first = options.edge_list->files.front();
  return std::make_shared<const InferenceData>(
      InferenceData{one_line(first.stem().string()), false, kept.edges, std::move(kept.rows),
                    std::nullopt, in_its_type(features, options), 0});
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
  require_same_data(job, fmt::format("{} vertices, {} edges", streamed.vertices, edges.size()));
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
  return {with_rows(streamed, experiment.dataset,
                    {std::move(rows), edges.size() * (streamed.mirrored ? 2 : 1)}),
          stages_of(job,
                    {share_of(edges.size(), job.world->size(), job.world->rank()).count, 0,
                     8.0 * static_cast<double>(edges.size())},
                    cost, received)};
}

LoadedInference load_edge_list(const Experiment& experiment, const Job& job) {
  const DatasetOptions& options = experiment.dataset;
  const EdgeListFiles files(*options.edge_list);
  const int rank = job.world == nullptr ? 0 : job.world->rank();
  const int ranks = job.world == nullptr ? 1 : experiment.ranks();
  const bool stated = options.edge_list->vertices.has_value();
  std::vector<std::int64_t> bytes;
  for (const auto& file : files.files()) bytes.push_back(file.bytes);
  require_same_data(job, fmt::format("files of {} B", fmt::join(bytes, ", ")));

  EdgesRead read;
  const auto counting = Clock::now();
  const std::int64_t vertices = stated ? *options.edge_list->vertices
                                       : count_vertices(files, rank, ranks, job, read.received);
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
  for (const std::int64_t count : share->edges_by_file()) read.edges += count;
  for (const Json& one : told_by_all(job, share->edges_by_file(), read.received))
    for (std::size_t i = 0; i < edges_by_file.size(); ++i)
      edges_by_file[i] += one[i].get<std::int64_t>();
  files.require_edges(edges_by_file);
  std::int64_t edges = 0;
  for (const std::int64_t count : edges_by_file) edges += count * (options.symmetric ? 2 : 1);

  for (const auto& file : files.files())
    read.file_bytes += static_cast<double>(file.bytes) * (stated ? 1 : 2);
  return {with_rows(options, {std::move(rows), edges}), stages_of(job, read, cost, received)};
}

LoadedInference load_kept(const Experiment& experiment, const KeptInput& kept, const Job& job) {
  const DatasetOptions& options = experiment.dataset;
  const auto begin = Clock::now();
  KeptRows rows = kept.take_rows();
  const std::int64_t bytes = static_cast<std::int64_t>(as_bytes(rows.rows.csr->offsets).size() +
                                                       as_bytes(rows.rows.csr->columns).size() +
                                                       as_bytes(rows.rows.degrees).size());
  LoadedInference loaded;
  loaded.data = options.edge_list
                    ? with_rows(options, std::move(rows))
                    : with_rows(open_streamed_dataset(options), options, std::move(rows));
  const std::chrono::duration<double> took = Clock::now() - begin;
  const bool in_ranges = options.edge_list || job.world != nullptr;
  loaded.stages.push_back(
      of_all_ranks({in_ranges ? "read edges" : "read", took.count(), 0, bytes}, job));
  if (in_ranges)
    loaded.stages.push_back(of_all_ranks({"build the distributed CSR", 0, 0, bytes}, job));
  loaded.taken_over = true;
  return loaded;
}

}  // namespace orrery
