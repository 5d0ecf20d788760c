// Neighbour sampling: what is drawn is there, each rule has the probabilities that it is defined
// by, and nothing but (key, layer, vertex) decides.
#include "core/sample/neighbour_sampler.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "tests/sample/chi_square.hpp"

namespace orrery {
namespace {

using Rule = NeighbourRule;

constexpr Rule kRules[] = {Rule::uniform, Rule::replacement, Rule::weighted, Rule::labor};

/// Row 0 of a graph in which vertex 0 has this many in-neighbours: 1, 2, ....
Csr star(std::int64_t neighbours) {
  std::vector<Vertex> source, destination;
  for (Vertex v = 1; v <= neighbours; ++v) {
    source.push_back(v);
    destination.push_back(0);
  }
  return build_csr(neighbours + 1, source, destination);
}

/// In-neighbours of every vertex of a batch's rows by the global numbers, in the order drawn.
std::map<Vertex, std::vector<Vertex>> drawn_by(const MessageFlow& flow, int layer) {
  const Csr& block = flow.blocks[at(layer) - 1];
  std::map<Vertex, std::vector<Vertex>> of;
  for (std::int64_t r = 0; r < block.rows; ++r)
    for (const Vertex c : block.row(r)) of[flow.vertices[at(r)]].push_back(flow.vertices[at(c)]);
  return of;
}

std::vector<float> weights_of(const Csr& graph, Rule rule) {
  std::vector<float> weights;
  if (rule == Rule::weighted)
    for (std::int64_t e = 0; e < graph.nnz(); ++e)
      weights.push_back(static_cast<float>((e * 7) % 5));
  return weights;
}

/// The graphs have rows without neighbours, with fewer than any fanout, and with hundreds.
const Csr& skewed() {
  static const Csr graph = [] {
    Sequence draws(5, Purpose::edges, 0);
    EdgeList edges{3000, {}, {}};
    for (int i = 0; i < 40000; ++i) {
      const double u = draws.uniform();
      edges.source.push_back(static_cast<Vertex>(draws.below(3000)));
      edges.destination.push_back(static_cast<Vertex>(2900 * u * u * u * u));
    }
    return build_csr(edges);
  }();
  return graph;
}

std::vector<Vertex> every(std::int64_t n, std::int64_t step) {
  std::vector<Vertex> seeds;
  for (std::int64_t v = 0; v < n; v += step) seeds.push_back(static_cast<Vertex>(v));
  return seeds;
}

TEST(NeighbourSampler, DrawsEdgesThatAreThereAsManyAsAskedFor) {
  const Csr& graph = skewed();
  for (const Rule rule : kRules) {
    const auto weights = weights_of(graph, rule);
    const NeighbourSampler sampler(graph, {{4, 3, kAllNeighbours, 100}, rule}, weights);
    const auto seeds = every(graph.rows, 101);
    auto scratch = sampler.scratch(static_cast<std::int64_t>(seeds.size()));
    const MessageFlow flow = sampler.sample(seeds, {7, 1, 2}, scratch, true);
    ASSERT_EQ(flow.layers(), 4);
    EXPECT_EQ(flow.rows[4], static_cast<std::int64_t>(seeds.size()));
    EXPECT_TRUE(std::equal(seeds.begin(), seeds.end(), flow.vertices.begin()));
    EXPECT_EQ(flow.rows[0], static_cast<std::int64_t>(flow.vertices.size()));
    EXPECT_EQ(std::set(flow.vertices.begin(), flow.vertices.end()).size(), flow.vertices.size());
    for (int layer = 4; layer >= 1; --layer) {
      const Csr& block = flow.blocks[at(layer) - 1];
      const int fanout = sampler.sampling().fanouts[at(4 - layer)];
      ASSERT_EQ(block.rows, flow.rows[at(layer)]);
      ASSERT_EQ(block.cols, flow.rows[at(layer) - 1]);
      Vertex next = static_cast<Vertex>(block.rows);  // that is not met yet
      for (std::int64_t r = 0; r < block.rows; ++r) {
        const Vertex v = flow.vertices[at(r)];
        const auto row = graph.row(v);
        std::int64_t there = std::ssize(row);
        if (rule == Rule::weighted)
          there = std::count_if(row.begin(), row.end(), [&](const Vertex& u) {
            return weights[static_cast<std::size_t>(&u - graph.columns.data())] > 0;
          });
        const std::int64_t expected = fanout == kAllNeighbours ? there
                                      : rule == Rule::replacement
                                          ? (there > 0 ? fanout : 0)
                                          : std::min<std::int64_t>(there, fanout);
        ASSERT_EQ(block.degree(r), expected) << "vertex " << v;
        std::set<Vertex> distinct;
        for (EdgeIndex e = block.offsets[at(r)]; e < block.offsets[at(r) + 1]; ++e) {
          const Vertex c = block.columns[at(e)], u = flow.vertices[at(c)];
          ASSERT_TRUE(std::binary_search(row.begin(), row.end(), u));
          const EdgeIndex position = flow.edges[at(layer) - 1][at(e)];
          ASSERT_EQ(graph.columns[at(position)], u);
          ASSERT_TRUE(position >= graph.offsets[at(v)] && position < graph.offsets[at(v) + 1]);
          if (rule == Rule::weighted) {
            ASSERT_GT(weights[at(position)], 0);
          }
          ASSERT_LE(c, next);  // numbers are given in the order of the draws
          if (c == next) ++next;
          distinct.insert(u);
        }
        if (rule != Rule::replacement) {
          ASSERT_EQ(std::ssize(distinct), expected);
        }
      }
      ASSERT_EQ(next, flow.rows[at(layer) - 1]);
    }
  }
}

TEST(NeighbourSampler, TakesOfAVertexTheSameWhateverElseIsInTheBatch) {
  const Csr& graph = skewed();
  for (const Rule rule : kRules) {
    const auto weights = weights_of(graph, rule);
    const NeighbourSampler sampler(graph, {{5, 80}, rule}, weights);
    const auto all = every(graph.rows, 7);
    auto scratch = sampler.scratch(static_cast<std::int64_t>(all.size()));
    const DrawKey key{3, 9, 4};
    const MessageFlow whole = sampler.sample(all, key, scratch);
    const auto at_seeds = drawn_by(whole, 2), below = drawn_by(whole, 1);
    // Halves in turn, the second in the other order, with scratch memory that was used before.
    for (const std::size_t half : {0U, 1U}) {
      std::vector<Vertex> seeds(
          all.begin() + static_cast<std::ptrdiff_t>(half * all.size() / 2),
          half == 0 ? all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2) : all.end());
      if (half == 1) std::reverse(seeds.begin(), seeds.end());
      const MessageFlow flow = sampler.sample(seeds, key, scratch);
      for (const auto& [v, neighbours] : drawn_by(flow, 2)) EXPECT_EQ(neighbours, at_seeds.at(v));
      for (const auto& [v, neighbours] : drawn_by(flow, 1)) EXPECT_EQ(neighbours, below.at(v));
    }
    EXPECT_NE(drawn_by(sampler.sample(all, {3, 9, 5}, scratch), 2), at_seeds);  // another step
    EXPECT_NE(drawn_by(sampler.sample(all, {3, 8, 4}, scratch), 2), at_seeds);  // another epoch
    EXPECT_NE(drawn_by(sampler.sample(all, {4, 9, 4}, scratch), 2), at_seeds);  // another seed
  }
}

/// Copies of a graph without edges between them, written out: vertex v of copy c is v · copies + c.
Csr copies_of(const Csr& graph, int copies) {
  Csr all;
  all.rows = all.cols = graph.rows * copies;
  for (Vertex v = 0; v < graph.rows; ++v)
    for (int copy = 0; copy < copies; ++copy) {
      for (const Vertex u : graph.row(v)) all.columns.push_back(u * copies + copy);
      all.offsets.push_back(all.nnz());
    }
  return all;
}

TEST(NeighbourSampler, DrawsInCopiesOfAGraphAsInTheGraphThatHasThem) {
  constexpr int kCopies = 3;
  const Csr& graph = skewed();
  const Csr all = copies_of(graph, kCopies);
  for (const Rule rule : {Rule::uniform, Rule::replacement}) {
    const NeighbourSampler counted(graph, {{5, kAllNeighbours, 4}, rule, kCopies});
    const NeighbourSampler written(all, {{5, kAllNeighbours, 4}, rule});
    const auto seeds = every(all.rows, 11);
    EXPECT_EQ(counted.most_vertices(8), written.most_vertices(8));
    auto a = counted.scratch(std::ssize(seeds)), b = written.scratch(std::ssize(seeds));
    const MessageFlow flow = counted.sample(seeds, {3, 9, 4}, a);
    const MessageFlow expected = written.sample(seeds, {3, 9, 4}, b);
    EXPECT_EQ(flow.vertices, expected.vertices);
    EXPECT_EQ(flow.rows, expected.rows);
    for (std::size_t l = 0; l < flow.blocks.size(); ++l) {
      EXPECT_EQ(flow.blocks[l].offsets, expected.blocks[l].offsets);
      EXPECT_EQ(flow.blocks[l].columns, expected.blocks[l].columns);
    }
  }
}

TEST(NeighbourSampler, ThreadsSampleSideBySide) {
  const Csr& graph = skewed();
  const NeighbourSampler sampler(graph, {{15, 10, 5}, Rule::uniform});
  const auto sample_of = [&](std::uint32_t step, NeighbourSampler::Scratch& scratch) {
    return sampler.sample(every(graph.rows, 30 + step), {1, 0, step}, scratch);
  };
  constexpr std::uint32_t kSteps = 16;
  std::vector<MessageFlow> one;
  auto scratch = sampler.scratch(graph.rows);
  for (std::uint32_t step = 0; step < kSteps; ++step) one.push_back(sample_of(step, scratch));
  for (const std::uint32_t count : {2U, 3U, 8U}) {
    std::vector<MessageFlow> several(kSteps);
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < count; ++t)
      threads.emplace_back([&, t] {
        auto own = sampler.scratch(graph.rows);
        for (std::uint32_t step = t; step < kSteps; step += count)
          several[step] = sample_of(step, own);
      });
    for (auto& thread : threads) thread.join();
    for (std::size_t step = 0; step < kSteps; ++step) {
      EXPECT_EQ(one[step].vertices, several[step].vertices) << count << " threads";
      EXPECT_EQ(one[step].blocks, several[step].blocks) << count << " threads";
    }
  }
}

TEST(NeighbourSampler, ATableNumbersAsADenseArrayDoes) {
  // 5 M vertices: of a batch of few seeds the table is smaller than an entry for each.
  const std::int64_t n = 5'000'000;
  std::vector<Vertex> source, destination;
  for (std::int64_t i = 0; i < 400'000; ++i) {
    source.push_back(static_cast<Vertex>((i * 7919 + i * i % 1000) % n));
    destination.push_back(static_cast<Vertex>(i * 37 % 20'000));
  }
  const Csr graph = build_csr(n, source, destination);
  const NeighbourSampler sampler(graph, {{15, 10}, Rule::uniform});
  const auto seeds = every(1000, 10);
  EXPECT_LT(sampler.scratch_bytes(100), 4 * n);
  EXPECT_EQ(sampler.scratch_bytes(n), 4 * n);
  auto table = sampler.scratch(100), dense = sampler.scratch(n);
  for (std::uint32_t step = 0; step < 3; ++step) {
    const MessageFlow a = sampler.sample(seeds, {0, 0, step}, table),
                      b = sampler.sample(seeds, {0, 0, step}, dense);
    EXPECT_EQ(a.vertices, b.vertices);
    EXPECT_EQ(a.blocks, b.blocks);
  }
}

/// How often each of the vertices 1, ..., n is drawn for vertex 0, and each pair of them, over this
/// many steps; the batch's other layer draws the same row with other words.
struct Inclusions {
  Inclusions(const Csr& graph, const NeighbourSampler& sampler, int times, int layer = 1)
      : of(at(graph.rows - 1), 0), of_pair(at((graph.rows - 1) * (graph.rows - 1)), 0) {
    auto scratch = sampler.scratch(1);
    const std::int64_t n = graph.rows - 1;
    for (int t = 0; t < times; ++t) {
      const MessageFlow flow = sampler.sample(
          std::vector<Vertex>{0},
          {11, static_cast<std::uint32_t>(t / 1000), static_cast<std::uint32_t>(t % 1000)},
          scratch);
      const Csr& block = flow.blocks[at(layer) - 1];
      for (const Vertex i : block.row(0)) {
        const Vertex u = flow.vertices[at(i)];
        ++of[at(u) - 1];
        if (n > 40) continue;
        for (const Vertex j : block.row(0))
          if (flow.vertices[at(j)] > u) ++of_pair[at((u - 1) * n + flow.vertices[at(j)] - 1)];
      }
    }
  }
  std::vector<std::int64_t> pairs() const {
    std::vector<std::int64_t> list;
    const std::size_t n = of.size();
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 1; j < n; ++j) list.push_back(of_pair[i * n + j]);
    return list;
  }
  std::vector<std::int64_t> of, of_pair;
};

constexpr double kLeast = 1e-4;  ///< of a p-value

/// Inclusions without replacement are less spread than independent draws: with `fanout` of n the
/// sum of squares is divided by (1 − fanout/n) · n/(n − 1) to be chi-square of n − 1 degrees.
double p_of_inclusions(const std::vector<std::int64_t>& counts, double fanout) {
  const auto n = static_cast<double>(counts.size());
  return testing::p_value(testing::chi_square(counts) / (1 - fanout / n) * (n - 1) / n, n - 1);
}

class Fanouts : public ::testing::TestWithParam<std::pair<int, int>> {};

TEST_P(Fanouts, EveryNeighbourIsDrawnEquallyOften) {
  const auto [neighbours, fanout] = GetParam();
  const Csr graph = star(neighbours);
  for (const Rule rule : {Rule::uniform, Rule::labor}) {
    const NeighbourSampler sampler(graph, {{fanout, fanout}, rule});
    for (const int layer : {1, 2}) {
      const Inclusions seen(graph, sampler, 20000, layer);
      EXPECT_GT(p_of_inclusions(seen.of, fanout), kLeast) << "rule " << static_cast<int>(rule);
      if (neighbours > 40) continue;
      // Pairs share members, so their sum of squares is no chi-square; each count is binomial.
      const double p = double(fanout) * (fanout - 1) / (double(neighbours) * (neighbours - 1));
      for (const std::int64_t pair : seen.pairs())
        EXPECT_NEAR(static_cast<double>(pair), 20000 * p, 5 * std::sqrt(20000 * p * (1 - p)) + 1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Fanouts,
                         ::testing::Values(std::pair(2, 1), std::pair(7, 1), std::pair(7, 3),
                                           std::pair(16, 15), std::pair(33, 10), std::pair(40, 5),
                                           std::pair(300, 70)),
                         [](const auto& made) {
                           return fmt::format("{}of{}", made.param.second, made.param.first);
                         });

TEST(NeighbourSampler, HasNoBiasInLongRowsWhere16BitsHave) {
  // 40,000 neighbours: "% range" on 16 bits draws the first 25,536 twice as often as the others.
  const int neighbours = 40000;
  const Csr graph = star(neighbours);
  for (const Rule rule : {Rule::uniform, Rule::replacement, Rule::labor}) {
    const NeighbourSampler sampler(graph, {{200}, rule});
    auto scratch = sampler.scratch(1);
    std::int64_t low = 0, all = 0;
    for (std::uint32_t step = 0; step < 300; ++step) {
      const MessageFlow flow = sampler.sample(std::vector<Vertex>{0}, {5, 0, step}, scratch);
      for (const Vertex i : flow.blocks[0].row(0)) low += flow.vertices[at(i)] <= 25536 ? 1 : 0;
      all += flow.blocks[0].nnz();
    }
    const double p = 25536.0 / 40000;
    EXPECT_NEAR(static_cast<double>(low), p * static_cast<double>(all),
                4 * std::sqrt(p * (1 - p) * static_cast<double>(all)));
  }
}

/// The two wrong formulas of public samplers, as tests of the tests: what is looked at above finds
/// them.
TEST(NeighbourSampler, TheTestsFindTheFormulasOfOthersThatAreWrong) {
  const auto floyd_off_by_one = [](RowDraws& draws, std::uint32_t n, std::uint32_t k) {
    std::set<std::uint32_t> picks;
    for (std::uint32_t j = n - k; j < n; ++j)
      if (const std::uint32_t t = draws.word() % std::max(j, 1U); !picks.insert(t).second)
        picks.insert(j);
    return picks;
  };
  const auto modulo_16_bits = [](RowDraws& draws, std::uint32_t n, std::uint32_t k) {
    std::set<std::uint32_t> picks;
    for (std::uint32_t j = n - k; j < n; ++j)
      if (const std::uint32_t t = (draws.word() & 0xFFFFU) % (j + 1); !picks.insert(t).second)
        picks.insert(j);
    return picks;
  };
  std::vector<std::int64_t> of_seven(7, 0), of_halves(2, 0);
  for (std::uint32_t step = 0; step < 20000; ++step) {
    RowDraws draws(step, 0, 0);
    for (const std::uint32_t i : floyd_off_by_one(draws, 7, 3)) ++of_seven[i];
  }
  EXPECT_LT(p_of_inclusions(of_seven, 3), 1e-12);
  for (std::uint32_t step = 0; step < 300; ++step) {
    RowDraws draws(step, 0, 0);
    for (const std::uint32_t i : modulo_16_bits(draws, 40000, 200)) ++of_halves[i < 25536 ? 0 : 1];
  }
  const double all = 200 * 300, p = 25536.0 / 40000;
  EXPECT_GT(static_cast<double>(of_halves[0]), p * all + 20 * std::sqrt(p * (1 - p) * all));
}

TEST(NeighbourSampler, DrawsWithReplacementAreIndependent) {
  const Csr graph = star(9);
  const NeighbourSampler sampler(graph, {{12}, Rule::replacement});
  auto scratch = sampler.scratch(1);
  std::vector<std::int64_t> of(9, 0), of_successors(81, 0);
  for (std::uint32_t step = 0; step < 20000; ++step) {
    const MessageFlow flow = sampler.sample(std::vector<Vertex>{0}, {2, 0, step}, scratch);
    const auto row = flow.blocks[0].row(0);
    ASSERT_EQ(row.size(), 12U);
    for (std::size_t i = 0; i < 12; ++i) {
      const auto value = [&](std::size_t k) { return at(flow.vertices[at(row[k])] - 1); };
      ++of[value(i)];
      if (i % 2 == 1) ++of_successors[9 * value(i - 1) + value(i)];
    }
  }
  EXPECT_GT(testing::p_value(testing::chi_square(of), 8), kLeast);
  EXPECT_GT(testing::p_value(testing::chi_square(of_successors), 80), kLeast);
}

/// Visits every ordered choice of `count` of the weights, one after the other among those left.
void for_each_order(const std::vector<double>& weights, int count,
                    const std::function<void(const std::vector<int>&, double)>& visit,
                    std::vector<int> order = {}, double probability = 1) {
  if (std::ssize(order) == count) return visit(order, probability);
  double left = 0;
  for (int i = 0; i < std::ssize(weights); ++i)
    if (std::find(order.begin(), order.end(), i) == order.end()) left += weights[at(i)];
  for (int i = 0; i < std::ssize(weights); ++i) {
    if (weights[at(i)] == 0 || std::find(order.begin(), order.end(), i) != order.end()) continue;
    order.push_back(i);
    for_each_order(weights, count, visit, order, probability * weights[at(i)] / left);
    order.pop_back();
  }
}

TEST(NeighbourSampler, DrawsByWeightOneAfterTheOther) {
  // In the second and the last one entry has nearly all the weight, so that most rows end by keys.
  std::vector<float> many, one_heavy(70, 1.0F);
  for (int i = 0; i < 70; ++i) many.push_back(static_cast<float>((i * 7) % 5));
  one_heavy[40] = 1e6F;
  const std::pair<std::vector<float>, int> rows[] = {
      {{1, 2, 0, 4, 0.5F, 3}, 3}, {{1e6F, 1, 2, 3, 0, 1}, 3}, {many, 2}, {one_heavy, 2}};
  for (const auto& [weights, count] : rows) {
    const Csr graph = star(static_cast<Vertex>(weights.size()));
    const NeighbourSampler sampler(graph, {{count}, Rule::weighted}, weights);
    auto scratch = sampler.scratch(1);
    std::map<std::vector<int>, double> expected;
    for_each_order(std::vector<double>(weights.begin(), weights.end()), count,
                   [&](const std::vector<int>& order, double p) { expected[order] = p; });
    std::map<std::vector<int>, std::int64_t> seen;
    const int times = 60000;
    for (std::uint32_t step = 0; step < times; ++step) {
      const MessageFlow flow = sampler.sample(std::vector<Vertex>{0}, {8, 0, step}, scratch);
      std::vector<int> order;
      for (const Vertex i : flow.blocks[0].row(0)) order.push_back(flow.vertices[at(i)] - 1);
      ++seen[order];
    }
    double squares = 0;
    int cells = 0;
    for (const auto& [order, p] : expected) {
      const double mean = p * times;
      if (mean < 5) continue;  // too rare for the approximation
      ++cells;
      squares += (static_cast<double>(seen[order]) - mean) *
                 (static_cast<double>(seen[order]) - mean) / mean;
    }
    for (const auto& [order, times_seen] : seen) EXPECT_TRUE(expected.contains(order));
    EXPECT_GE(cells, 12);
    EXPECT_GT(testing::p_value(squares, cells - 1), kLeast) << weights.size() << " weights";
  }
}

TEST(NeighbourSampler, LaborRowsShareTheirChoice) {
  // Two rows with the same 50 neighbours take the same ones; uniform draws share few.
  std::vector<Vertex> source, destination;
  for (Vertex v = 2; v < 52; ++v)
    for (const Vertex row : {0, 1}) {
      source.push_back(v);
      destination.push_back(row);
    }
  const Csr graph = build_csr(52, source, destination);
  std::map<Rule, std::int64_t> inputs;
  for (const Rule rule : {Rule::labor, Rule::uniform}) {
    const NeighbourSampler sampler(graph, {{10}, rule});
    auto scratch = sampler.scratch(2);
    for (std::uint32_t step = 0; step < 100; ++step)
      inputs[rule] += sampler.sample(std::vector<Vertex>{0, 1}, {1, 0, step}, scratch).rows[0];
  }
  EXPECT_EQ(inputs[Rule::labor], 100 * 12);
  EXPECT_GT(inputs[Rule::uniform], 100 * 18);
}

TEST(NeighbourSampler, SaysWhatIsWrongWithItsSettings) {
  const Csr graph = star(3);
  const std::vector<float> weights(3, 1.0F), negative{1, -1, 1}, few{1, 1};
  EXPECT_THROW(NeighbourSampler(graph, {{}}), ConfigError);
  EXPECT_THROW(NeighbourSampler(graph, {{5, 0}}), ConfigError);
  EXPECT_THROW(NeighbourSampler(graph, {{5, -2}}), ConfigError);
  EXPECT_THROW(NeighbourSampler(graph, {{5}, Rule::weighted}), ConfigError);
  EXPECT_THROW(NeighbourSampler(graph, {{5}}, weights), ConfigError);
  EXPECT_THROW(NeighbourSampler(graph, {{5}, Rule::weighted}, negative), Error);
  EXPECT_THROW(NeighbourSampler(graph, {{5}, Rule::weighted}, few), Error);
  const NeighbourSampler sampler(graph, {{5}});
  auto scratch = sampler.scratch(2);
  EXPECT_THROW(sampler.sample(std::vector<Vertex>{1, 1}, {}, scratch), Error);
  EXPECT_EQ(sampler.sample({}, {}, scratch).rows, (std::vector<std::int64_t>{0, 0}));
}

TEST(NeighbourSampler, BoundsTheVerticesOfABatch) {
  const Csr graph = star(99);
  EXPECT_EQ(NeighbourSampler(graph, {{2, 3}}).most_vertices(5), 5 * 3 * 4);
  EXPECT_EQ(NeighbourSampler(graph, {{2, 3}}).most_vertices(50), 100);
  EXPECT_EQ(NeighbourSampler(graph, {{2, kAllNeighbours}}).most_vertices(1), 100);
}

TEST(ExcludedEntries, AreFoundInEveryRowOfEveryCopy) {
  Sequence draws(5, Purpose::edges, 0);
  for (const int copies : {1, 3})
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{900}}) {
      constexpr EdgeIndex kEntries = 1000;
      std::vector<EdgeIndex> keys;
      for (std::size_t i = 0; i < count; ++i)
        keys.push_back(static_cast<EdgeIndex>(draws.below(static_cast<std::uint64_t>(kEntries) *
                                                          static_cast<std::uint64_t>(copies))));
      if (count == 7) keys = {0, copies * kEntries - 1, 5, 5, 64, 127, 128};
      const ExcludedEntries excluded(keys, kEntries, copies);
      for (EdgeIndex begin = 0; begin < kEntries; begin += 13)
        for (const EdgeIndex end : {begin, std::min(begin + 13, kEntries), kEntries})
          for (Vertex copy = 0; copy < copies; ++copy) {
            std::set<EdgeIndex> want;
            for (const EdgeIndex key : keys)
              if (key % copies == copy && key / copies >= begin && key / copies < end)
                want.insert(key / copies);
            std::vector<EdgeIndex> got;
            excluded.within(begin, end, copy, got);
            ASSERT_EQ(got, std::vector<EdgeIndex>(want.begin(), want.end()));
          }
    }
}

/// Excluded entries are never drawn, and each set of the others is as likely as if there were no
/// more.
TEST(NeighbourSampler, DrawsAmongWhatIsNotExcluded) {
  const Csr graph = star(7);
  const ExcludedEntries excluded({6, 0, 3, 0}, graph.nnz());  // 1, 4 and 7
  for (const Rule rule : {Rule::uniform, Rule::replacement, Rule::labor}) {
    const NeighbourSampler sampler(graph, {{2}, rule});
    auto scratch = sampler.scratch(1);
    std::map<Vertex, int> times;
    constexpr int kDraws = 8000;
    for (std::uint32_t step = 0; step < kDraws; ++step) {
      const Vertex seed = 0;
      const auto flow = sampler.sample({&seed, 1}, {1, 0, step}, scratch, false, excluded);
      const auto drawn = drawn_by(flow, 1);
      for (const Vertex v : drawn.at(0)) ++times[v];
    }
    ASSERT_EQ(times.size(), 4U) << "rule " << static_cast<int>(rule);
    for (const Vertex v : {2, 3, 5, 6})
      EXPECT_NEAR(times[v], kDraws / 2.0, 5 * std::sqrt(kDraws / 4.0)) << v;
  }
  const NeighbourSampler all(graph, {{kAllNeighbours}});
  auto scratch = all.scratch(1);
  const Vertex seed = 0;
  EXPECT_EQ(drawn_by(all.sample({&seed, 1}, {1, 0, 0}, scratch, false, excluded), 1)[0],
            (std::vector<Vertex>{2, 3, 5, 6}));
}

/// The edges among some vertices are those of the graph whose ends both are, in order, whoever was numbered
/// before.
TEST(EdgesAmongVertices, AreAllWhoseEndsAreBothThere) {
  const Csr& graph = skewed();
  const NeighbourSampler sampler(graph, {.fanouts = {kAllNeighbours, kAllNeighbours}});
  NeighbourSampler::Scratch scratch = sampler.scratch(graph.rows);
  for (int round = 0; round < 3; ++round) {
    std::vector<Vertex> vertices;
    for (Vertex v = round; v < graph.rows; v += 5 + round) vertices.push_back(v);

    const MessageFlow flow = sampler.among(vertices, scratch);

    ASSERT_EQ(flow.blocks.size(), 1U);
    EXPECT_EQ(flow.rows, (std::vector<std::int64_t>(3, std::ssize(vertices))));
    std::vector<std::pair<Vertex, Vertex>> wanted, found;
    std::vector<EdgeIndex> places;
    std::int64_t scanned = 0;
    for (const Vertex v : vertices) {
      scanned += graph.degree(v);
      for (EdgeIndex e = graph.offsets[at(v)]; e < graph.offsets[at(v) + 1]; ++e)
        if (std::find(vertices.begin(), vertices.end(), graph.columns[at(e)]) != vertices.end()) {
          wanted.emplace_back(v, graph.columns[at(e)]);
          places.push_back(e);
        }
    }
    const Csr& block = flow.blocks[0];
    for (std::int64_t r = 0; r < block.rows; ++r)
      for (const Vertex c : block.row(r)) found.emplace_back(vertices[at(r)], vertices[at(c)]);
    EXPECT_EQ(found, wanted);
    EXPECT_EQ(flow.edges[0], places);
    EXPECT_EQ(flow.scanned, scanned);
    EXPECT_GT(found.size(), 0U);
    EXPECT_LT(std::ssize(found), scanned);
  }
}

}  // namespace
}  // namespace orrery
