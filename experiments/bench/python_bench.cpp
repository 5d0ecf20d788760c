// The C++ loops that python_speed.py stands beside: batches, a cut and products of one graph, by the
// same calls with the same numbers.
//
//     python_bench FOLDER
//
// Says first, as one JSON object, what the work comes to (edges, a sum over the owners), for the
// caller to compare: equal work, or the times say nothing. Then it answers lines "WORK ROUNDS" with
// the seconds of the best of so many rounds, so that the caller can alternate with its own.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
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

/// A program does something else between two products. Meanwhile its workers fall asleep, and a
/// core that sleeps takes longer to wake than one that is about to.
void pause() {
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
  while (std::chrono::steady_clock::now() < until) {
  }
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

/// Products of 128 columns with all entries one.
class Products {
 public:
  explicit Products(std::shared_ptr<const Csr> pattern) {
    const Tensor x{.id = 0, .shape = {pattern->cols, kWidth}, .ld = kWidth};
    const Tensor y{.id = 1, .shape = {pattern->rows, kWidth}, .ld = kWidth};
    memory_.allocate(x.id, x.bytes());
    memory_.allocate(y.id, y.bytes());
    std::fill_n(memory_.data<float>(x), pattern->cols * kWidth, 0.5F);
    std::fill_n(memory_.data<float>(y), pattern->rows * kWidth, 0.0F);
    const Sparse a{.id = 0, .shape = {pattern->rows, pattern->cols}, .nnz = pattern->nnz()};
    memory_.add_sparse(a.id, std::move(pattern));
    product_ = {.a = a, .values = {}, .x = x, .y = y, .beta = 0};
  }
  /// Into a tensor that is there.
  void in_place() { kernels_->run(product_, memory_); }
  /// Into one that is allocated for the product and freed behind it.
  void anew() {
    SpMM product = product_;
    product.y.id = 2;
    memory_.allocate(product.y.id, product.y.bytes());
    kernels_->run(product, memory_);
    memory_.free(product.y.id);
  }

 private:
  RankMemory memory_;
  std::unique_ptr<Kernels> kernels_ = make_cpu_kernels();
  SpMM product_;
};

int serve(const std::string& folder) {
  DatasetOptions options;
  options.path = folder;
  options.symmetric = true;
  const auto graph = load_dataset(options).graph;
  const auto order = spread_order(graph->rows);
  MessageFlow last;
  const std::int64_t edges = draw_epoch(*graph, order, last);
  const ThreadPool pool(available_cores());
  PartitionOptions cut;
  cut.method = "spring";
  const Partition made = partition_graph(*graph, kParts, cut);
  std::int64_t owners = 0;
  for (std::size_t v = 0; v < made.owner.size(); ++v)
    owners += static_cast<std::int64_t>(v % 1009) * made.owner[v];
  const auto block = std::make_shared<const Csr>(last.blocks.front());
  fmt::print("{{\"nnz\": {}, \"sampled_edges\": {}, \"owners\": {}, \"block_nnz\": {}}}\n",
             graph->nnz(), edges, owners, block->nnz());
  std::fflush(stdout);

  Products with_graph(graph), with_block(block);
  const std::map<std::string, std::function<void()>, std::less<>> works{
      {"sample",
       [&] {
         const ThreadPool one(1);
         draw_epoch(*graph, order, last);
       }},
      {"partition", [&] { partition_graph(*graph, kParts, cut); }},
      {"spmm", [&] { with_graph.in_place(); }},
      {"spmm_new", [&] { with_graph.anew(); }},
      {"block_spmm", [&] { with_block.in_place(); }},
      {"block_spmm_separate", [&] { with_block.in_place(); }},
      {"block_spmm_new", [&] { with_block.anew(); }}};
  std::string work;
  for (int rounds = 0; std::cin >> work >> rounds;) {
    const auto found = works.find(work);
    if (found == works.end()) {
      fmt::print(stderr, "python_bench: no work {}\n", work);
      return 2;
    }
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i < rounds; ++i) {
      if (work.ends_with("_separate")) pause();
      best = std::min(best, seconds_of(found->second));
    }
    fmt::print("{:.9f}\n", best);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "python_bench FOLDER\n");
    return 2;
  }
  return orrery::serve(argv[1]);
}
