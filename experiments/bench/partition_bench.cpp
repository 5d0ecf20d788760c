// Edges per second that the streaming partitioners read from a binary file, beside the bound of the
// same run: a pass that only reads the edges and adds up their numbers.
//
// The input is an R-MAT graph of 2^20 vertices and (by default) 8 M undirected edges, stored once
// each in sorted order; PARTITION_BENCH_EDGES and PARTITION_BENCH_VERTICES set other numbers. One
// thread; rates are per second of its processor time. The peak of resident memory that a method
// adds is printed per vertex.
//
// METIS runs beside them, with its input: all edges in memory, in both directions. It takes one
// core and tens of bytes per edge, so it is cut once (--benchmark_filter=-metis leaves it out).
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

#include "core/base/parallel.hpp"
#include "core/graph/read/load.hpp"
#include "core/partition/edges/edge_file.hpp"
#include "core/partition/methods/cut.hpp"
#include "core/partition/partition_options.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr int kParts = 16;

std::int64_t number_of(const char* variable, std::int64_t otherwise) {
  const char* text = ::getenv(variable);
  return text == nullptr ? otherwise : std::atoll(text);
}

/// Every undirected edge of a symmetric graph once.
class OneDirection final : public EdgeStream {
 public:
  explicit OneDirection(const Csr& graph) : rows_(graph) {}
  std::int64_t known_vertices() const override { return rows_.known_vertices(); }
  void rewind() override { rows_.rewind(); }
  std::span<const Edge> next() override {
    do {
      const auto block = rows_.next();
      if (block.empty()) return {};
      kept_.clear();
      for (const Edge& edge : block)
        if (edge.destination < edge.source) kept_.push_back(edge);
    } while (kept_.empty());
    return kept_;
  }

 private:
  CsrEdges rows_;
  std::vector<Edge> kept_;
};

/// The file, made once.
class Input {
 public:
  Input() {
    std::string name = (fs::temp_directory_path() / "orrery-partition-bench-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    DatasetOptions options;
    options.generator = "rmat";
    options.generate_vertices = number_of("PARTITION_BENCH_VERTICES", 1 << 20);
    options.generate_edges = number_of("PARTITION_BENCH_EDGES", 8'000'000);
    options.generate_classes = options.generate_features = 0;
    const ThreadPool pool(available_cores());
    const Dataset dataset = load_dataset(options);
    OneDirection edges(*dataset.graph);
    write_edge_file(edges, file());
    edges_ = dataset.edges() / 2;
    vertices_ = dataset.vertices();
  }
  ~Input() { fs::remove_all(folder_); }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  fs::path file() const { return folder_ / "edges.bin"; }
  std::int64_t edges() const { return edges_; }
  std::int64_t vertices() const { return vertices_; }

 private:
  fs::path folder_;
  std::int64_t edges_ = 0, vertices_ = 0;
};

const Input& input() {
  static const Input made;
  return made;
}

std::int64_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key)) return std::stoll(line.substr(key.size())) * 1024;
  return 0;
}

template <class Work>
void measure(benchmark::State& state, const Work& work) {
  input();
  ::malloc_trim(0);                               // memory of earlier work does not count
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak is measured from here
  const std::int64_t before = status_bytes("VmRSS:");
  for (auto _ : state) {
    const auto stream = open_edge_file(input().file());
    work(*stream);
  }
  state.counters["edges/s"] = benchmark::Counter(static_cast<double>(input().edges()),
                                                 benchmark::Counter::kIsIterationInvariantRate);
  state.counters["bytes/vertex"] = static_cast<double>(status_bytes("VmHWM:") - before) /
                                   static_cast<double>(input().vertices());
}

/// The bound.
void Pass(benchmark::State& state) {
  measure(state, [](EdgeStream& stream) {
    std::uint64_t sum = 0;
    for_each_edge(stream, [&](const Edge& edge) {
      sum += static_cast<std::uint64_t>(edge.source) + static_cast<std::uint64_t>(edge.destination);
    });
    benchmark::DoNotOptimize(sum);
  });
}

/// The work that every method does first.
void Count(benchmark::State& state) {
  measure(state, [](EdgeStream& stream) { benchmark::DoNotOptimize(count_edges(stream)); });
}

void Cut(benchmark::State& state, const std::string& method) {
  PartitionOptions options;
  options.method = method;
  measure(state, [&](EdgeStream& stream) {
    benchmark::DoNotOptimize(cut_stream(stream, kParts, options));
  });
}

/// The graph of the file in memory, as METIS needs it: without self-loops, in both directions.
Csr graph_of(EdgeStream& stream) {
  EdgeList edges;
  for_each_edge(stream, [&](const Edge& edge) {
    edges.source.push_back(edge.source);
    edges.destination.push_back(edge.destination);
    edges.vertices =
        std::max<std::int64_t>(edges.vertices, 1 + std::max(edge.source, edge.destination));
  });
  return build_csr(edges);
}

void Metis(benchmark::State& state) {
  PartitionOptions options;
  options.method = "metis";
  measure(state, [&](EdgeStream& stream) {
    benchmark::DoNotOptimize(cut_graph(symmetrise(graph_of(stream)), kParts, options));
  });
}

void SpringRefined(benchmark::State& state) {
  PartitionOptions options;
  options.method = "spring";
  options.spring.refine = 4;
  measure(state, [&](EdgeStream& stream) {
    benchmark::DoNotOptimize(cut_stream(stream, kParts, options));
  });
}

BENCHMARK(Pass)->Unit(benchmark::kMillisecond);
BENCHMARK(Count)->Unit(benchmark::kMillisecond);
const bool registered = [] {
  for (const std::string& method : compared_methods())
    if (takes_edge_stream(method))
      benchmark::RegisterBenchmark(method.c_str(), Cut, method)->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("spring, refined by 4 rounds", SpringRefined)
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("metis", Metis)->Unit(benchmark::kMillisecond)->Iterations(1);
  return true;
}();

}  // namespace
}  // namespace orrery

BENCHMARK_MAIN();
