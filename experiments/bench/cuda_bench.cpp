// Rates of a GPU beside its own copy bandwidth: sparse-dense products (ours and cuSPARSE's) on
// graphs of three kinds, and the cost of a launch. Prints one JSON object.
//
//   cuda_bench [EDGES...]   entries of the graphs (default: 16 and 115 million)
//
// Every time is the median of repetitions between two events. The bound of a product is the time to
// move its bytes (SpMM::bytes: each row of x once) at the copy bandwidth of this run. Without a
// device: one line, status 1.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "backends/cuda/library.hpp"
#include "core/base/error.hpp"
#include "core/graph/generate/generate.hpp"
#include "core/ops/ops.hpp"

namespace orrery {
namespace {

using nlohmann::json;

constexpr std::int64_t kWidths[] = {16, 32, 64, 128, 256, 512};
constexpr std::int64_t kHeads = 8;  ///< of the product with several values for each entry
constexpr int kRepetitions = 7;

/// The first device with one stream; the arena has all free memory except a share for workspaces.
class Gpu {
 public:
  Gpu() {
    std::int32_t devices = 0;
    cuda::require(api.device_count(&devices), "device_count");
    if (devices == 0) throw Error(api.last_error());
    cuda::require(api.device_info(0, &info), "device_info");
    cuda::require(api.device_open(0, info.free_bytes / 10 * 7, &device), "device_open");
    cuda::require(api.stream_open(device, &stream), "stream_open");
    for (OrreryEvent*& event : events_) cuda::require(api.event_open(device, &event), "event_open");
  }
  ~Gpu() {
    for (OrreryEvent* event : events_) api.event_close(event);
    api.stream_close(stream);
    api.device_close(device);
  }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  /// Median seconds of `work`, which appends to the stream.
  double seconds_of(const std::function<int()>& work) const {
    std::vector<double> seconds;
    for (int i = -1; i < kRepetitions; ++i) {  // the first one prepares
      cuda::require(api.event_record(events_[0], stream), "event_record");
      cuda::require(work(), "the measured call");
      cuda::require(api.event_record(events_[1], stream), "event_record");
      cuda::require(api.event_sync(events_[1]), "event_sync");
      double once = 0;
      cuda::require(api.event_seconds(events_[0], events_[1], &once), "event_seconds");
      if (i >= 0) seconds.push_back(once);
    }
    std::nth_element(seconds.begin(), seconds.begin() + kRepetitions / 2, seconds.end());
    return seconds[kRepetitions / 2];
  }

  const OrreryCudaApi& api = cuda::api();
  OrreryDeviceInfo info{};
  OrreryDevice* device = nullptr;
  OrreryStream* stream = nullptr;

 private:
  OrreryEvent* events_[2] = {};
};

/// Memory of the arena, filled with 0.747 (every byte is the same, so a copy engine fills it).
class Floats {
 public:
  Floats(const Gpu& gpu, std::int64_t rows, std::int64_t cols) : gpu_(gpu) {
    void* p = nullptr;
    cuda::require(gpu.api.allocate(gpu.device, rows * cols * 4, &p), "allocate");
    matrix = {p, rows, cols, cols, kOrreryF32};
    cuda::require(gpu.api.fill_bytes(gpu.stream, p, 0x3F, rows * cols * 4), "fill_bytes");
  }
  ~Floats() {
    gpu_.api.stream_sync(gpu_.stream);
    gpu_.api.release(gpu_.device, matrix.data);
  }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;

  OrreryMatrix matrix{};

 private:
  const Gpu& gpu_;
};

/// Bytes per second, read plus written, for a copy of 1 GiB (or a sixteenth of the memory).
double copy_bandwidth(const Gpu& gpu) {
  const std::int64_t bytes = std::min(std::int64_t{1} << 30U, gpu.info.free_bytes / 16);
  const Floats from(gpu, 1, bytes / 4), to(gpu, 1, bytes / 4);
  return 2 * static_cast<double>(bytes) / gpu.seconds_of([&] {
    return gpu.api.copy_bytes(gpu.stream, to.matrix.data, from.matrix.data, bytes / 4 * 4);
  });
}

/// Seconds of a fill of one element: for the calling thread, and from one fill to the next. One by
/// one, and in CUDA graphs of this many.
json launch_seconds(const Gpu& gpu, int graph_of = 0) {
  constexpr int kLaunches = 8192;
  const Floats x(gpu, 1, 1);
  const auto fill = [&] { return gpu.api.fill(gpu.stream, x.matrix, 1); };
  cuda::Handle<OrreryGraph> graph(nullptr, gpu.api.graph_close);
  if (graph_of > 0) {
    OrreryGraph* begun = nullptr;
    const std::uint32_t* words = nullptr;
    cuda::require(fill(), "fill");
    cuda::require(gpu.api.graph_begin(gpu.stream, 0, &begun, &words), "graph_begin");
    graph.reset(begun);
    for (int i = 0; i < graph_of; ++i) cuda::require(fill(), "fill");
    cuda::require(gpu.api.graph_end(begun), "graph_end");
  }
  const int calls = graph_of > 0 ? kLaunches / graph_of : kLaunches;
  double host = 0;
  const double device = gpu.seconds_of([&] {
    const auto begin = std::chrono::steady_clock::now();
    int code = kOrreryOk;
    for (int i = 0; i < calls && code == kOrreryOk; ++i)
      code = graph ? gpu.api.graph_launch(graph.get(), nullptr) : fill();
    host = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return code;
  });
  return {{"operations_in_a_graph", graph_of},
          {"issue", host / kLaunches},
          {"device", device / kLaunches}};
}

Csr graph_of(const std::string& kind, std::int64_t entries) {
  DatasetOptions options;
  options.generator = kind == "rmat" ? "rmat" : "communities";
  // The density of the graphs that have such sizes: 500 entries a vertex for Reddit's.
  options.generate_vertices =
      std::max<std::int64_t>(64, entries >= 50'000'000 ? entries / 500 : entries / 16);
  options.generate_edges = entries / 2;
  options.generate_features = 0;
  // One community of all vertices is the uniform random graph.
  options.generate_classes = kind == "rmat" ? 0
                             : kind == "uniform"
                                 ? 1
                                 : std::max<std::int64_t>(1, options.generate_vertices / 1024);
  return *generate(options).graph;
}

json products_of(const Gpu& gpu, const std::string& kind, std::int64_t entries, double bandwidth) {
  const Csr a = graph_of(kind, entries);
  OrreryPattern* opened = nullptr;
  cuda::require(gpu.api.pattern_open(gpu.stream, a.rows, a.cols, a.nnz(), a.offsets.data(),
                                     a.columns.data(), &opened),
                "pattern_open");
  const cuda::Handle<OrreryPattern> pattern(opened, gpu.api.pattern_close);
  const Floats values(gpu, a.nnz(), kHeads);
  json list = json::array();
  for (const std::int64_t width : kWidths) {
    const Floats x(gpu, a.cols, width), y(gpu, a.rows, width);
    const auto seconds_by = [&](OrrerySpmmBy by, std::int64_t heads = 1) {
      return gpu.seconds_of([&] {
        return gpu.api.spmm(gpu.stream, pattern.get(),
                            static_cast<const float*>(values.matrix.data), heads, x.matrix,
                            y.matrix, 0, by);
      });
    };
    const SpMM op{.a = {0, {a.rows, a.cols}, a.nnz()},
                  .values = Tensor{.id = 0, .shape = {a.nnz(), 1}},
                  .x = {.id = 1, .shape = {a.cols, width}},
                  .y = {.id = 2, .shape = {a.rows, width}}};
    list.push_back({{"graph", kind},
                    {"vertices", a.rows},
                    {"entries", a.nnz()},
                    {"width", width},
                    {"own_seconds", seconds_by(kOrrerySpmmOwn)},
                    {"cusparse_seconds", seconds_by(kOrrerySpmmCusparse)},
                    {"cusparse_repeatable_seconds", seconds_by(kOrrerySpmmCusparseRepeatable)},
                    {"chosen_seconds", seconds_by(kOrrerySpmmChosen)},
                    {"heads_seconds", seconds_by(kOrrerySpmmOwn, kHeads)},
                    {"bound_seconds", op.bytes() / bandwidth}});
    std::fprintf(stderr, "%s\n", list.back().dump().c_str());
  }
  return list;
}

json measure(const std::vector<std::int64_t>& sizes) {
  const Gpu gpu;
  const double bandwidth = copy_bandwidth(gpu);
  json result{
      {"device", gpu.info.name},
      {"driver", gpu.info.driver_version},
      {"runtime", gpu.info.runtime_version},
      {"cublas", gpu.info.cublas_version},
      {"cusparse", gpu.info.cusparse_version},
      {"copy_bytes_per_second", bandwidth},
      {"launch_seconds", {launch_seconds(gpu), launch_seconds(gpu, 8), launch_seconds(gpu, 32)}},
      {"spmm", json::array()}};
  for (const std::int64_t entries : sizes)
    for (const char* kind : {"uniform", "rmat", "communities"})
      for (json& line : products_of(gpu, kind, entries, bandwidth))
        result["spmm"].push_back(std::move(line));
  return result;
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
  std::vector<std::int64_t> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(std::atoll(argv[i]));
  if (sizes.empty()) sizes = {16'000'000, 115'000'000};
  try {
    std::puts(orrery::measure(sizes).dump(2).c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cuda_bench: %s\n", error.what());
    return 1;
  }
}
