#include "experiments/calibrate/measure_host_tasks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#include "core/base/rng.hpp"
#include "core/base/temporary_folder.hpp"
#include "core/graph/files/npy.hpp"
#include "core/runtime/execute/exposed_rows.hpp"
#include "core/runtime/execute/storage.hpp"
#include "core/sample/links/link_batches.hpp"
#include "core/sample/neighbour_sampler.hpp"
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

/// From the seconds of a small file, and of one of this many bytes. A disk may be slow for the small
/// one; then the large one bounds the whole.
sim::HostPrice price_of_file(double small, double large, std::int64_t bytes) {
  const double more = large > small ? large - small : large;
  return {.launch_seconds = large > small ? small : 0,
          .bytes_per_second = static_cast<double>(bytes) / more};
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
  return price_of_file(small, large, bench.checkpoint_bytes);
}

/// As an inference writes the rows that it computes: into a new file, for the system to flush.
sim::HostPrice write_rows_price(const HostTasksBench& bench) {
  const TemporaryFolder folder("calibrate");
  const fs::path file = folder.path() / "rows.npy";
  const auto seconds = [&](std::int64_t bytes) {
    const std::vector<float> values(static_cast<std::size_t>(bytes / 4), 1);
    std::vector<double> each;
    for (int i = 0; i < bench.repetitions; ++i) {
      fs::remove(file);  // its pages would be there already
      each.push_back(median_seconds(1, [&] {
        NpyWriter rows = NpyWriter::create<float>(file, {bytes / 4});
        rows.append(std::span<const float>(values));
        rows.close();
      }));
    }
    return median(std::move(each));
  };
  const double small = seconds(4), large = seconds(bench.checkpoint_bytes);
  return price_of_file(small, large, bench.checkpoint_bytes);
}

/// Memory as tables of features have it.
class FeatureMemory {
 public:
  explicit FeatureMemory(std::int64_t bytes)
      : bytes_(bytes), data_(static_cast<char*>(host_storage().take(Space::host, bytes))) {
    host_storage().set(Space::host, data_, 1, bytes);
  }
  FeatureMemory(const FeatureMemory&) = delete;
  FeatureMemory& operator=(const FeatureMemory&) = delete;
  ~FeatureMemory() { host_storage().give(Space::host, data_); }

  std::int64_t bytes() const { return bytes_; }
  char* data() const { return data_; }

 private:
  std::int64_t bytes_;
  char* data_;
};

/// Seconds to copy a row of this many bytes from a random place by one thread, as a store does.
double row_seconds(const HostTasksBench& bench, const FeatureMemory& table, std::int64_t bytes) {
  const std::int64_t rows = table.bytes() / bytes, copied = std::max<std::int64_t>(1, rows / 8);
  std::vector<std::int32_t> index(static_cast<std::size_t>(copied));
  for (std::size_t i = 0; i < index.size(); ++i) {
    const auto bits = random_bits(0, Purpose::features, static_cast<std::uint32_t>(i));
    index[i] = static_cast<std::int32_t>(
        uniform_below(bits[0], bits[1], static_cast<std::uint64_t>(rows)));
  }
  const FeatureMemory out(copied * bytes);
  const double seconds = median_seconds(
      bench.repetitions, [&] { copy_rows(table.data(), bytes, index, out.data(), nullptr); });
  return seconds / static_cast<double>(copied);
}

sim::HostPrice serve_price(const HostTasksBench& bench, const FeatureMemory& table) {
  constexpr std::int64_t kNarrow = 64, kWide = 1024;
  const double narrow = row_seconds(bench, table, kNarrow), wide = row_seconds(bench, table, kWide);
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

/// An experiment in batches of this many seeds; `links`: these are links, of which few are held out.
Experiment in_batches(const HostTasksBench& bench, const Drawn& drawn, int seeds,
                      bool links = false) {
  return parse_experiments(
             fmt::format(R"({{
  "name": "batches", "dataset": {{{}, "vertices": {}, "edges": {}, "features": 4, "classes": 4}},
  "model": {{{}}}, "train": {{"eval_every": 0}}, {}
  "strategy": {{"type": "mini_batch", "batch": {}, {}}},
  "partition": {{"method": "block"}}}})",
                         drawn.dataset, bench.sampled_vertices,
                         drawn.edges_per_vertex * bench.sampled_vertices, drawn.model,
                         links ? R"("links": {"validation": 0.01, "test": 0.01},)" : "", seeds,
                         drawn.fanouts),
             "calibration", {})
      .front();
}

/// Seconds, edges and bytes (of drawing_work) of a batch.
struct BatchCost {
  double seconds = 0, edges = 0, bytes = 0;
};

/// The mean of batches of this many seeds. `graphs` keeps the graph for other numbers of them.
BatchCost batch_cost(const HostTasksBench& bench, const Drawn& drawn, int seeds,
                     DatasetCache& graphs) {
  const Experiment experiment = in_batches(bench, drawn, seeds);
  const PreparedExperiment prepared = prepare(experiment, graphs.load(experiment));
  BatchCost cost;
  int step = 0;
  const auto draw = [&] {
    const auto batch = prepared.strategy->prepare(0, {step++, 0});
    cost.edges += static_cast<double>(batch->work.items) / bench.repetitions;
    cost.bytes += static_cast<double>(batch->work.bytes) / bench.repetitions;
  };
  draw();  // its memory is new
  cost = {};
  cost.seconds = median_seconds(bench.repetitions, draw);
  return cost;
}

/// A task whose items take these seconds and bytes each in a small table and in a large one; of two
/// tables with the same bytes the large one has more of them and counts.
sim::HostPrice by_memory(double near, double near_bytes, double far, double far_bytes) {
  if (far_bytes <= near_bytes) return {.seconds_per_item = far};
  const double per_byte = std::max(0.0, far - near) / (far_bytes - near_bytes);
  return {.seconds_per_item = std::max(0.0, near - per_byte * near_bytes),
          .bytes_per_second = per_byte > 0 ? 1 / per_byte : 0};
}

/// The bench with a graph that caches hold.
HostTasksBench smaller(HostTasksBench bench) {
  bench.sampled_vertices /= 32;
  return bench;
}

/// What an empty batch takes, and an edge beside that with its bytes.
struct BatchPrice {
  double launch_seconds = 0, edge_seconds = 0, edge_bytes = 0;
};
BatchPrice batch_price(const HostTasksBench& bench, const Drawn& drawn, DatasetCache& graphs) {
  const BatchCost one = batch_cost(bench, drawn, 1, graphs),
                  all = batch_cost(bench, drawn, bench.seeds, graphs);
  const double edges = std::max(1.0, all.edges - one.edges),
               edge = std::max(0.0, all.seconds - one.seconds) / edges;
  return {std::max(0.0, one.seconds - one.edges * edge), edge, (all.bytes - one.bytes) / edges};
}

/// The graph that no cache holds, and the smaller one, of several prices.
struct Graphs {
  DatasetCache far, near;
};

/// From both graphs.
sim::HostPrice sample_price(const HostTasksBench& bench, const Drawn& drawn, Graphs& graphs) {
  const BatchPrice far = batch_price(bench, drawn, graphs.far),
                   near = batch_price(smaller(bench), drawn, graphs.near);
  sim::HostPrice price =
      by_memory(near.edge_seconds, near.edge_bytes, far.edge_seconds, far.edge_bytes);
  price.launch_seconds = far.launch_seconds;
  return price;
}

/// Seconds and bytes (of pairing_work) of a pair in batches of links.
std::pair<double, double> pair_seconds(const HostTasksBench& bench, DatasetCache& graphs) {
  const Experiment experiment = in_batches(bench, kUntyped, bench.seeds, true);
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

/// Seconds and bytes (of scanning_work) of an entry that is looked at. Few of them are kept, because what is kept
/// has the price of drawn edges.
std::pair<double, double> scan_seconds(const HostTasksBench& bench, DatasetCache& graphs) {
  constexpr std::int64_t kEvery = 16;
  const Experiment experiment = in_batches(bench, kUntyped, bench.seeds);
  const PreparedExperiment prepared = prepare(experiment, graphs.load(experiment));
  const Csr& graph = *prepared.problem->data->graph;
  std::vector<Vertex> vertices;
  for (std::int64_t v = kEvery / 2; v < graph.rows; v += kEvery)
    vertices.push_back(static_cast<Vertex>(v));
  const NeighbourSampler sampler(CsrView(graph), {.fanouts = {kAllNeighbours}});
  auto scratch = sampler.scratch(graph.rows);
  std::int64_t scanned = 0;
  const double seconds = median_seconds(
      bench.repetitions, [&] { scanned = sampler.among(vertices, scratch).scanned; });
  const auto count = static_cast<double>(std::max<std::int64_t>(1, scanned));
  return {seconds / count, static_cast<double>(scanning_work(scanned, graph.rows).bytes) / count};
}

/// From both graphs; `seconds` tells those and the bytes of an item.
sim::HostPrice price_of_items(const HostTasksBench& bench, Graphs& graphs,
                              std::pair<double, double> (*seconds)(const HostTasksBench&,
                                                                   DatasetCache&)) {
  const auto [near, near_bytes] = seconds(smaller(bench), graphs.near);
  const auto [far, far_bytes] = seconds(bench, graphs.far);
  return by_memory(near, near_bytes, far, far_bytes);
}

double memory_rate(const HostTasksBench& bench, const FeatureMemory& table) {
  const FeatureMemory out(table.bytes());
  constexpr std::int64_t kBlock = std::int64_t{1} << 20;
  const ThreadPool pool(bench.cores);
  const double seconds = median_seconds(bench.repetitions, [&] {
    parallel_for(table.bytes(), kBlock, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(out.data() + begin, table.data() + begin, static_cast<std::size_t>(end - begin));
    });
  });
  return 2 * static_cast<double>(table.bytes()) / seconds;
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
  const FeatureMemory table(bench.table_bytes);
  Graphs untyped, typed;
  return {.checkpoint = checkpoint_price(bench),
          .write_rows = write_rows_price(bench),
          .serve = serve_price(bench, table),
          .sample = sample_price(bench, kUntyped, untyped),
          .sample_vertices = sample_price(bench, kOfVertices, untyped),
          .sample_relations = sample_price(bench, kByRelation, typed),
          .sample_relation_vertices = sample_price(bench, kOfRelationVertices, typed),
          .scan = price_of_items(bench, untyped, scan_seconds),
          .pairs = price_of_items(bench, untyped, pair_seconds),
          .memory_bytes_per_second = memory_rate(bench, table)};
}

}  // namespace orrery::calibrate
