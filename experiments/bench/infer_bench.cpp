// An inference of one process beside what it cannot do without: gathering the rows of every drawn
// entry, the dense products, and the bytes of its files.
//
//   infer_bench FOLDER     of a finished `orrery infer` with one rank, on a data set in files
//
// Rows that are summed need 16, 64, 128 or 256 columns: the gather kernel is made for these.
//
// Reads the same data set and draws the same neighbours again. The bound is the sum of each part
// alone, on all cores: rows gathered into registers by the same indices (bench_bounds.hpp), the
// products by the CPU kernels (oneDNN where it is built in), and files read past the page cache and
// written, at the rate of 1 GiB. What the system takes to bring the pages of new memory is told
// beside it, because a virtual machine whose host takes free memory back is slow at it.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/cpu.hpp"
#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/json_reader.hpp"
#include "core/base/parallel.hpp"
#include "core/graph/files/bytes_of.hpp"
#include "core/model/model_config.hpp"
#include "core/runtime/execute/memory.hpp"
#include "experiments/bench/bench_bounds.hpp"
#include "experiments/config/experiment.hpp"
#include "experiments/infer/prepare_inference.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kFileBytes = std::int64_t{1} << 30;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds to gather each entry's row of a matrix with this many rows and columns.
double gather_seconds(const std::vector<Vertex>& columns, std::int64_t rows, std::int64_t width,
                      std::vector<float>& x) {
  x.resize(at(rows * width), 0.5F);
  const double begin = now();
  if (gather_rows_only(columns, x.data(), width) < 0) throw Error("the sum is wrong");
  return now() - begin;
}

/// Seconds of [rows, in] x [in, out]: measured on some rows, and as many times as there are more.
double gemm_seconds(std::int64_t rows, std::int64_t in, std::int64_t out) {
  const std::int64_t some = std::min<std::int64_t>(rows, 1 << 20);
  RankMemory memory;
  const auto tensor = [&](std::uint32_t id, Shape shape) {
    const Tensor t{.id = id, .shape = shape, .dtype = DType::f32, .ld = shape.cols};
    memory.allocate(id, t.bytes());
    std::fill_n(memory.data<float>(t), shape.size(), 0.5F);
    return t;
  };
  const Op product = Gemm{tensor(1, {some, in}), tensor(2, {in, out}), tensor(3, {some, out})};
  const auto kernels = make_cpu_kernels();
  kernels->run(product, memory);
  const double begin = now();
  kernels->run(product, memory);
  return (now() - begin) * static_cast<double>(rows) / static_cast<double>(some);
}

/// Seconds until the system has brought the pages of this many bytes, which all threads ask for.
double page_seconds(std::int64_t bytes) {
  RankMemory memory;
  const double begin = now();
  memory.allocate(1, bytes);
  char* const first = static_cast<char*>(
      memory.bytes_at(Tensor{.id = 1, .shape = {1, 1}, .dtype = DType::f32, .ld = 1}));
  parallel_for(bytes, 1 << 21, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; i += 4096) first[i] = 1;
  });
  return now() - begin;
}

/// Bytes per second of a file read from its storage, by one thread.
double read_rate(const fs::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw Error(file.string() + ": cannot be opened");
  ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  std::vector<char> piece(1 << 22);
  std::int64_t bytes = 0;
  const double begin = now();
  for (ssize_t n = 1; n > 0 && bytes < kFileBytes; bytes += n)
    n = std::max<ssize_t>(0, ::read(descriptor, piece.data(), piece.size()));
  const double seconds = now() - begin;
  ::close(descriptor);
  return static_cast<double>(bytes) / seconds;
}

/// Bytes per second of a file that is written until its storage has it.
double write_rate(const fs::path& file) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) throw Error(file.string() + ": cannot be written");
  const std::vector<char> piece(1 << 22, 'x');
  const double begin = now();
  for (std::int64_t bytes = 0; bytes < kFileBytes; bytes += std::ssize(piece))
    if (::write(descriptor, piece.data(), piece.size()) != std::ssize(piece))
      throw Error(file.string() + ": cannot be written");
  ::fsync(descriptor);
  const double seconds = now() - begin;
  ::close(descriptor);
  fs::remove(file);
  return static_cast<double>(kFileBytes) / seconds;
}

double seconds_of(const nlohmann::ordered_json& result, const std::string& beginning) {
  double sum = 0;
  for (const auto& stage : result["stages"])
    if (stage["name"].get<std::string>().rfind(beginning, 0) == 0)
      sum += stage["seconds"].get<double>();
  return sum;
}

void run(const fs::path& folder) {
  const fs::path file = folder / "result.json";
  const auto result = JsonReader(bytes_of(file), file.string()).json();
  const Experiment experiment =
      parse_experiments(bytes_of(folder / "config.json"), "config.json", {}).front();
  if (experiment.ranks() != 1) throw Error("it takes an inference with one rank");
  if (!experiment.resolved["dataset"].contains("path"))
    throw Error("it takes an inference on a data set in files (dataset.path)");
  InferenceProblem problem = inference_of(experiment, load_inference(experiment, {}).data);
  problem.graphs = make_graphs(problem);
  const ThreadPool pool(available_cores());
  const std::int64_t n = problem.data->vertices(), classes = result["columns_out"],
                     features = problem.data->features->width();
  const auto widths = widths_of(problem.model, features, classes);

  // Before anything else takes memory and gives it back, as the inference itself begins.
  const std::int64_t activations = 2 * 4 * n * *std::max_element(widths.begin(), widths.end());
  fmt::print("pages of two activations ({:.2f} GB): {:.2f} s, in no bound\n",
             static_cast<double>(activations) / 1e9, page_seconds(activations));

  double gather = 0, gemm = 0;
  std::vector<float> x;
  for (int l = 1; l <= problem.model.layers; ++l) {
    const std::int64_t in = widths[at(l) - 1], out = widths[at(l)],
                       summed =
                           transforms_first(order_of(problem.config, problem.model, l), in, out)
                               ? out
                               : in;
    if (summed != 16 && summed != 64 && summed != 128 && summed != 256)
      throw Error(fmt::format(
          "layer {} sums rows of {} columns, and the gather kernel is made for 16, 64, 128 and 256",
          l, summed));
    const PartRows cut = problem.graphs->cut(l, 0, std::numeric_limits<Vertex>::max());
    const double rows = gather_seconds(cut.local.csr().columns, n, summed, x),
                 product = gemm_seconds(n, in, out);
    fmt::print(
        "layer {}: {} entries x {} columns gathered {:.2f} s, products {:.2f} s; took "
        "{:.2f} s\n",
        l, cut.local.nnz(), summed, rows, product, seconds_of(result, fmt::format("layer {}", l)));
    gather += rows;
    gemm += product;
  }
  const fs::path data = experiment.resolved["dataset"]["path"].get<std::string>();
  const double read_bytes = static_cast<double>(fs::file_size(data / "edges.npy") +
                                                fs::file_size(data / "features.npy")),
               written_bytes = static_cast<double>(4 * n * classes),
               reading = read_bytes / read_rate(data / "features.npy"),
               writing = written_bytes / write_rate(folder / "written-by-infer-bench");
  const double layers = seconds_of(result, "layer"), all = result["seconds"];
  fmt::print("bound of the layers {:.2f} s, took {:.2f} s: {:.0f} %\n", gather + gemm, layers,
             100 * (gather + gemm) / layers);
  fmt::print("files: reading {:.2f} s, writing {:.2f} s\n", reading, writing);
  fmt::print("bound of all {:.2f} s, took {:.2f} s: {:.0f} %\n", gather + gemm + reading + writing,
             all, 100 * (gather + gemm + reading + writing) / all);
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: infer_bench FOLDER, the result of orrery infer with one rank\n");
    return 2;
  }
  try {
    orrery::run(argv[1]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "infer_bench: {}\n", error.what());
    return 1;
  }
  return 0;
}
