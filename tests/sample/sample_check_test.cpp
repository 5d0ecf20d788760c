// The check of samples accepts right ones and finds each kind of wrong ones.
#include "core/sample/sample_check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <vector>

#include "core/sample/neighbour_sampler.hpp"

namespace orrery {
namespace {

struct Drawn {
  std::vector<std::int64_t> draw, row, neighbour;
  void add(std::int64_t d, std::int64_t v, std::int64_t u) {
    draw.push_back(d);
    row.push_back(v);
    neighbour.push_back(u);
  }
  SampleCheck check(const Csr& graph, CheckedRule rule) const {
    return check_samples(graph, {draw, row, neighbour}, rule);
  }
};

/// Vertex v aggregates all others but those of its own remainder modulo 5; 12 to 16 of 20.
Csr some_graph() {
  Csr graph;
  graph.rows = graph.cols = 20;
  for (Vertex v = 0; v < 20; ++v) {
    for (Vertex u = 0; u < 20; ++u)
      if (u % 5 != v % 5 && !(v < 4 && u > 15)) graph.columns.push_back(u);
    graph.offsets.push_back(graph.nnz());
  }
  return graph;
}

/// The draws of our sampler for all rows at once, repeated this many times.
Drawn sampled(const Csr& graph, NeighbourRule rule, int fanout, std::uint32_t draws = 1000) {
  const NeighbourSampler sampler(graph, {{fanout}, rule});
  auto scratch = sampler.scratch(graph.rows);
  std::vector<Vertex> seeds;
  for (Vertex v = 0; v < graph.rows; ++v) seeds.push_back(v);
  Drawn drawn;
  for (std::uint32_t d = 0; d < draws; ++d) {
    const MessageFlow flow = sampler.sample(seeds, {9, 1, d}, scratch);
    for (Vertex v = 0; v < graph.rows; ++v)
      for (const Vertex j : flow.blocks[0].row(v)) drawn.add(d, v, flow.vertices[at(j)]);
  }
  return drawn;
}

/// `fanout` places out of n, as another program might draw them.
using Pick = std::function<std::vector<std::size_t>(std::mt19937_64&, std::size_t n)>;
Drawn picked(const Csr& graph, std::int64_t draws, const Pick& pick, std::uint64_t seed = 5) {
  std::mt19937_64 random(seed);
  Drawn drawn;
  for (std::int64_t d = 0; d < draws; ++d)
    for (Vertex v = 0; v < graph.rows; ++v) {
      const auto row = graph.row(v);
      for (const std::size_t i : pick(random, row.size())) drawn.add(d, v, row[i]);
    }
  return drawn;
}

TEST(SampleCheck, BelievesOurSamplers) {
  const Csr graph = some_graph();
  for (const int fanout : {1, 3, 8, 20}) {
    for (const NeighbourRule rule : {NeighbourRule::uniform, NeighbourRule::labor}) {
      const SampleCheck check = sampled(graph, rule, fanout).check(graph, {fanout, false});
      EXPECT_FALSE(check.is_wrong());
      EXPECT_FALSE(check.is_biased()) << check.each.least << " " << check.pairs.least;
      EXPECT_TRUE(check.was_tested);
      EXPECT_EQ(check.rows, 20);
      EXPECT_EQ(check.draws, 20000);
      EXPECT_EQ(check.each.tested, fanout < 20 ? 20 : 0);
      EXPECT_EQ(check.pairs.tested > 0, fanout == 3 || fanout == 8);
    }
    const SampleCheck check =
        sampled(graph, NeighbourRule::replacement, fanout).check(graph, {fanout, true});
    EXPECT_FALSE(check.is_wrong() || check.is_biased());
  }
  const SampleCheck all = sampled(graph, NeighbourRule::uniform, -1, 3).check(graph, {-1, false});
  EXPECT_TRUE(!all.is_wrong() && all.was_tested);
}

TEST(SampleCheck, FindsWhatIsWrongHoweverTheDiceFall) {
  const Csr graph = some_graph();
  const Drawn right = sampled(graph, NeighbourRule::uniform, 3, 10);
  EXPECT_FALSE(right.check(graph, {3, false}).is_wrong());

  for (const std::int64_t nowhere : {-1, 20, 5}) {  // 5 and 0 have the same remainder
    Drawn absent = right;
    const auto i = std::ranges::find(absent.row, 0) - absent.row.begin();
    absent.neighbour[at(i)] = nowhere;
    EXPECT_EQ(absent.check(graph, {3, false}).absent.count, 1);
    EXPECT_EQ(absent.check(graph, {3, false}).absent.first, i);
  }
  Drawn twice = right;
  twice.neighbour[1] = twice.neighbour[0];
  EXPECT_EQ(twice.check(graph, {3, false}).repeated.count, 1);
  EXPECT_EQ(twice.check(graph, {3, true}).is_wrong(), false);
  EXPECT_EQ(right.check(graph, {4, false}).miscounted.count, 200);
  EXPECT_EQ(right.check(graph, {-1, false}).miscounted.count, 200);
}

/// Rows of two to four neighbours, whose counts are often equal, and draws of nearly all neighbours.
TEST(SampleCheck, BelievesFewDrawsOfShortRowsAndOfNearlyAllNeighbours) {
  Csr graph;
  graph.rows = graph.cols = 40;
  for (Vertex v = 0; v < 40; ++v) {
    const Vertex degree = v < 30 ? 2 + v % 3 : 31;
    for (Vertex u = 0; u < degree; ++u) graph.columns.push_back(u);
    graph.offsets.push_back(graph.nnz());
  }
  for (const auto& [fanout, draws, replacement] :
       std::vector<std::tuple<int, int, bool>>{{1, 10, false},
                                               {1, 50, false},
                                               {2, 20, false},
                                               {3, 200, false},
                                               {30, 6, false},
                                               {1, 10, true},
                                               {5, 50, true}}) {
    const Pick right = [fanout = fanout, again = replacement](auto& random, std::size_t n) {
      std::multiset<std::size_t> places;
      const auto all = static_cast<std::size_t>(fanout);
      while (places.size() < (again ? all : std::min(all, n))) {
        const std::size_t place = std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
        if (again || !places.contains(place)) places.insert(place);
      }
      return std::vector(places.begin(), places.end());
    };
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const SampleCheck check =
          picked(graph, draws, right, seed).check(graph, {fanout, replacement});
      EXPECT_FALSE(check.is_wrong());
      EXPECT_FALSE(check.is_biased()) << fanout << " of few, " << draws
                                      << " draws: " << check.each.p() << " " << check.pairs.p();
    }
  }
}

TEST(SampleCheck, FindsTheFormulasOfOthersThatAreWrong) {
  const Csr graph = some_graph();
  const Pick right = [](std::mt19937_64& random, std::size_t n) {
    std::set<std::size_t> picks;
    for (std::size_t j = n - 4; j < n; ++j)
      if (const std::size_t t = random() % (j + 1); !picks.insert(t).second) picks.insert(j);
    return std::vector(picks.begin(), picks.end());
  };
  const Pick off_by_one = [](std::mt19937_64& random, std::size_t n) {
    std::set<std::size_t> picks;
    for (std::size_t j = n - 4; j < n; ++j)
      if (const std::size_t t = random() % j; !picks.insert(t).second) picks.insert(j);
    return std::vector(picks.begin(), picks.end());
  };
  const Pick neighbours_in_a_run = [](std::mt19937_64& random, std::size_t n) {
    std::set<std::size_t> picks;  // each equally often, pairs not
    const std::size_t first = random() % n;
    for (std::size_t j = 0; j < 4; ++j) picks.insert((first + j) % n);
    return std::vector(picks.begin(), picks.end());
  };
  const Pick in_turns = [next = std::size_t{0}](std::mt19937_64&, std::size_t n) mutable {
    std::set<std::size_t> picks;  // as even as no dice fall
    for (std::size_t j = 0; j < 4; ++j) picks.insert((next / 20 * 4 + j) % n);
    ++next;
    return std::vector(picks.begin(), picks.end());
  };

  EXPECT_FALSE(picked(graph, 3000, right).check(graph, {4, false}).is_biased());
  EXPECT_LT(picked(graph, 3000, off_by_one).check(graph, {4, false}).each.p(), 1e-6);
  const SampleCheck runs = picked(graph, 3000, neighbours_in_a_run).check(graph, {4, false});
  EXPECT_GT(runs.each.p(), SampleCheck::kLeast);
  EXPECT_LT(runs.pairs.p(), 1e-6);
  EXPECT_LT(picked(graph, 3000, in_turns).check(graph, {4, false}).each.p(), 1e-6);
}

TEST(SampleCheck, SaysWhereItCannotTell) {
  const Csr graph = some_graph();
  EXPECT_FALSE(sampled(graph, NeighbourRule::uniform, 3, 4).check(graph, {3, false}).was_tested);
  EXPECT_FALSE(Drawn().check(graph, {3, false}).was_tested);
}

}  // namespace
}  // namespace orrery
