// How fast batches are drawn, in sampled edges per second, beside the bound of the same run: random
// reads of 64 bytes from the same memory.
//
// ogbn-arxiv, symmetric, if ORRERY_DATA has it, and an R-MAT graph of 2^SAMPLE_BENCH_SCALE vertices
// and 16 entries each (default 20; 24 exceeds any cache and takes 3 GB). Batches of 1,000 seeds,
// fanouts 15, 10, 5, the first at the seeds. With several threads, each draws its own batches.
// A typed graph, a tenth of ogbn-mag by its counts, is drawn from without its types and with them: all
// relations together, and 3, 2, 1 by each relation.
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <cstdlib>
#include <memory>
#include <optional>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/rng.hpp"
#include "core/graph/read/load.hpp"
#include "core/sample/neighbour_sampler.hpp"
#include "core/sample/stacked_relations.hpp"

namespace orrery {
namespace {

constexpr std::int64_t kBatch = 1000;

struct Input {
  std::string name;
  std::shared_ptr<const Csr> graph;
  std::vector<Vertex> order;  ///< all vertices, shuffled: batches are taken from it in turn
  std::vector<float> weights;
  std::optional<StackedRelations> relations;
};

std::optional<Input> load(const std::string& name, const DatasetOptions& options) {
  try {
    const Dataset data = load_dataset(options);
    Input input{name, data.graph, {}, {}, {}};
    if (data.typed) input.relations = stack(*data.typed);
    const std::int64_t n = input.graph->rows;
    for (Vertex v = 0; v < n; ++v) input.order.push_back(v);
    Sequence draws(1, Purpose::permutation, 0);
    for (std::int64_t i = n - 1; i > 0; --i)
      std::swap(input.order[at(i)], input.order[draws.below(static_cast<std::uint64_t>(i) + 1)]);
    for (std::int64_t e = 0; e < input.graph->nnz(); ++e)
      input.weights.push_back(static_cast<float>(draws.uniform()));
    return input;
  } catch (const Error& error) {
    fmt::print(stderr, "{}: left out: {}\n", name, error.what());
    return std::nullopt;
  }
}

/// `finish`: what is done with each drawn flow.
template <class Finish>
void sample(benchmark::State& state, const Input& input, const NeighbourSampler& sampler,
            const Finish& finish) {
  auto scratch = sampler.scratch(kBatch);
  const auto batches = static_cast<std::uint32_t>(input.graph->rows / kBatch);
  auto step = static_cast<std::uint32_t>(state.thread_index() * 17);
  std::int64_t edges = 0, rows = 0;
  for (auto _ : state) {
    const std::span seeds(input.order.data() + (step % batches) * kBatch, kBatch);
    MessageFlow flow = sampler.sample(seeds, {1, 0, step++}, scratch);
    finish(flow);
    edges += flow.sampled_edges();
    rows += flow.rows[0];
  }
  state.SetItemsProcessed(edges);
  const auto per_batch = [&](std::int64_t count) {
    return benchmark::Counter(static_cast<double>(count) / static_cast<double>(state.iterations()),
                              benchmark::Counter::kAvgThreads);
  };
  state.counters["edges/batch"] = per_batch(edges);
  state.counters["rows/batch"] = per_batch(rows);
}

void sample(benchmark::State& state, const Input& input, NeighbourRule rule) {
  const bool weighted = rule == NeighbourRule::weighted;
  const NeighbourSampler sampler(*input.graph, {{15, 10, 5}, rule},
                                 weighted ? std::span(input.weights) : std::span<const float>());
  sample(state, input, sampler, [](MessageFlow&) {});
}

void sample_relations(benchmark::State& state, const Input& input, bool by_relation) {
  NeighbourSampling sampling{by_relation ? std::vector{3, 2, 1} : std::vector{15, 10, 5}};
  if (by_relation) sampling.by_relation.assign(at(input.relations->relations), sampling.fanouts);
  const NeighbourSampler sampler(*input.relations, sampling);
  sample(state, input, sampler, [&](MessageFlow& flow) { order_by_type(flow, *input.relations); });
}

/// The bound: as many independent reads as the core keeps under way, each of one line.
void random_lines(benchmark::State& state, const Input& input) {
  const auto& columns = input.graph->columns;
  std::uint64_t x = 88172645463325252U + static_cast<std::uint64_t>(state.thread_index());
  Vertex sum = 0;
  for (auto _ : state)
    for (int i = 0; i < 1000; ++i) {
      x ^= x << 13U;
      x ^= x >> 7U;
      x ^= x << 17U;
      sum ^= columns[(x >> 20U) % columns.size()];
    }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(state.iterations() * 1000);
}

void add(const Input& input) {
  constexpr std::pair<NeighbourRule, const char*> kRules[] = {
      {NeighbourRule::uniform, "uniform"},
      {NeighbourRule::replacement, "replacement"},
      {NeighbourRule::weighted, "weighted"},
      {NeighbourRule::labor, "labor"}};
  for (const auto& [rule, name] : kRules)
    benchmark::RegisterBenchmark(
        fmt::format("{}/{}", input.name, name).c_str(),
        [&input, rule = rule](benchmark::State& state) { sample(state, input, rule); })
        ->ThreadRange(1, 2)
        ->UseRealTime();
  if (input.relations)
    for (const bool by_relation : {false, true})
      benchmark::RegisterBenchmark(
          fmt::format("{}/{}", input.name, by_relation ? "by relation" : "with relations").c_str(),
          [&input, by_relation](benchmark::State& state) {
            sample_relations(state, input, by_relation);
          })
          ->ThreadRange(1, 2)
          ->UseRealTime();
  benchmark::RegisterBenchmark(fmt::format("{}/random 64-byte reads", input.name).c_str(),
                               [&input](benchmark::State& state) { random_lines(state, input); })
      ->ThreadRange(1, 2)
      ->UseRealTime();
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
  using namespace orrery;
  benchmark::Initialize(&argc, argv);
  DatasetOptions arxiv, rmat, mag;
  arxiv.path = "ogbn-arxiv";
  arxiv.symmetric = true;
  const char* scale = std::getenv("SAMPLE_BENCH_SCALE");
  rmat.generator = "rmat";
  rmat.generate_vertices = std::int64_t{1} << (scale == nullptr ? 20 : std::atoi(scale));
  rmat.generate_edges = 8 * rmat.generate_vertices;
  rmat.generate_classes = rmat.generate_features = 0;
  mag.generator = "mag";
  mag.generate_vertices = 194000;
  mag.generate_edges = 2111000;
  mag.generate_classes = 349;
  mag.mixing = 0.2;
  const auto small = load("ogbn-arxiv", arxiv), large = load("rmat", rmat),
             typed = load("mag", mag);
  for (const auto* input : {&small, &large, &typed})
    if (*input) add(**input);
  benchmark::RunSpecifiedBenchmarks();
}
