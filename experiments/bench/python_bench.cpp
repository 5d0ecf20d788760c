// The C++ loops that python_speed.py stands beside: batches, a cut and products of one graph, by the
// same calls with the same numbers. Prints one JSON object.
//
//     python_bench FOLDER ROUNDS
//
// Every number is the best of ROUNDS. What the work came to (edges, a sum over the owners) is there
// for the caller to compare: equal work, or the times say nothing.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "backends/cpu/cpu.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/graph/read/load.hpp"
#include "core/partition/methods/cut.hpp"
#include "core/partition/partition_options.hpp"
#include "core/runtime/execute/memory.hpp"
#include "core/sample/neighbour_sampler.hpp"

namespace orrery {
namespace {

constexpr std::int64_t kBatch = 1000, kWidth = 128;
constexpr int kParts = 16;

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double best_of(int rounds, const std::function<void()>& work) {
  double best = seconds_of(work);
  for (int i = 1; i < rounds; ++i) best = std::min(best, seconds_of(work));
  return best;
}

/// A program does something else between two products. Meanwhile its workers fall asleep, and a
/// core that sleeps takes longer to wake than one that is about to.
double best_of_separate(int rounds, const std::function<void()>& work) {
  double best = 1e9;
  for (int i = 0; i < rounds; ++i) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
    while (std::chrono::steady_clock::now() < until) {
    }
    best = std::min(best, seconds_of(work));
  }
  return best;
}

/// All vertices in an order that a caller in another language can make as well.
std::vector<Vertex> spread_order(std::int64_t n) {
  std::int64_t stride = 7919;
  while (std::gcd(stride, n) != 1) ++stride;
  std::vector<Vertex> order(at(n));
  for (std::int64_t i = 0; i < n; ++i) order[at(i)] = static_cast<Vertex>(i * stride % n);
  return order;
}

/// One epoch of batches on one thread. Returns the edges drawn.
std::int64_t draw_epoch(const Csr& graph, std::span<const Vertex> order, MessageFlow& last) {
  const NeighbourSampler sampler(graph, {{15, 10, 5}, NeighbourRule::uniform});
  auto scratch = sampler.scratch(kBatch);
  std::int64_t edges = 0;
  std::uint32_t step = 0;
  for (std::size_t begin = 0; begin < order.size(); begin += kBatch) {
    last = sampler.sample(order.subspan(begin, std::min<std::size_t>(kBatch, order.size() - begin)),
                          {0, 0, step++}, scratch);
    edges += last.sampled_edges();
  }
  return edges;
}

/// Products with all entries one.
struct ProductTimes {
  double in_place = 0;  ///< into a tensor that is there
  double separate = 0;  ///< the same, 0.1 ms after the last one
  double anew = 0;      ///< into one that is allocated for the product and freed behind it
};

ProductTimes product_times(std::shared_ptr<const Csr> pattern, int rounds) {
  RankMemory memory;
  const Tensor x{.id = 0, .shape = {pattern->cols, kWidth}, .ld = kWidth};
  const Tensor y{.id = 1, .shape = {pattern->rows, kWidth}, .ld = kWidth};
  memory.allocate(x.id, x.bytes());
  memory.allocate(y.id, y.bytes());
  std::fill_n(memory.data<float>(x), pattern->cols * kWidth, 0.5F);
  std::fill_n(memory.data<float>(y), pattern->rows * kWidth, 0.0F);
  const Sparse a{.id = 0, .shape = {pattern->rows, pattern->cols}, .nnz = pattern->nnz()};
  memory.add_sparse(a.id, std::move(pattern));
  const auto kernels = make_cpu_kernels();
  const SpMM product{.a = a, .values = {}, .x = x, .y = y, .beta = 0};
  ProductTimes times;
  times.in_place = best_of(rounds, [&] { kernels->run(product, memory); });
  times.separate = best_of_separate(rounds, [&] { kernels->run(product, memory); });
  memory.free(y.id);
  times.anew = best_of(rounds, [&] {
    memory.allocate(y.id, y.bytes());
    kernels->run(product, memory);
    memory.free(y.id);
  });
  return times;
}

void measure(const std::string& folder, int rounds) {
  DatasetOptions options;
  options.path = folder;
  options.symmetric = true;
  const auto graph = load_dataset(options).graph;
  const auto order = spread_order(graph->rows);
  std::int64_t edges = 0;
  MessageFlow last;
  const double sampling = best_of(rounds, [&] { edges = draw_epoch(*graph, order, last); });
  const ThreadPool pool(available_cores());
  PartitionOptions cut;
  cut.method = "spring";
  std::int64_t owners = 0;
  const double cutting = best_of(rounds, [&] {
    const Partition made = partition_graph(*graph, kParts, cut);
    owners = 0;
    for (std::size_t v = 0; v < made.owner.size(); ++v)
      owners += static_cast<std::int64_t>(v % 1009) * made.owner[v];
  });
  const ProductTimes product = product_times(graph, 3 * rounds);
  const ProductTimes block =
      product_times(std::make_shared<const Csr>(last.blocks.front()), 30 * rounds);
  fmt::print(
      "{{\"nnz\": {}, \"sampled_edges\": {}, \"sample_seconds\": {}, \"owners\": {}, "
      "\"partition_seconds\": {}, \"spmm_seconds\": {}, \"spmm_new_seconds\": {}, \"block_nnz\": "
      "{}, "
      "\"block_spmm_seconds\": {}, \"block_spmm_separate_seconds\": {}, "
      "\"block_spmm_new_seconds\": {}}}\n",
      graph->nnz(), edges, sampling, owners, cutting, product.in_place, product.anew,
      last.blocks.front().nnz(), block.in_place, block.separate, block.anew);
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
  if (argc != 3 || std::atoi(argv[2]) < 1) {
    fmt::print(stderr, "python_bench FOLDER ROUNDS\n");
    return 2;
  }
  orrery::measure(argv[1], std::atoi(argv[2]));
}
