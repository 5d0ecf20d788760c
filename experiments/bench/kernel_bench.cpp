// Rates of the cpu kernels beside the bounds of the same run: STREAM triad, and for sparse-dense
// products a kernel that only gathers the same rows by the same indices.
//
// All cores are used; each line is the median of repetitions. For a sparse-dense product, GB/s
// counts one row of x, one column number and the values per edge; for any other op, the bytes that
// the op itself states. KERNEL_BENCH_VERTICES=4096 is a smoke run of seconds.
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>

#include "backends/cpu/cpu.hpp"
#include "core/base/parallel.hpp"
#include "core/base/rng.hpp"
#include "core/graph/reorder.hpp"
#include "experiments/bench/bench_bounds.hpp"
#include "experiments/bench/bench_graphs.hpp"

namespace orrery {
namespace {

constexpr std::int64_t kWidths[] = {16, 48, 64, 128, 256};

/// Median seconds of every benchmark so far, by name: later benchmarks are compared with earlier
/// ones.
class Seconds {
 public:
  void add(const std::string& name, double seconds) { all_[name].push_back(seconds); }
  double median(const std::string& name) {
    auto& seconds = all_[name];
    if (seconds.empty()) return 0;
    const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
    std::nth_element(seconds.begin(), middle, seconds.end());
    return *middle;
  }

 private:
  std::map<std::string, std::vector<double>> all_;
};
Seconds seconds_of;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Times `work` and returns the seconds of one call.
double measure(benchmark::State& state, const std::string& name,
               const std::function<void()>& work) {
  work();  // warms caches, pages and the dense library's code generator
  double seconds = 0;
  for ([[maybe_unused]] auto _ : state) {
    const double begin = now();
    work();
    seconds += now() - begin;
  }
  seconds /= static_cast<double>(state.iterations());
  seconds_of.add(name, seconds);
  return seconds;
}

/// The bandwidth of moving `bytes` in `seconds`, in percent of the triad's.
double percent_of_stream(double bytes, double seconds) {
  const double triad_bytes = 12.0 * 64 * static_cast<double>(bench_vertices());
  return 100 * bytes / seconds / (triad_bytes / seconds_of.median("stream_triad"));
}

void report(benchmark::State& state, double flops, double bytes, double seconds) {
  if (flops > 0) state.counters["GFLOP/s"] = flops / seconds * 1e-9;
  state.counters["GB/s"] = bytes / seconds * 1e-9;
  state.counters["%STREAM"] = percent_of_stream(bytes, seconds);
}

/// Tensors of one benchmark.
class Workspace {
 public:
  Tensor floats(std::int64_t rows, std::int64_t cols, double share_of_zeros = 0) {
    const Tensor t = allocate({rows, cols}, DType::f32);
    parallel_for(rows, 256, [&](std::int64_t begin, std::int64_t end) {
      Sequence draw(t.id, Purpose::features, static_cast<std::uint32_t>(begin));
      float* first = memory_.data<float>(t);
      for (std::int64_t i = begin * cols; i < end * cols; ++i) {
        const float value = 2 * uniform_float(draw.word()) - 1;
        first[i] = share_of_zeros > 0 && draw.uniform() < share_of_zeros ? 0 : value;
      }
    });
    return t;
  }
  Tensor indices(std::int64_t rows, std::int64_t below) {
    const Tensor t = allocate({rows, 1}, DType::i32);
    Sequence draw(t.id, Purpose::features, 0);
    for (std::int64_t i = 0; i < rows; ++i)
      memory_.data<Vertex>(t)[i] =
          static_cast<Vertex>(draw.below(static_cast<std::uint64_t>(below)));
    return t;
  }
  Sparse sparse(std::shared_ptr<const Csr> pattern) {
    const Sparse s{patterns_++, {pattern->rows, pattern->cols}, pattern->nnz()};
    memory_.add_sparse(s.id, std::move(pattern));
    return s;
  }
  template <class T>
  T* data(const Tensor& t) const {
    return memory_.data<T>(t);
  }
  void run(const Op& op) { kernels_->run(op, memory_); }

 private:
  Tensor allocate(Shape shape, DType dtype) {
    const Tensor t{.id = tensors_++, .shape = shape, .dtype = dtype, .ld = shape.cols};
    memory_.allocate(t.id, t.bytes());
    return t;
  }
  RankMemory memory_;
  std::uint32_t tensors_ = 0, patterns_ = 0;
  std::unique_ptr<Kernels> kernels_ = make_cpu_kernels();
};

void bench(const std::string& name, const std::function<void(benchmark::State&)>& body) {
  benchmark::RegisterBenchmark(name.c_str(), body)
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond)
      ->MinTime(0.1)
      ->Repetitions(5)
      ->ReportAggregatesOnly();
}

void stream(benchmark::State& state) {
  const std::int64_t n = 64 * bench_vertices();
  Workspace w;
  const Tensor a = w.floats(n / 64, 64), b = w.floats(n / 64, 64), c = w.floats(n / 64, 64);
  const double seconds = measure(state, "stream_triad", [&] {
    stream_triad(n, w.data<float>(a), w.data<float>(b), w.data<float>(c));
  });
  state.counters["GB/s"] = 12 * static_cast<double>(n) / seconds * 1e-9;
}

/// The gather bound of one graph and width.
void gather_bound(benchmark::State& state, const std::string& name, const std::string& graph,
                  std::int64_t width) {
  const auto a = bench_graph(graph);
  Workspace w;
  const Tensor x = w.floats(a->cols, width);
  float sum = 0;
  const double seconds =
      measure(state, name, [&] { sum += gather_rows_only(a->columns, w.data<float>(x), width); });
  benchmark::DoNotOptimize(sum);
  report(state, 0, static_cast<double>(a->nnz() * (4 * width + 4)), seconds);
}

/// The product with one pattern, or with column tiles that add up to it.
void product(benchmark::State& state, const std::string& name,
             const std::vector<std::shared_ptr<const Csr>>& tiles, std::int64_t width,
             const std::string& bound) {
  Workspace w;
  std::int64_t cols = 0, nnz = 0;
  for (const auto& tile : tiles) cols += tile->cols;
  const Tensor x = w.floats(cols, width), y = w.floats(tiles.front()->rows, width);
  std::vector<SpMM> steps;
  std::int64_t col = 0;
  for (const auto& tile : tiles) {
    steps.push_back({w.sparse(tile), w.floats(tile->nnz(), 1), x.rows_at(col, tile->cols), y,
                     steps.empty() ? 0.0F : 1.0F});
    col += tile->cols;
    nnz += tile->nnz();
  }
  const double seconds = measure(state, name, [&] {
    for (const SpMM& step : steps) w.run(step);
  });
  report(state, 2.0 * static_cast<double>(nnz * width), static_cast<double>(nnz * (4 * width + 8)),
         seconds);
  state.counters["%gather"] = 100 * seconds_of.median(bound) / seconds;
}

void register_products() {
  for (const std::string graph : {"uniform", "rmat", "communities"})
    for (const std::int64_t width : kWidths) {
      const std::string bound = fmt::format("gather_bound/{}/{}", graph, width);
      const std::string name = fmt::format("spmm/{}/{}", graph, width);
      bench(bound, [=](auto& state) { gather_bound(state, bound, graph, width); });
      bench(name, [=](auto& state) { product(state, name, {bench_graph(graph)}, width, bound); });
    }
}

/// Alternates the product with a value for each edge and head and the one with one value for each
/// edge, of the same width, because other work on the machine changes both: %one_head is the speed
/// of the former in percent of the latter's, by medians.
void product_with_heads(benchmark::State& state, const std::string& name, const std::string& graph,
                        std::int64_t heads, std::int64_t width) {
  const auto pattern = bench_graph(graph);
  Workspace w;
  const Sparse a = w.sparse(pattern);
  const Tensor x = w.floats(a.shape.cols, width), y = w.floats(a.shape.rows, width);
  const SpMM one{a, w.floats(a.nnz, 1), x, y, 0}, many{a, w.floats(a.nnz, heads), x, y, 0};
  Seconds taken;
  const double seconds = measure(state, name, [&] {
    for (const SpMM* op : {&one, &many}) {
      const double begin = now();
      w.run(*op);
      taken.add(op == &one ? "one" : "many", now() - begin);
    }
  });
  state.counters["ms_one_head"] = 1e3 * taken.median("one");
  state.counters["ms_heads"] = 1e3 * taken.median("many");
  state.counters["%one_head"] = 100 * taken.median("one") / taken.median("many");
  state.counters["GFLOP/s"] = (flops_of(one) + flops_of(many)) / seconds * 1e-9;
}

/// Alternates the sampled dense-dense product and the product with heads of the same pattern and
/// width: %product is the speed of the former in percent of the latter's, which reads as much.
void dots_with_heads(benchmark::State& state, const std::string& name, const std::string& graph,
                     std::int64_t heads, std::int64_t width) {
  Workspace w;
  const Sparse a = w.sparse(bench_graph(graph));
  const Tensor x = w.floats(a.shape.rows, width), z = w.floats(a.shape.cols, width);
  const SpMM product{a, w.floats(a.nnz, heads), z, w.floats(a.shape.rows, width), 0};
  const Sddmm dots{a, x, z, w.floats(a.nnz, heads)};
  Seconds taken;
  const double seconds = measure(state, name, [&] {
    double begin = now();
    w.run(product);
    taken.add("product", now() - begin);
    begin = now();
    w.run(dots);
    taken.add("dots", now() - begin);
  });
  state.counters["ms_product"] = 1e3 * taken.median("product");
  state.counters["ms_dots"] = 1e3 * taken.median("dots");
  state.counters["%product"] = 100 * taken.median("product") / taken.median("dots");
  state.counters["GFLOP/s"] = (flops_of(product) + flops_of(dots)) / seconds * 1e-9;
}

/// Alternates gathering random rows and only reading them. %reading is the speed of the former in percent
/// of the latter's by rows, %reading_bytes by bytes: gathering writes each row as well.
void gathering(benchmark::State& state, const std::string& name, std::int64_t width) {
  const std::int64_t n = bench_vertices();
  Workspace w;
  const Tensor x = w.floats(n, width), index = w.indices(n, n), y = w.floats(n, width);
  const auto* first = w.data<Vertex>(index);
  const std::vector<Vertex> rows(first, first + n);
  Seconds taken;
  float sum = 0;
  measure(state, name, [&] {
    double begin = now();
    sum += gather_rows_only(rows, w.data<float>(x), width);
    taken.add("reading", now() - begin);
    begin = now();
    w.run(GatherRows{x, index, y});
    taken.add("gathering", now() - begin);
  });
  benchmark::DoNotOptimize(sum);
  const double speed = 100 * taken.median("reading") / taken.median("gathering");
  state.counters["ms_reading"] = 1e3 * taken.median("reading");
  state.counters["ms_gathering"] = 1e3 * taken.median("gathering");
  state.counters["%reading"] = speed;
  state.counters["%reading_bytes"] = 2 * speed;
}

void register_gathering() {
  for (const std::int64_t width : {16, 64, 128, 256}) {
    const std::string name = fmt::format("gather_rows/of_reading/{}", width);
    bench(name, [=](auto& state) { gathering(state, name, width); });
  }
}

void register_heads() {
  for (const std::string graph : {"uniform", "communities"})
    for (const auto& [heads, columns] : {std::pair{8, 32}, {8, 8}, {8, 7}, {4, 64}, {16, 1}}) {
      const std::string name = fmt::format("spmm/heads/{}/{}x{}", graph, heads, columns);
      bench(name, [=, heads = heads, columns = columns](auto& state) {
        product_with_heads(state, name, graph, heads, heads * columns);
      });
      const std::string dots = fmt::format("sddmm/{}/{}x{}", graph, heads, columns);
      bench(dots, [=, heads = heads, columns = columns](auto& state) {
        dots_with_heads(state, dots, graph, heads, heads * columns);
      });
    }
}

/// The gain of locality on the graph with communities, and its cost, which is paid once: %gather is
/// relative to the bound of the scrambled graph.
void register_locality() {
  for (const std::string method : {"bfs", "communities"}) {
    const auto renumbered = [method] {
      const auto graph = bench_graph("communities");
      return std::make_shared<const Csr>(permute(*graph, vertex_order(*graph, method)));
    };
    bench("cost/reorder_" + method, [=](auto& state) {
      for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(renumbered());
    });
    for (const std::int64_t width : kWidths) {
      const std::string name = fmt::format("spmm/communities_by_{}/{}", method, width);
      bench(name, [=](auto& state) {
        static std::map<std::string, std::shared_ptr<const Csr>> made;
        auto& graph = made[method];
        if (!graph) graph = renumbered();
        product(state, name, {graph}, width, fmt::format("gather_bound/communities/{}", width));
      });
    }
  }
  for (const std::int64_t tiles : {4, 16}) {
    bench(fmt::format("cost/{}_column_tiles", tiles), [=](auto& state) {
      const auto graph = bench_graph("communities");
      for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(column_tiles(*graph, tiles));
    });
    for (const std::int64_t width : kWidths) {
      const std::string name = fmt::format("spmm/communities_in_{}_tiles/{}", tiles, width);
      bench(name, [=](auto& state) {
        product(state, name, column_tiles(*bench_graph("communities"), tiles), width,
                fmt::format("gather_bound/communities/{}", width));
      });
    }
  }
}

/// A benchmark of one op: `build` makes its operands.
void bench_op(const std::string& name, const std::function<Op(Workspace&)>& build) {
  bench(name, [=](auto& state) {
    Workspace w;
    const Op op = build(w);
    report(state, flops_of(op), bytes_of(op), measure(state, name, [&] { w.run(op); }));
  });
}

void register_dense_products() {
  const std::int64_t n = std::min<std::int64_t>(200000, bench_vertices());
  for (const auto& [k, out] : {std::pair{128, 64}, {128, 128}, {602, 128}}) {
    const std::string sizes = fmt::format("{}x{}x{}", n, k, out);
    bench_op("gemm/" + sizes, [=](Workspace& w) {
      return Gemm{w.floats(n, k), w.floats(k, out), w.floats(n, out), false, false, 0};
    });
    bench_op("gemm/weight_gradient/" + sizes, [=](Workspace& w) {
      return Gemm{w.floats(n, k), w.floats(n, out), w.floats(k, out), true, false, 0};
    });
    bench_op("gemm/input_gradient/" + sizes, [=](Workspace& w) {
      return Gemm{w.floats(n, out), w.floats(k, out), w.floats(n, k), false, true, 0};
    });
  }
  bench_op("gemm/99_percent_zeros/2708x1433x16", [](Workspace& w) {
    return Gemm{
        w.floats(2708, 1433, 0.99), w.floats(1433, 16), w.floats(2708, 16), false, false, 0};
  });
}

/// Weights of edges from the numbers at their ends, and the adjoint.
void register_edge_softmax() {
  for (const std::int64_t heads : {1, 8}) {
    bench_op(fmt::format("edge_softmax/{}", heads), [=](Workspace& w) {
      const Sparse a = w.sparse(bench_graph("uniform"));
      const EndScores ends{w.floats(a.shape.rows, heads), w.floats(a.shape.cols, heads)};
      return EdgeSoftmax{a, w.floats(a.nnz, heads), ends};
    });
    bench_op(fmt::format("edge_softmax_backward/{}", heads), [=](Workspace& w) {
      const Sparse a = w.sparse(bench_graph("uniform"));
      const EndScores ends{w.floats(a.shape.rows, heads), w.floats(a.shape.cols, heads)};
      return EdgeSoftmaxBackward{a, w.floats(a.nnz, heads), w.floats(a.nnz, heads), ends,
                                 w.floats(a.shape.rows, heads)};
    });
  }
}

void register_row_ops() {
  const std::int64_t n = bench_vertices() / 4, f = 128;
  const auto drop = [=](Workspace& w) {
    return Dropout{0.5, 1, 1, 1, w.indices(n, bench_vertices()), 0};
  };
  bench_op("activate/bias_relu", [=](Workspace& w) {
    const Tensor x = w.floats(n, f);
    return Activate{x, w.floats(1, f), x, Activation::relu, {}};
  });
  bench_op("activate/bias_elu", [=](Workspace& w) {
    const Tensor x = w.floats(n, f);
    return Activate{x, w.floats(1, f), x, Activation::elu, {}};
  });
  bench_op("activate/bias_relu_dropout", [=](Workspace& w) {
    const Tensor x = w.floats(n, f);
    return Activate{x, w.floats(1, f), x, Activation::relu, drop(w)};
  });
  bench_op("activate/dropout", [=](Workspace& w) {
    return Activate{w.floats(n, f), {}, w.floats(n, f), Activation::none, drop(w)};
  });
  bench_op("activate/dropout_99_percent_zeros", [=](Workspace& w) {
    return Activate{w.floats(n, f, 0.99), {}, w.floats(n, f), Activation::none, drop(w)};
  });
  bench_op("activate_backward/relu", [=](Workspace& w) {
    const Tensor dy = w.floats(n, f), y = w.floats(n, f);
    return ActivateBackward{dy, y, w.floats(n, f), Activation::relu, {}};
  });
  bench_op("activate_backward/elu", [=](Workspace& w) {
    const Tensor dy = w.floats(n, f), y = w.floats(n, f);
    return ActivateBackward{dy, y, w.floats(n, f), Activation::elu, {}};
  });
  bench_op("column_sum", [=](Workspace& w) {
    return ColumnSum{w.floats(n, f), w.floats(1, f), 0};
  });
  bench_op("layer_norm", [=](Workspace& w) {
    const Tensor x = w.floats(n, f), gain = w.floats(1, f), shift = w.floats(1, f);
    return LayerNorm{x, gain, shift, w.floats(n, f), w.floats(n, 1), w.floats(n, f)};
  });
  bench_op("layer_norm_backward", [=](Workspace& w) {
    const Tensor dy = w.floats(n, f), normalised = w.floats(n, f), rstd = w.floats(n, 1);
    return LayerNormBackward{
        dy, normalised, rstd, w.floats(1, f), w.floats(n, f), w.floats(1, f), w.floats(1, f)};
  });
  bench_op("column_moments", [=](Workspace& w) {
    const Tensor x = w.floats(n, f);
    return ColumnMoments{x, x, w.floats(1, f), w.floats(1, f)};
  });
  bench_op("gather_rows", [=](Workspace& w) {
    return GatherRows{w.floats(n, f), w.indices(n, n), w.floats(n, f)};
  });
  bench_op("scatter_add_rows", [=](Workspace& w) {
    return ScatterAddRows{w.floats(n, f), w.indices(n, n), w.floats(n, f)};
  });
  bench_op("adam", [=](Workspace& w) {
    return Adam{.w = w.floats(n, f),
                .g = w.floats(n, f),
                .m = w.floats(n, f),
                .v = w.floats(n, f),
                .rate = 0.01F};
  });
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  benchmark::AddCustomContext("kernels", orrery::cpu_kernels_description());
  const orrery::ThreadPool pool(orrery::available_cores());
  orrery::bench("stream_triad", orrery::stream);
  orrery::register_products();
  orrery::register_gathering();
  orrery::register_heads();
  orrery::register_locality();
  orrery::register_dense_products();
  orrery::register_edge_softmax();
  orrery::register_row_ops();
  benchmark::RunSpecifiedBenchmarks();
}
