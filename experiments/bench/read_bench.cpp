// How fast graphs are read and built, in edges per second, beside the bound of the same run: a copy
// of the same bytes in memory.
//
// The input is an R-MAT graph of 2^20 vertices and (by default) 8 M undirected edges, written into
// a temporary folder; READ_BENCH_EDGES sets another number of edges. All cores are used.
#include <benchmark/benchmark.h>
#include <fmt/core.h>
#include <stdlib.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "core/base/parallel.hpp"
#include "core/base/rng.hpp"
#include "core/graph/files/mapped_file.hpp"
#include "core/graph/read/load.hpp"
#include "core/graph/read/write_orrery.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

/// The graph in memory (edges in random order) and as text, gzip text and binary files, made once.
class Inputs {
 public:
  Inputs() {
    std::string name = (fs::temp_directory_path() / "orrery-read-bench-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    DatasetOptions options;
    options.generator = "rmat";
    options.generate_vertices = 1 << 20;
    const char* edges = ::getenv("READ_BENCH_EDGES");
    options.generate_edges = edges == nullptr ? 8'000'000 : std::atoll(edges);
    options.generate_classes = options.generate_features = 0;
    const Dataset dataset = load_dataset(options);
    write_orrery(dataset, binary());
    collect_edges(*dataset.graph);
    write_text();
  }
  ~Inputs() { fs::remove_all(folder_); }
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;

  fs::path text() const { return folder_ / "edges.txt"; }
  fs::path gzip() const { return folder_ / "edges.txt.gz"; }
  fs::path binary() const { return folder_ / "set"; }
  const EdgeList& edges() const { return edges_; }

 private:
  void collect_edges(const Csr& graph) {
    edges_.vertices = graph.rows;
    for (std::int64_t v = 0; v < graph.rows; ++v)
      for (const Vertex u : graph.row(v)) {
        edges_.source.push_back(u);
        edges_.destination.push_back(static_cast<Vertex>(v));
      }
    Sequence random(0, Purpose::permutation, 0);
    for (std::size_t i = edges_.source.size(); i > 1; --i) {
      const auto j = static_cast<std::size_t>(random.below(i));
      std::swap(edges_.source[i - 1], edges_.source[j]);
      std::swap(edges_.destination[i - 1], edges_.destination[j]);
    }
  }
  void write_text() const {
    std::string all;
    for (std::size_t i = 0; i < edges_.source.size(); ++i)
      fmt::format_to(std::back_inserter(all), "{}\t{}\n", edges_.source[i], edges_.destination[i]);
    std::ofstream(text(), std::ios::binary) << all;
    gzFile file = gzopen(gzip().c_str(), "wb1");
    for (std::size_t i = 0; i < all.size(); i += 1 << 20)
      gzwrite(file, all.data() + i,
              static_cast<unsigned>(std::min<std::size_t>(1 << 20, all.size() - i)));
    gzclose(file);
  }

  fs::path folder_;
  EdgeList edges_;
};

const Inputs& inputs() {
  static const std::unique_ptr<Inputs> made = [] {
    const ThreadPool pool(available_cores());
    return std::make_unique<Inputs>();
  }();
  return *made;
}

void report(benchmark::State& state, std::uintmax_t bytes) {
  const auto edges = inputs().edges().size();
  state.counters["edges/s"] =
      benchmark::Counter(static_cast<double>(edges), benchmark::Counter::kIsIterationInvariantRate);
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
}

/// The bound: every byte of a file that is in the page cache, copied into memory once.
void copy_file(benchmark::State& state, const fs::path& path) {
  const ThreadPool pool(available_cores());
  const auto bytes = fs::file_size(path);
  for (auto _ : state) {
    const MappedFile file(path);
    const auto copy = std::make_unique_for_overwrite<char[]>(bytes);
    parallel_for(static_cast<std::int64_t>(bytes), 1 << 22,
                 [&](std::int64_t begin, std::int64_t end) {
                   std::memcpy(copy.get() + begin, file.bytes().data() + begin,
                               static_cast<std::size_t>(end - begin));
                 });
    benchmark::DoNotOptimize(copy.get());
  }
  report(state, bytes);
}

void read_set(benchmark::State& state, const fs::path& path, std::uintmax_t bytes) {
  const ThreadPool pool(available_cores());
  for (auto _ : state) benchmark::DoNotOptimize(read_dataset(path.string()));
  report(state, bytes);
}

void CopyText(benchmark::State& state) { copy_file(state, inputs().text()); }
void ReadText(benchmark::State& state) {
  read_set(state, inputs().text(), fs::file_size(inputs().text()));
}
void CopyGzip(benchmark::State& state) { copy_file(state, inputs().gzip()); }
void ReadGzip(benchmark::State& state) {
  read_set(state, inputs().gzip(), fs::file_size(inputs().gzip()));
}
void CopyBinary(benchmark::State& state) { copy_file(state, inputs().binary() / "edges.npy"); }
void ReadBinary(benchmark::State& state) {
  read_set(state, inputs().binary(), fs::file_size(inputs().binary() / "edges.npy"));
}

void BuildCsr(benchmark::State& state) {
  const ThreadPool pool(available_cores());
  for (auto _ : state) benchmark::DoNotOptimize(build_csr(inputs().edges()));
  report(state, 8 * inputs().edges().source.size());
}

void Transpose(benchmark::State& state) {
  const ThreadPool pool(available_cores());
  const Csr graph = build_csr(inputs().edges());
  for (auto _ : state) benchmark::DoNotOptimize(transpose(graph));
  report(state, 8 * inputs().edges().source.size());
}

BENCHMARK(CopyText)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(ReadText)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(CopyGzip)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(ReadGzip)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(CopyBinary)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(ReadBinary)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BuildCsr)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(Transpose)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace orrery

BENCHMARK_MAIN();
