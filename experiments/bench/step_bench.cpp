// The time of a batch of sampled training beside its unavoidable part, measured in the same run:
//   step_bench [DATASET] [BATCHES]
// GraphSAGE of three layers, hidden 256, batches of 1,000 seeds with fanouts 15, 10, 5 (the first
// at the seeds), one rank with all cores; the graph and labels of ogbn-arxiv, symmetric, if no
// other data set is named, with 128 generated features.
//
// The bound is the sum of the times of each part alone, on all cores: the dense and the sparse
// products of the batch by the kernels of the run, a kernel that only reads the rows of its
// features, and drawing by one thread, divided by the cores. No part waits for another in it, and
// nothing else counts: no activation, no loss, no update, no copy of rows. Medians of batches; one
// JSON line at the end. Beside it: dgl_step.py in this folder, where DGL is installed.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

#include "backends/cpu/cpu.hpp"
#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/base/rng.hpp"
#include "core/graph/read/load.hpp"
#include "core/partition/methods/cut.hpp"
#include "core/strategy/make_strategy.hpp"
#include "core/strategy/structure/sampled_batches.hpp"
#include "core/strategy/train/record.hpp"
#include "core/strategy/train/train.hpp"
#include "experiments/bench/bench_bounds.hpp"
#include "experiments/execute/execute.hpp"
#include "experiments/execute/median.hpp"

namespace orrery {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Problem problem_of(const std::string& dataset) {
  DatasetOptions options;
  options.path = dataset;
  options.symmetric = true;
  options.random_features = 128;
  Problem problem;
  problem.data = std::make_shared<const Dataset>(load_dataset(options));
  problem.model = {.type = ModelType::sage, .layers = 3, .hidden = 256, .dropout = 0.5};
  problem.train.epochs = 4;
  problem.train.eval_every = 0;
  problem.strategy.type = "mini_batch";
  problem.strategy.first_layer = FirstLayer::recompute;
  problem.strategy.own = MiniBatchSettings{.batch = 1000, .fanouts = {15, 10, 5}};
  problem.partition = partition_graph(*problem.data->graph, 1, {"block", "", 0});
  return problem;
}

/// Tensors of products that stand for those of a batch: the same size, elsewhere in memory.
class Standalone {
 public:
  /// Seconds of the op when it runs for the second time.
  double seconds_of(const Op& op) {
    Op own = op;
    if (auto* gemm = std::get_if<Gemm>(&own)) {
      gemm->a = floats(gemm->a.shape, 0);
      gemm->b = floats(gemm->b.shape, 1);
      gemm->c = floats(gemm->c.shape, 2);
    }
    return second(own);
  }
  double seconds_of(const Csr& pattern, std::int64_t width) {
    const Sparse sparse{patterns_++, {pattern.rows, pattern.cols}, pattern.nnz()};
    memory_.add_sparse(sparse.id, std::make_shared<const Csr>(pattern));
    return second(SpMM{sparse, floats({pattern.nnz(), 1}, 0), floats({pattern.cols, width}, 1),
                       floats({pattern.rows, width}, 2), 0});
  }
  double seconds_of_reading(const std::vector<Vertex>& rows, std::int64_t vertices,
                            std::int64_t width) {
    const float* x = memory_.data<float>(floats({vertices, width}, 3));
    gather_rows_only(rows, x, width);
    const double begin = now();
    sum_ += gather_rows_only(rows, x, width);
    return now() - begin;
  }
  float sum() const { return sum_; }

 private:
  double second(const Op& op) {
    kernels_->run(op, memory_);
    const double begin = now();
    kernels_->run(op, memory_);
    return now() - begin;
  }
  /// One of four tensors, which grow.
  Tensor floats(Shape shape, std::size_t which) {
    Tensor& t = tensors_[which];
    if (t.shape.size() < shape.size()) {
      t = {.id = next_++, .shape = {1, shape.size()}, .dtype = DType::f32, .ld = shape.size()};
      memory_.allocate(t.id, t.bytes());
      std::fill_n(memory_.data<float>(t), shape.size(), 0.5F);
    }
    Tensor window = t;
    window.shape = shape;
    window.ld = shape.cols;
    return window;
  }

  RankMemory memory_;
  std::array<Tensor, 4> tensors_{};
  std::uint32_t next_ = 0, patterns_ = 0;
  float sum_ = 0;
  std::unique_ptr<Kernels> kernels_ = make_cpu_kernels();
};

/// The dense products of each batch, in order.
std::vector<std::vector<Op>> products_of(const Problem& problem, std::size_t batches) {
  Problem one = problem;
  one.train.epochs = 1;
  const auto programs = record_training(*make_strategy(one), one, 1, {});
  std::vector<std::vector<Op>> of_batch(1);
  bool updated = false;  // the batch's updates have begun
  for (const Step& step : programs.front().steps) {
    const auto* submit = std::get_if<SubmitStep>(&step);
    if (submit == nullptr) continue;
    const bool updates = std::holds_alternative<Adam>(submit->op);
    if (updated && !updates && std::holds_alternative<Gemm>(submit->op)) {
      if (of_batch.size() == batches) break;
      of_batch.emplace_back();
      updated = false;
    }
    updated = updated || updates;
    if (std::holds_alternative<Gemm>(submit->op)) of_batch.back().push_back(submit->op);
  }
  return of_batch;
}

/// Seconds a batch, for epochs after the first.
double trained(const Problem& problem, int steps) {
  const auto strategy = make_strategy(problem);
  const Outcome outcome = execute_on_threads(TrainingBody(*strategy, problem), {}, {});
  std::vector<double> seconds;
  for (std::size_t e = 1; e < outcome.ranks[0].epochs.size(); ++e)
    seconds.push_back(outcome.ranks[0].epochs[e].seconds / steps);
  return median(seconds);
}

void run(const std::string& dataset, std::size_t most) {
  const Problem problem = problem_of(dataset);
  const SampledBatches batches(problem);
  const std::size_t count = std::min(most, at(batches.steps()));
  const std::int64_t width = problem.facts().features;
  const int cores = available_cores();

  Standalone alone;
  const auto dense_products = products_of(problem, count);
  std::vector<double> draw, read, sparse, dense;
  double rows = 0, edges = 0;
  for (std::size_t step = 0; step < count; ++step) {
    const double begin = now();
    const SampledBatch batch = batches.batch(0, 0, static_cast<int>(step));
    draw.push_back(now() - begin);
    const ThreadPool pool(cores);  // of what follows
    read.push_back(alone.seconds_of_reading(*batch.vertices, problem.data->vertices(), width));
    rows += static_cast<double>(batch.rows.front()) / static_cast<double>(count);
    edges += static_cast<double>(batch.edges) / static_cast<double>(count);
    // No gradient passes the features.
    double products = 0;
    for (std::size_t l = 0; l < batch.layers.size(); ++l) {
      const std::int64_t in = l == 0 ? width : problem.model.hidden;
      const std::int64_t out =
          l + 1 == batch.layers.size() ? problem.facts().classes : problem.model.hidden;
      const std::int64_t columns = transforms_first(problem.model.order, in, out, true) ? out : in;
      products += alone.seconds_of(batch.layers[l].forward.csr(), columns);
      if (batch.layers[l].adjoint)
        products += alone.seconds_of(batch.layers[l].adjoint->csr(), columns);
    }
    sparse.push_back(products);
    double gemms = 0;
    for (const Op& op : dense_products[step]) gemms += alone.seconds_of(op);
    dense.push_back(gemms);
  }
  const double bound = median(dense) + median(sparse) + median(read) + median(draw) / cores;
  const double seconds = trained(problem, batches.steps());

  const auto line = [&](const char* name, double value) {
    fmt::print("{:<38} {:8.2f} ms\n", name, 1e3 * value);
  };
  fmt::print("{}: {:.0f} rows and {:.0f} edges a batch, {} threads\n", dataset, rows, edges, cores);
  line("dense products", median(dense));
  line("sparse products", median(sparse));
  line("reading the rows of its features", median(read));
  line("drawing, one thread", median(draw));
  line("bound: the sum, drawing by all threads", bound);
  line("a batch of the run", seconds);
  fmt::print("the run is at {:.0f} % of the bound\n", 100 * bound / seconds);
  fmt::print(
      "{{\"dataset\": \"{}\", \"threads\": {}, \"rows\": {:.0f}, \"edges\": {:.0f}, "
      "\"dense_seconds\": {:.6f}, \"sparse_seconds\": {:.6f}, \"read_seconds\": {:.6f}, "
      "\"draw_seconds\": {:.6f}, \"bound_seconds\": {:.6f}, \"batch_seconds\": {:.6f}, "
      "\"sum\": {}}}\n",
      dataset, cores, rows, edges, median(dense), median(sparse), median(read), median(draw), bound,
      seconds, alone.sum() > 0 ? 1 : 0);
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
  try {
    const std::string dataset = argc > 1 ? argv[1] : "ogbn-arxiv";
    orrery::run(dataset, argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 10);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
