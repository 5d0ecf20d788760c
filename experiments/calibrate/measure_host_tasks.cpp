#include "experiments/calibrate/measure_host_tasks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#include "core/base/rng.hpp"
#include "core/base/temporary_folder.hpp"
#include "core/sample/links/link_batches.hpp"
#include "core/strategy/product/batch_products.hpp"
#include "experiments/calibrate/time_ops.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/predict/prepared.hpp"
#include "experiments/results/checkpoint.hpp"

namespace orrery::calibrate {
namespace {

namespace fs = std::filesystem;

double median_seconds(int repetitions, const std::function<void()>& work) {
  std::vector<double> seconds;
  for (int i = 0; i < repetitions; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return median(std::move(seconds));
}

sim::HostPrice checkpoint_price(const HostTasksBench& bench) {
  const TemporaryFolder folder("calibrate");
  const nlohmann::ordered_json experiment{{"seed", 0},
                                          {"dataset", "none"},
                                          {"model", "none"},
                                          {"train", nlohmann::ordered_json::object()},
                                          {"strategy", {{"type", "full_graph"}}}};
  const auto seconds = [&](std::int64_t bytes) {
    const Checkpoint checkpoint{1, {std::vector<float>(static_cast<std::size_t>(bytes / 4), 1)}};
    return median_seconds(bench.repetitions, [&] {
      write_checkpoint(folder.path() / "checkpoint", checkpoint, experiment);
    });
  };
  const double small = seconds(4), large = seconds(bench.checkpoint_bytes);
  // A disk may be slow for the small one; then the large one bounds the whole.
  const double more = large > small ? large - small : large;
  return {.launch_seconds = large > small ? small : 0,
          .bytes_per_second = static_cast<double>(bench.checkpoint_bytes) / more};
}

/// Seconds to copy a row of this many bytes from a random place by one thread.
double row_seconds(const HostTasksBench& bench, const std::vector<char>& table, std::size_t bytes) {
  const std::size_t rows = table.size() / bytes, copied = std::max<std::size_t>(1, rows / 8);
  std::vector<std::size_t> places(copied);
  for (std::size_t i = 0; i < copied; ++i) {
    const auto bits = random_bits(0, Purpose::features, static_cast<std::uint32_t>(i));
    places[i] = uniform_below(bits[0], bits[1], rows) * bytes;
  }
  std::vector<char> out(copied * bytes);
  const double seconds = median_seconds(bench.repetitions, [&] {
    char* to = out.data();
    for (const std::size_t place : places) {
      std::memcpy(to, table.data() + place, bytes);
      to += bytes;
    }
  });
  return seconds / static_cast<double>(copied);
}

sim::HostPrice serve_price(const HostTasksBench& bench, const std::vector<char>& table) {
  constexpr double kNarrow = 64, kWide = 1024;
  const double narrow = row_seconds(bench, table, static_cast<std::size_t>(kNarrow)),
               wide = row_seconds(bench, table, static_cast<std::size_t>(kWide));
  // Narrow rows may take as long as wide ones if every row misses the caches.
  const double per_byte = std::max(0.0, wide - narrow) / (kWide - kNarrow);
  return {.seconds_per_item = std::max(0.0, narrow - kNarrow * per_byte),
          .bytes_per_second = per_byte > 0 ? 1 / per_byte : 0};
}

/// What batches are drawn for, from a generated graph of the bench's vertices.
struct Drawn {
  const char* dataset;
  const char* model;
  const char* fanouts;
  std::int64_t edges_per_vertex;
};
constexpr Drawn kUntyped{R"("generate": "rmat")", R"("type": "gcn", "layers": 3)",
                         R"("fanouts": [15, 10, 5])", 8};
constexpr Drawn kOfVertices{kUntyped.dataset, kUntyped.model,
                            R"("fanouts": [15, 10, 5], "relabel": "device")",
                            kUntyped.edges_per_vertex};
/// As DistDGLv2 draws MAG-LSC (Table 3).
constexpr Drawn kByRelation{R"("generate": "mag-lsc")",
                            R"("type": "rgcn", "layers": 2, "hidden": 8)",
                            R"("fanouts": [15, 25], "fanouts_per": "relation")", 7};
constexpr Drawn kOfRelationVertices{
    kByRelation.dataset, kByRelation.model,
    R"("fanouts": [15, 25], "fanouts_per": "relation", "relabel": "device")",
    kByRelation.edges_per_vertex};

/// An experiment in batches of this many seeds; `links`: these are links.
Experiment in_batches(const HostTasksBench& bench, const Drawn& drawn, int seeds,
                      bool links = false) {
  return parse_experiments(fmt::format(R"({{
  "name": "batches", "dataset": {{{}, "vertices": {}, "edges": {}, "features": 4, "classes": 4}},
  "model": {{{}}}, "train": {{"eval_every": 0}}, {}
  "strategy": {{"type": "mini_batch", "batch": {}, {}}},
  "partition": {{"method": "block"}}}})",
                                       drawn.dataset, bench.sampled_vertices,
                                       drawn.edges_per_vertex * bench.sampled_vertices, drawn.model,
                                       links ? R"("links": {},)" : "", seeds, drawn.fanouts),
                           "calibration", {})
      .front();
}

/// Mean seconds and edges of batches of this many seeds. `graphs` keeps the graph for other numbers of them.
std::pair<double, double> batch_seconds(const HostTasksBench& bench, const Drawn& drawn, int seeds,
                                        DatasetCache& graphs) {
  const Experiment experiment = in_batches(bench, drawn, seeds);
  const PreparedExperiment prepared = prepare(experiment, graphs.load(experiment));
  double edges = 0;
  int step = 0;
  const auto draw = [&] {
    edges += static_cast<double>(prepared.strategy->prepare(0, {step++, 0})->work.items);
  };
  draw();  // its memory is new
  edges = 0;
  const double seconds = median_seconds(bench.repetitions, draw);
  return {seconds, edges / bench.repetitions};
}

sim::HostPrice sample_price(const HostTasksBench& bench, const Drawn& drawn) {
  DatasetCache graphs;
  const auto [few_seconds, few] = batch_seconds(bench, drawn, 1, graphs);
  const auto [seconds, edges] = batch_seconds(bench, drawn, bench.seeds, graphs);
  const double per_edge = std::max(0.0, seconds - few_seconds) / std::max(1.0, edges - few);
  return {.launch_seconds = std::max(0.0, few_seconds - few * per_edge),
          .seconds_per_item = per_edge};
}

/// Seconds and bytes (of pairing_work) of a pair in batches of links.
std::pair<double, double> pair_seconds(const HostTasksBench& bench) {
  const Experiment experiment = in_batches(bench, kUntyped, bench.seeds, true);
  DatasetCache graphs;
  const PreparedExperiment prepared = prepare(experiment, graphs.load(experiment));
  const LinkBatches& links = *prepared.strategy->links();
  int step = 0;
  std::int64_t pairs = 0;
  const auto draw = [&] {
    const ScoredLinks scored = links.of(0, 0, step++);
    pairs = pair_rows(scored, LinkBatches::vertices_of(scored)).pairs();
  };
  draw();  // the graph's rows come into memory
  const double seconds = median_seconds(bench.repetitions, draw);
  const auto count = static_cast<double>(std::max<std::int64_t>(1, pairs));
  return {seconds / count,
          static_cast<double>(pairing_work(pairs, links.graph_bytes()).bytes) / count};
}

/// From a graph that no cache holds, and one of a 32nd of its vertices.
sim::HostPrice pairs_price(const HostTasksBench& bench) {
  HostTasksBench smaller = bench;
  smaller.sampled_vertices /= 32;
  const auto [near, near_bytes] = pair_seconds(smaller);
  const auto [far, far_bytes] = pair_seconds(bench);
  const double per_byte =
      far_bytes > near_bytes ? std::max(0.0, far - near) / (far_bytes - near_bytes) : 0;
  return {.seconds_per_item = std::max(0.0, near - per_byte * near_bytes),
          .bytes_per_second = per_byte > 0 ? 1 / per_byte : 0};
}

double memory_rate(const HostTasksBench& bench, const std::vector<char>& table) {
  std::vector<char> out(table.size());
  constexpr std::int64_t kBlock = std::int64_t{1} << 20;
  const ThreadPool pool(bench.cores);
  const double seconds = median_seconds(bench.repetitions, [&] {
    parallel_for(static_cast<std::int64_t>(table.size()), kBlock,
                 [&](std::int64_t begin, std::int64_t end) {
                   std::memcpy(out.data() + begin, table.data() + begin,
                               static_cast<std::size_t>(end - begin));
                 });
  });
  return 2 * static_cast<double>(table.size()) / seconds;
}

}  // namespace

HostTasksBench host_tasks_bench(Effort effort, int cores) {
  HostTasksBench bench;
  bench.cores = cores;
  if (effort != Effort::tiny) return bench;
  bench.repetitions = 3;
  bench.checkpoint_bytes = std::int64_t{1} << 20;
  bench.table_bytes = std::int64_t{8} << 20;
  bench.sampled_vertices = 1 << 12;
  bench.seeds = 100;
  return bench;
}

HostTasks measure_host_tasks(const HostTasksBench& bench) {
  const std::vector<char> table(static_cast<std::size_t>(bench.table_bytes), 1);
  return {.checkpoint = checkpoint_price(bench),
          .serve = serve_price(bench, table),
          .sample = sample_price(bench, kUntyped),
          .sample_vertices = sample_price(bench, kOfVertices),
          .sample_relations = sample_price(bench, kByRelation),
          .sample_relation_vertices = sample_price(bench, kOfRelationVertices),
          .pairs = pairs_price(bench),
          .memory_bytes_per_second = memory_rate(bench, table)};
}

}  // namespace orrery::calibrate
