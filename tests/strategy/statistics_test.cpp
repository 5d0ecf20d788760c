// A graph that is given by its statistics is planned like a random permutation of a real one.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/error.hpp"
#include "core/runtime/check/check.hpp"
#include "core/runtime/summary.hpp"
#include "core/strategy/make_strategy.hpp"
#include "core/strategy/train/record.hpp"
#include "tests/support/problems.hpp"

namespace orrery {
namespace {

using testing::make_problem;
using testing::NamedStrategy;
using testing::random_dataset;

/// The statistics that somebody who has the graph would publish.
GraphStatistics statistics_of(const Dataset& data) {
  GraphStatistics graph;
  graph.name = data.name;
  graph.vertices = data.vertices();
  graph.features = data.features->width();
  graph.classes = data.labels.classes;
  graph.symmetric = data.symmetric;
  graph.training_vertices = std::count(data.split.begin(), data.split.end(), Split::train);
  std::int64_t largest = 0;
  for (Vertex v = 0; v < data.vertices(); ++v) {
    largest = std::max(largest, data.graph->degree(v));
    for (const Vertex u : data.graph->row(v)) graph.edges += u == v ? 0 : 1;
  }
  graph.skew = static_cast<double>(largest * data.vertices()) / static_cast<double>(data.edges());
  return graph;
}

/// The same problem without its graph.
Problem without_graph(Problem problem) {
  problem.statistics = statistics_of(*problem.data);
  problem.data.reset();
  problem.partition.owner.clear();
  return problem;
}

Problem by_statistics(const GraphStatistics& graph, int ranks, const StrategyConfig& strategy) {
  Problem problem;
  problem.statistics = graph;
  problem.strategy = strategy;
  problem.partition.parts = parts_for(strategy, ranks);
  return problem;
}

std::vector<Program> record(const Problem& problem) {
  return record_training(*make_strategy(problem), problem, 2, {});
}

std::int64_t entries(const std::vector<SparseMatrix>& tiles) {
  std::int64_t sum = 0;
  for (const SparseMatrix& tile : tiles) sum += tile.nnz();
  return sum;
}

std::vector<NamedStrategy> strategies_without_structure() {
  auto all = testing::all_strategies();
  std::erase_if(all, [](const auto& s) { return !info_of(s.config).needs_structure.empty(); });
  for (const auto& inexact : testing::inexact_strategies())
    if (inexact.config.type == "spmm_1d") all.push_back(inexact);
  return all;
}
std::vector<NamedStrategy> strategies_that_share() {
  auto all = strategies_without_structure();
  std::erase_if(all, [](const auto& s) { return s.config.type == "spmm_2d"; });
  return all;
}
std::string name_of_case(const ::testing::TestParamInfo<NamedStrategy>& param) {
  return param.param.name;
}

// ---- counts ------------------------------------------------------------------------------------

class Counted : public ::testing::TestWithParam<bool> {};

/// Tiles of the real permuted matrix are samples of what is expected, up to the self-loops, which
/// all lie on the diagonal there.
TEST_P(Counted, TilesAreThoseOfAPermutedGraph) {
  constexpr int kParts = 7;
  const bool symmetric = GetParam();
  const Problem real =
      make_problem(random_dataset(2000, 24000, 4, 3, symmetric), kParts, "spmm_1d");
  const auto source = partitioned_graph(real), expected = partitioned_graph(without_graph(real));

  ASSERT_EQ(expected->sizes(), source->sizes());
  EXPECT_EQ(expected->symmetric(), source->symmetric());
  std::int64_t all = 0, all_expected = 0;
  for (int i = 0; i < kParts; ++i) {
    const auto tiles = source->rows(i, Direction::forward);
    const auto counts = expected->rows(i, Direction::forward);
    ASSERT_EQ(counts.size(), tiles.size());
    for (std::size_t j = 0; j < tiles.size(); ++j) {
      EXPECT_EQ(counts[j].rows(), tiles[j].rows());
      EXPECT_EQ(counts[j].cols(), tiles[j].cols());
      const double size = static_cast<double>(source->sizes()[j]);
      const double loops = static_cast<int>(j) == i ? size : 0;
      const double spread = size * size / 2000;
      // Both directions of an edge of a symmetric graph fall into a diagonal tile together.
      const double sigma = std::sqrt(2.0 * static_cast<double>(counts[j].nnz()));
      EXPECT_NEAR(static_cast<double>(counts[j].nnz()) - spread,
                  static_cast<double>(tiles[j].nnz()) - loops, 4.5 * sigma)
          << "tile " << i << ", " << j;
    }
    all += entries(tiles);
    all_expected += entries(counts);
  }
  EXPECT_LE(std::abs(all_expected - all), kParts / 2);
}
INSTANTIATE_TEST_SUITE_P(Graphs, Counted, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "Symmetric" : "Directed"; });

TEST(Statistics, RowsOfTilesSumToTheirShareRounded) {
  GraphStatistics graph;
  graph.vertices = 1003;
  graph.edges = 77777;
  ModelConfig sage;
  sage.type = ModelType::sage;
  const auto source = partitioned_by_statistics(graph, sage, 64);

  std::int64_t all = 0;
  for (int p = 0; p < source->parts(); ++p) {
    const auto size = source->sizes()[static_cast<std::size_t>(p)];
    const auto own = entries(source->rows(p, Direction::forward));
    EXPECT_EQ(own, std::lround(77777.0 * static_cast<double>(size) / 1003));
    all += own;
  }
  EXPECT_NEAR(static_cast<double>(all), 77777, 32);
  EXPECT_EQ(entries(partitioned_by_statistics(graph, sage, 1)->rows(0, Direction::forward)), 77777);
  const auto gcn = partitioned_by_statistics(graph, {}, 1);
  EXPECT_EQ(entries(gcn->rows(0, Direction::forward)), 77777 + 1003) << "a self-loop a vertex";
}

TEST(Statistics, SplitsOfThePartsAreTheirShares) {
  GraphStatistics graph;
  graph.vertices = 1000;
  graph.training_vertices = 600;
  const VertexData data = partitioned_by_statistics(graph, {}, 4)->data(2);

  EXPECT_EQ(data.vertices(), 250);
  EXPECT_EQ(data.targets(Split::train, 250).size(), 150);
  EXPECT_EQ(data.targets(Split::validation, 250).size(), 50);
  EXPECT_EQ(data.targets(Split::test, 250).size(), 50);
}

/// If degrees are equal, the largest row of a tile is a matter of chance.
TEST(Statistics, SkewOfTilesIsThatOfChanceWithoutHubs) {
  const Problem real = make_problem(random_dataset(4000, 80000, 4, 3, true), 8, "spmm_1d");
  GraphStatistics graph = statistics_of(*real.data);
  graph.skew = 1;
  double measured = 0, expected = 0;
  const auto source = partitioned_graph(real),
             counts = partitioned_by_statistics(graph, real.model, 8);
  for (int i = 0; i < 8; ++i) {
    for (const SparseMatrix& tile : source->rows(i, Direction::forward)) {
      std::int64_t largest = 0;
      for (Vertex v = 0; v < tile.rows(); ++v) largest = std::max(largest, tile.csr().degree(v));
      measured += static_cast<double>(largest * tile.rows()) / static_cast<double>(tile.nnz()) / 64;
    }
    for (const SparseMatrix& tile : counts->rows(i, Direction::forward))
      expected += std::get<Counts>(tile.pattern).skew / 64;
  }

  EXPECT_NEAR(expected, measured, 0.15 * measured);
}

TEST(Statistics, SkewOfTilesIsTheHubsWhereThereIsOneAndNeverMoreThanARow) {
  GraphStatistics graph;
  graph.vertices = 8000;
  graph.edges = 800000;
  graph.skew = 30;
  const auto skew = [&] {
    const auto tiles = partitioned_by_statistics(graph, {}, 4)->rows(0, Direction::forward);
    return std::get<Counts>(tiles[1].pattern).skew;
  };
  EXPECT_NEAR(skew(), 30, 1e-9);
  graph.skew = 7999;
  EXPECT_NEAR(skew(), 2000 / (808000.0 / 8000 / 4), 1e-2) << "every column of the tile";
  graph.edges = 0;
  ModelConfig sage;
  sage.type = ModelType::sage;
  const auto empty = partitioned_by_statistics(graph, sage, 4)->rows(0, Direction::forward);
  EXPECT_EQ(std::get<Counts>(empty[1].pattern).skew, 1);
}

// ---- programs ----------------------------------------------------------------------------------

class Planned : public ::testing::TestWithParam<NamedStrategy> {};

/// Rows travel whole, so their volume does not depend on where the entries lie; memory and work
/// differ by the entries that a rank has more or less than expected.
TEST_P(Planned, LikeAPermutedGraphOfTheSameSize) {
  for (const ModelType model : {ModelType::gcn, ModelType::sage})
    for (const bool symmetric : {true, false}) {
      Problem real =
          make_problem(random_dataset(203, 2400, 12, 5, symmetric), 4, GetParam().config);
      real.model.type = model;
      real.model.layers = 3;
      const bool grid = real.strategy.type == "spmm_2d";  // tiles travel as well
      const Problem counted = without_graph(real);
      const auto source = partitioned_graph(real), counts = partitioned_graph(counted);
      const auto programs = record(real), expected = record(counted);
      const Placement placement = Placement::uniform(2, 2);
      double work = 0, work_expected = 0;
      for (std::size_t r = 0; r < 4; ++r) {
        const Summary a = summarise(programs[r], placement), b = summarise(expected[r], placement);
        work += a.epoch.by_kind.at("spmm").flops;
        work_expected += b.epoch.by_kind.at("spmm").flops;
        for (const auto& [kind, totals] : a.epoch.by_kind)
          EXPECT_EQ(b.epoch.by_kind.at(kind).count, totals.count) << kind;
        if (grid) continue;
        EXPECT_EQ(b.epoch.sum().internal, a.epoch.sum().internal);
        EXPECT_EQ(b.epoch.sum().external, a.epoch.sum().external);
        if (real.strategy.type != "spmm_1d") continue;
        const int part = static_cast<int>(r);
        std::int64_t more = entries(source->rows(part, Direction::forward)) -
                            entries(counts->rows(part, Direction::forward));
        if (real.strategy.variant == Variant::column)
          more = entries(source->rows(part, Direction::adjoint)) -
                 entries(counts->rows(part, Direction::adjoint));
        if (!source->symmetric())
          more = entries(source->rows(part, Direction::forward)) +
                 entries(source->rows(part, Direction::adjoint)) -
                 2 * entries(counts->rows(part, Direction::forward));
        EXPECT_EQ(a.peak_device_bytes - b.peak_device_bytes, 8 * more) << "rank " << r;
      }
      EXPECT_NEAR(work_expected / work, 1, 0.002);
    }
}

TEST_P(Planned, WithoutRacesAndWithMatchingCollectives) {
  GraphStatistics graph;
  graph.vertices = 103;
  graph.edges = 900;
  graph.features = 20;
  graph.classes = 7;
  graph.training_vertices = 60;
  for (const bool symmetric : {true, false})
    for (const ModelType model : {ModelType::gcn, ModelType::sage}) {
      graph.symmetric = symmetric;
      Problem problem = by_statistics(graph, 4, GetParam().config);
      problem.model.type = model;
      if (problem.strategy.type != "spmm_2d") problem.strategy.column_tiles = 3;

      EXPECT_NO_THROW(check(record(problem)));
    }
}

INSTANTIATE_TEST_SUITE_P(All, Planned, ::testing::ValuesIn(strategies_without_structure()),
                         name_of_case);

TEST(Statistics, AreNotEnoughForTheFullGraph) {
  const Problem problem =
      without_graph(make_problem(random_dataset(20, 60, 4, 3, true), 2, "full_graph"));

  try {
    make_strategy(problem);
    FAIL() << "planned";
  } catch (const NeedsStructure& error) {
    const std::string words = error.what();
    EXPECT_EQ(words.find("full_graph: the edges decide which rows"), 0U) << words;
    EXPECT_NE(words.find("spmm_1d"), std::string::npos) << "what would work";
  }
}

TEST(Statistics, HaveNoVerticesEdgesOrValues) {
  const Problem problem =
      without_graph(make_problem(random_dataset(20, 60, 4, 3, true), 2, "spmm_1d"));
  const auto source = partitioned_graph(problem);

  EXPECT_THROW(source->vertices(0).numbers(), NeedsStructure);
  EXPECT_THROW(source->rows(0, Direction::forward)[0].csr(), NeedsStructure);
  for (const char* kernels : {"reference", "cpu"})
    EXPECT_THROW(testing::execute(problem, kernels), NeedsStructure) << kernels;
}

// ---- ranks of equal structure ------------------------------------------------------------------

/// The costs and waits of a step, without the names of its tensors; collectives as `own_group`
/// says.
template <class OwnGroup>
std::vector<std::string> essence(const Program& program, const OwnGroup& own_group) {
  std::vector<std::string> lines;
  for (const Step& step : program.steps) {
    if (const auto* submit = std::get_if<SubmitStep>(&step)) {
      const auto group = group_of(submit->op);
      const Op op = group ? in_group(submit->op, own_group(*group)) : submit->op;
      std::string line(name_of(submit->lane));
      line += " " + std::string(kind_of(op)) + " " + std::to_string(flops_of(op)) + " " +
              std::to_string(bytes_of(op));
      for (const Operand& o : operands_of(op))
        line += " " + std::to_string(o.tensor.rows()) + "x" + std::to_string(o.tensor.cols());
      line += " " + std::visit([](const auto& o) { return o.attributes(); }, op);
      if (const auto now = group_of(op)) line += " " + to_string(*now);
      lines.push_back(line);
    } else if (const auto* alloc = std::get_if<AllocStep>(&step)) {
      lines.push_back("alloc " + std::to_string(alloc->tensor.bytes()) + " " + alloc->name);
    } else if (!std::holds_alternative<ReleaseStep>(step)) {
      lines.push_back(to_string(step));
    }
  }
  return lines;
}

class Shared : public ::testing::TestWithParam<NamedStrategy> {
 protected:
  static Problem problem(int ranks, std::int64_t vertices) {
    GraphStatistics graph;
    graph.vertices = vertices;
    graph.edges = 40 * vertices + 17;
    graph.features = 24;
    graph.classes = 7;
    graph.training_vertices = vertices / 2;
    Problem p = by_statistics(graph, ranks, GetParam().config);
    p.model.layers = 3;
    p.model.hidden = 16;
    return p;
  }
  static bool possible(int ranks) {
    const int copies = GetParam().config.replication;
    return GetParam().config.type != "spmm_15d" ||
           (ranks % copies == 0 && copies * copies <= ranks);
  }
};

TEST_P(Shared, EveryRankDoesWhatItsRepresentativeDoes) {
  for (int ranks = 2; ranks <= 9; ++ranks)
    for (const std::int64_t vertices : {std::int64_t{720}, std::int64_t{1003}}) {
      if (!possible(ranks)) continue;
      const Problem p = problem(ranks, vertices);
      const auto plan = make_strategy(p);
      const auto programs = record_training(*plan, p, 2, {});
      std::set<int> representatives;
      for (int r = 0; r < ranks; ++r) {
        const int like = plan->representative(r);
        representatives.insert(like);
        const Program &own = programs[static_cast<std::size_t>(r)],
                      &other = programs[static_cast<std::size_t>(like)];
        EXPECT_LE(like, r);
        EXPECT_EQ(plan->representative(like), like);
        EXPECT_EQ(own.peak_bytes, other.peak_bytes) << r << " like " << like << " of " << ranks;
        EXPECT_EQ(own.peak_by_class, other.peak_by_class);
        EXPECT_EQ(essence(own, [](const Group& g) { return g; }),
                  essence(other, [&](const Group& g) { return plan->own_group(g, r); }))
            << r << " like " << like << " of " << ranks;
      }
      const int columns = std::max(1, GetParam().config.replication);
      if (ranks > 3 && columns == 1) {
        EXPECT_LE(representatives.size(), vertices % ranks == 0 ? 1U : 2U) << ranks;
      }
    }
}

/// GraphSAGE adds its products to what is there. The column variant does so when it comes to its
/// own rows, so that there the order of two kernels differs from rank to rank.
TEST_P(Shared, EveryRankDoesWhatItsRepresentativeDoesWithTwoMatrices) {
  Problem p = problem(8, 1003);
  p.model.type = ModelType::sage;
  const auto plan = make_strategy(p);
  const auto programs = record_training(*plan, p, 2, {});
  const bool ordered = p.strategy.variant == Variant::row;

  for (int r = 0; r < 8; ++r) {
    const Program& own = programs[static_cast<std::size_t>(r)];
    const Program& other = programs[static_cast<std::size_t>(plan->representative(r))];
    EXPECT_EQ(own.peak_bytes, other.peak_bytes) << r;
    const auto mine = essence(own, [](const Group& g) { return g; });
    const auto its = essence(other, [&](const Group& g) { return plan->own_group(g, r); });
    ASSERT_EQ(mine.size(), its.size());
    std::size_t different = 0;
    for (std::size_t i = 0; i < mine.size(); ++i) different += mine[i] != its[i] ? 1 : 0;
    const bool alone = plan->representative(r) == r;
    EXPECT_EQ(different > 0, !ordered && !alone) << r << ": " << different << " steps differ";
    const auto work = [](const Program& program) {
      return summarise(program, Placement::uniform(1, 8)).epoch.by_kind.at("spmm").flops;
    };
    EXPECT_EQ(work(own), work(other)) << r;
  }
}

TEST_P(Shared, ProgramsAreRecordedOnceAndHandedToAllAlike) {
  const Problem p = problem(8, 1003);
  const auto plan = make_strategy(p);

  const auto shared = record_shared(TrainingBody(*plan, p), 2, {});

  ASSERT_EQ(shared.size(), 8U);
  for (int r = 0; r < 8; ++r) {
    const auto like = static_cast<std::size_t>(plan->representative(r));
    EXPECT_EQ(shared[static_cast<std::size_t>(r)], shared[like]);
    EXPECT_EQ(to_string(*shared[like]),
              to_string(record_rank(TrainingBody(*plan, p), static_cast<int>(like), 2, {})));
  }
  EXPECT_LT(std::set(shared.begin(), shared.end()).size(), shared.size());
}

TEST_P(Shared, SummariesAreThoseOfTheRanksThemselves) {
  const Problem p = problem(8, 1003);
  const auto plan = make_strategy(p);
  const auto shared = record_shared(TrainingBody(*plan, p), 1, {});
  const auto programs = record_training(*plan, p, 1, {});
  const Placement placement = Placement::uniform(4, 2);

  for (int r = 0; r < 8; ++r) {
    const auto i = static_cast<std::size_t>(r);
    const Summary a = summarise(programs[i], placement);
    const Summary b =
        summarise(*shared[i], placement, r, [&](const Group& g) { return plan->own_group(g, r); });
    EXPECT_EQ(a.epoch.sum().internal, b.epoch.sum().internal) << r;
    EXPECT_EQ(a.epoch.sum().external, b.epoch.sum().external) << r;
    EXPECT_EQ(a.epoch.sum().flops, b.epoch.sum().flops) << r;
    EXPECT_EQ(a.peak_device_bytes, b.peak_device_bytes) << r;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Shared, ::testing::ValuesIn(strategies_that_share()), name_of_case);

TEST(Statistics, RanksOfARealGraphRepresentThemselves) {
  for (const NamedStrategy& strategy : testing::all_strategies()) {
    const Problem p = make_problem(random_dataset(40, 160, 4, 3, true), 4, strategy.config);
    const auto plan = make_strategy(p);
    for (int r = 0; r < 4; ++r) EXPECT_EQ(plan->representative(r), r) << strategy.name;
  }
}

// ---- size --------------------------------------------------------------------------------------

/// papers100M as in table 1 of the paper, on four ranks because they divide its vertices.
TEST(Statistics, OfAGraphThatFitsNowhereArePlannedWithoutItsMemory) {
  GraphStatistics graph;
  graph.vertices = 111059956;
  graph.edges = 1615685872;
  graph.features = 128;
  graph.classes = 172;
  graph.training_vertices = 1207179;
  StrategyConfig strategy;
  strategy.type = "spmm_1d";
  strategy.first_layer = FirstLayer::mggcn_compat;
  Problem problem = by_statistics(graph, 4, strategy);
  problem.model.layers = 3;
  problem.model.hidden = 208;
  problem.model.dropout = 0;
  problem.train.eval_every = 0;
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);

  const auto programs = record_shared(TrainingBody(*make_strategy(problem), problem), 1, {});

  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 16 * 1024) << "KiB";
  const auto& bytes = programs[3]->peak_by_class;
  const std::int64_t rows = graph.vertices / 4;
  // Layers of width 208 and 172 (beside an input of 208), and three buffers of 208.
  EXPECT_EQ(bytes.at("activations") + bytes.at("scratch"), (3 + 3) * rows * 208 * 4);
  EXPECT_EQ(bytes.at("features"), rows * 128 * 4);
  const std::int64_t own_entries = (graph.edges + graph.vertices) / 4;
  EXPECT_EQ(bytes.at("graph"), own_entries * 8 + 4 * (rows + 1) * 8);
}

}  // namespace
}  // namespace orrery
