// The parts of a vertex cut and what they exchange, against brute force over the fragments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/model/adjacency.hpp"
#include "core/runtime/check/check.hpp"
#include "core/runtime/summary.hpp"
#include "core/strategy/make_strategy.hpp"
#include "core/strategy/train/record.hpp"
#include "core/strategy/vertex_cut_delayed.hpp"
#include "core/strategy/vertex_cut_parts.hpp"
#include "tests/support/dense_gcn.hpp"

namespace orrery {
namespace {

using testing::execute;
using ::testing::HasSubstr;
using testing::losses;
using testing::random_dataset;

using Entries = std::map<std::pair<Vertex, Vertex>, float>;

Problem on_fragments(const std::shared_ptr<const Dataset>& data, int ranks,
                     const std::string& method) {
  StrategyConfig config;
  config.type = "vertex_cut";
  config.cross_edges = CrossEdges::as_cut;
  Problem problem = testing::make_problem(data, ranks, config);
  problem.partition = cut_into_fragments(*data->graph, ranks, {method, "", testing::kSeed});
  return problem;
}

/// The global vertices of a part's rows: own ones, or mirrors by owner.
std::vector<Vertex> mirrors_of(const std::set<Vertex>& held, const Partition& partition, int part) {
  std::vector<Vertex> mirrors;
  for (int owner = 0; owner < partition.parts; ++owner)
    for (const Vertex v : held)
      if (owner != part && partition.owner[at(v)] == owner) mirrors.push_back(v);
  return mirrors;
}

void add_entries(const SparseMatrix& block, const std::vector<Vertex>& rows,
                 const std::vector<Vertex>& columns, Entries& entries) {
  ASSERT_EQ(block.rows(), std::ssize(rows));
  ASSERT_EQ(block.cols(), std::ssize(columns));
  for (std::int64_t r = 0; r < block.rows(); ++r) {
    const auto row = block.csr().row(r);
    for (std::size_t e = 0; e < row.size(); ++e) {
      const bool first =
          entries.emplace(std::pair(rows[at(r)], columns[at(row[e])]), block.row_values(r)[e])
              .second;
      EXPECT_TRUE(first) << "an entry is in two places";
    }
  }
}

Entries entries_of(const SparseMatrix& a) {
  Entries entries;
  std::vector<Vertex> all;
  for (std::int64_t v = 0; v < a.rows(); ++v) all.push_back(static_cast<Vertex>(v));
  add_entries(a, all, all, entries);
  return entries;
}

/// The ranks that have each vertex, from the parts themselves.
std::vector<std::set<Vertex>> held_by(const VertexCutParts& parts, const Partition& partition,
                                      const SparseMatrix& a) {
  std::vector<std::set<Vertex>> held(at(partition.parts));
  for (std::int64_t v = 0; v < a.rows(); ++v)
    held[at(partition.owner[at(v)])].insert(static_cast<Vertex>(v));
  for (int part = 0; part < partition.parts; ++part) {
    EXPECT_EQ(std::ssize(*parts.own(part)), std::ssize(held[at(part)]));
    for (const auto& [source, destination] : (*partition.fragments)[at(part)])
      held[at(part)].insert({source, destination});
  }
  return held;
}

struct Cut {
  std::string method;
  int ranks;
  bool symmetric;
};

class VertexCuts : public ::testing::TestWithParam<Cut> {};

/// Both directions of an edge are in one fragment here, so fragments say who has a vertex.
TEST_P(VertexCuts, HaveEveryEntryOfTheMatrixOnce) {
  const auto& [method, ranks, symmetric] = GetParam();
  const Problem problem = on_fragments(random_dataset(61, 260, 6, 3, symmetric), ranks, method);
  const SparseMatrix a = normalised_adjacency(*problem.data, problem.model);
  const VertexCutParts parts(a, problem.partition);
  const auto held = held_by(parts, problem.partition, a);
  Entries entries;
  std::int64_t copies = 0;
  for (int p = 0; p < ranks; ++p) {
    const VertexCutPart part = parts.part(p);
    const std::vector<Vertex>& own = *parts.own(p);
    const std::vector<Vertex> mirrors = mirrors_of(held[at(p)], problem.partition, p);
    copies += std::ssize(held[at(p)]);
    ASSERT_NO_FATAL_FAILURE(add_entries(part.blocks.own, own, own, entries));
    ASSERT_NO_FATAL_FAILURE(add_entries(part.blocks.own_from_mirrors, own, mirrors, entries));
    ASSERT_NO_FATAL_FAILURE(add_entries(part.blocks.mirrors_from_own, mirrors, own, entries));
    ASSERT_NO_FATAL_FAILURE(add_entries(part.blocks.mirrors, mirrors, mirrors, entries));
    for (int other = 0; other < ranks; ++other)
      EXPECT_EQ((*part.mirrors)[at(other)], (*parts.part(other).mirrored)[at(p)]);
    EXPECT_EQ(part.sent(),
              std::accumulate(part.mirrored->begin(), part.mirrored->end(), std::int64_t{0}));
  }

  EXPECT_EQ(entries, entries_of(a));
  EXPECT_DOUBLE_EQ(parts.replication_factor(), static_cast<double>(copies) / 61);
}

/// A row out to every mirror, and a sum back from it, once a product; nothing else but gradients.
TEST_P(VertexCuts, ReceiveARowForEachMirrorAndEachMirrorOfTheirOwn) {
  const auto& [method, ranks, symmetric] = GetParam();
  Problem problem = on_fragments(random_dataset(61, 260, 24, 3, symmetric), ranks, method);
  problem.model.type = ModelType::gcn;
  problem.model.layers = 2;
  problem.model.hidden = 16;
  problem.strategy.first_layer = FirstLayer::recompute;
  problem.train.epochs = 1;
  std::vector<std::set<Vertex>> held(at(ranks));
  for (int p = 0; p < ranks; ++p) {
    for (const auto& [source, destination] : (*problem.partition.fragments)[at(p)])
      held[at(p)].insert({source, destination});
  }
  // W first in both layers: widths 16 and 3, forward and backward.
  constexpr double kWidths = 2 * (16 + 3), kParameters = 24 * 16 + 16 + 16 * 3 + 3;

  const auto programs = record_training(*make_strategy(problem), problem, 1, {});

  double received = 0, copies = 0;
  for (int p = 0; p < ranks; ++p) {
    double rows = 0;
    for (int other = 0; other < ranks; ++other)
      for (const Vertex v : held[at(other)]) {
        const int owner = problem.partition.owner[at(v)];
        if (owner == other) continue;
        rows += (other == p ? 1 : 0) + (owner == p ? 1 : 0);
      }
    copies += rows;
    const auto sum = summarise(programs[at(p)], Placement::uniform(1, ranks)).epoch.sum();
    received += sum.internal;
    EXPECT_NEAR(sum.internal, 4 * kWidths * rows + 2 * 4 * kParameters * (ranks - 1) / ranks, 1e-3)
        << "rank " << p;
  }
  const double rf = 1 + copies / 2 / 61;  // every vertex has an edge, and so is in a fragment
  EXPECT_NEAR(received, 4 * kWidths * 2 * (rf - 1) * 61 + 8 * kParameters * (ranks - 1), 1e-2);
}

TEST_P(VertexCuts, LearnWithEdgeWeightsWhatOneRankLearns) {
  const auto& [method, ranks, symmetric] = GetParam();
  const auto data = random_dataset(61, 260, 6, 3, symmetric);
  Problem alone = testing::make_problem(data, 1, "full_graph");
  testing::add_edge_weights(alone);
  const auto want = losses(execute(alone));
  for (const bool overlap : {true, false}) {
    Problem problem = on_fragments(data, ranks, method);
    problem.edge_weights = alone.edge_weights;
    problem.strategy.overlap = overlap;
    const auto got = losses(execute(problem));
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-4 * want[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(All, VertexCuts,
                         ::testing::Values(Cut{"dbh", 2, true}, Cut{"dbh", 3, true},
                                           Cut{"dbh", 5, false}, Cut{"dbh", 1, true}),
                         [](const auto& cut) {
                           return cut.param.method + std::to_string(cut.param.ranks) +
                                  (cut.param.symmetric ? "Symmetric" : "Directed");
                         });

/// hdrf may give the two directions of an edge to two parts.
TEST(VertexCut, OfAnEdgeInTwoFragmentsKeepsBothDirectionsTogether) {
  const Problem problem = on_fragments(random_dataset(61, 260, 6, 3, true), 4, "hdrf");
  std::map<std::pair<Vertex, Vertex>, int> fragments;
  for (const auto& edges : *problem.partition.fragments)
    for (const auto& [source, destination] : edges) ++fragments[{source, destination}];
  ASSERT_TRUE(std::ranges::any_of(fragments, [](const auto& f) { return f.second > 1; }));
  const SparseMatrix a = normalised_adjacency(*problem.data, problem.model);
  const VertexCutParts parts(a, problem.partition);
  std::int64_t entries = 0;

  for (int p = 0; p < 4; ++p) {
    const CutBlocks blocks = parts.part(p).blocks;
    EXPECT_EQ(transpose(blocks.own).csr(), blocks.own.csr());
    EXPECT_EQ(transpose(blocks.mirrors).csr(), blocks.mirrors.csr());
    EXPECT_EQ(transpose(blocks.own_from_mirrors).csr(), blocks.mirrors_from_own.csr());
    EXPECT_EQ(*transpose(blocks.own_from_mirrors).values, *blocks.mirrors_from_own.values);
    entries += blocks.own.nnz() + 2 * blocks.own_from_mirrors.nnz() + blocks.mirrors.nnz();
  }
  EXPECT_EQ(entries, a.nnz());
}

// ---- delayed sums

Problem delayed(Problem problem, int delay) {
  problem.strategy.own = DelaySettings{delay};
  return problem;
}

/// Every copy of a vertex as a row: those of rank 0, then those of rank 1, ... DistGNN's equations
/// in terms of copies: each has the sum of its rank's edges; in the epoch of its vertex owners add
/// what the other copies had `delay` epochs ago, and these take the owner's total of `delay` epochs
/// ago; all others are scaled from the weight of the edges of the rank to that of all edges.
class DelayedCopies final : public testing::DenseProducts {
 public:
  DelayedCopies(const Problem& p, int delay) : delay_(delay) {
    const SparseMatrix a = normalised_adjacency(*p.data, p.model);
    const int ranks = p.partition.parts;
    for (int rank = 0; rank < ranks; ++rank) {
      std::set<std::pair<Vertex, Vertex>> edges;  // (source, destination)
      std::set<Vertex> held;
      for (const auto& [u, v] : (*p.partition.fragments)[at(rank)])
        if (u != v) edges.insert({u, v});
      for (Vertex v = 0; v < p.data->vertices(); ++v)
        if (p.partition.owner[at(v)] == rank) edges.insert({v, v});
      for (const auto& [u, v] : edges) held.insert({u, v});
      std::map<Vertex, std::size_t> row;
      for (const Vertex v : held) {
        row[v] = copies_.size();
        copies_.push_back({v, p.partition.owner[at(v)] == rank});
      }
      for (const auto& [u, v] : edges) entries_.push_back({row[v], row[u], value(a, v, u)});
    }
    for (const Copy& copy : copies_) scale_.push_back(weight(a, copy.vertex));
    std::vector<double> here(copies_.size());
    for (const Entry& entry : entries_) here[entry.row] += entry.value;
    for (std::size_t i = 0; i < here.size(); ++i) scale_[i] = here[i] > 0 ? scale_[i] / here[i] : 1;
  }

  /// The problem of as many vertices as there are copies; only owners are in a split.
  Problem expanded(Problem p) const {
    auto data = std::make_shared<Dataset>();
    std::vector<Vertex> rows;
    EdgeList none;
    none.vertices = std::ssize(copies_);
    data->graph = std::make_shared<const Csr>(build_csr(none));
    data->labels.classes = p.data->labels.classes;
    for (const Copy& copy : copies_) {
      rows.push_back(copy.vertex);
      data->labels.values.push_back(p.data->labels.values[at(copy.vertex)]);
      data->split.push_back(copy.own ? p.data->split[at(copy.vertex)] : Split::none);
    }
    const std::int64_t width = p.data->features->width();
    std::vector<float> values(rows.size() * at(width));
    p.data->features->read(rows, 0, width, values.data(), width);
    data->features = dense_features(std::ssize(rows), width, values, "copies", true);
    p.data = data;
    return p;
  }

  void begin(int epoch) override { epoch_ = epoch; }
  testing::Matrix aggregate(int layer, const testing::Matrix& x) override {
    testing::Matrix y = testing::zeros(x.size(), x.front().size()), parts = y;
    for (const Entry& e : entries_)
      for (std::size_t j = 0; j < parts[e.row].size(); ++j)
        parts[e.row][j] += e.value * x[e.column][j];
    parts_[{layer, epoch_}] = parts;
    testing::Matrix& totals = totals_[{layer, epoch_}];
    totals = parts;
    for (std::size_t i = 0; i < copies_.size(); ++i) {
      if (epoch_ < delay_ || !copies_[i].own) continue;
      for (std::size_t k = 0; k < copies_.size(); ++k)
        for (std::size_t j = 0; k != i && copies_[k].vertex == copies_[i].vertex && j < y[i].size();
             ++j)
          totals[i][j] += parts_[{layer, epoch_ - delay_}][k][j];
    }
    for (std::size_t i = 0; i < copies_.size(); ++i)
      for (std::size_t j = 0; j < y[i].size(); ++j)
        y[i][j] = arrived(i) ? (copies_[i].own ? totals[i][j]
                                               : totals_[{layer, epoch_ - delay_}][owner_of(i)][j])
                             : scale_[i] * parts[i][j];
    return y;
  }
  testing::Matrix adjoint(int, const testing::Matrix& dy) override {
    testing::Matrix dx = testing::zeros(dy.size(), dy.front().size());
    for (const Entry& e : entries_)
      for (std::size_t j = 0; j < dy[e.row].size(); ++j)
        dx[e.column][j] += e.value * (arrived(e.row) ? 1 : scale_[e.row]) * dy[e.row][j];
    return dx;
  }
  std::int64_t mirrors() const {
    return std::count_if(copies_.begin(), copies_.end(), [](const Copy& c) { return !c.own; });
  }

 private:
  struct Copy {
    Vertex vertex;
    bool own;
  };
  struct Entry {
    std::size_t row, column;
    double value;
  };
  static double value(const SparseMatrix& a, Vertex v, Vertex u) {
    const auto columns = a.csr().row(v);
    const auto found = std::find(columns.begin(), columns.end(), u);
    return found == columns.end() ? 0 : a.row_values(v)[at(found - columns.begin())];
  }
  static double weight(const SparseMatrix& a, Vertex v) {
    double sum = 0;
    for (const float entry : a.row_values(v)) sum += entry;
    return sum;
  }
  bool shared(std::size_t i) const {
    return std::count_if(copies_.begin(), copies_.end(),
                         [&](const Copy& c) { return c.vertex == copies_[i].vertex; }) > 1;
  }
  bool arrived(std::size_t i) const {
    return shared(i) && copies_[i].vertex % delay_ == epoch_ % delay_ &&
           epoch_ >= (copies_[i].own ? 1 : 2) * delay_;
  }
  std::size_t owner_of(std::size_t i) const {
    for (std::size_t k = 0; k < copies_.size(); ++k)
      if (copies_[k].own && copies_[k].vertex == copies_[i].vertex) return k;
    throw std::logic_error("no owner");
  }

  int delay_, epoch_ = 0;
  std::vector<Copy> copies_;
  std::vector<Entry> entries_;
  std::vector<double> scale_;
  std::map<std::pair<int, int>, testing::Matrix> parts_, totals_;  ///< by layer and epoch
};

Problem dense_on_fragments(int ranks, bool symmetric, int layers, LayerOrder order) {
  StrategyConfig config;
  config.type = "vertex_cut";
  config.cross_edges = CrossEdges::as_cut;
  Problem p = testing::dense_problem(random_dataset(31, 90, 6, 3, symmetric), ranks, config, false);
  p.partition = cut_into_fragments(*p.data->graph, ranks, {"dbh", "", testing::kSeed});
  p.model.layers = layers;
  p.model.order = order;
  p.train.epochs = 9;
  return p;
}

/// Nine epochs: with delay 1 and 2 totals come back, with 4 they do in the last one.
TEST(DelayedSums, AreThoseOfDistGnnsEquations) {
  for (const int delay : {1, 2, 3, 4})
    for (const bool symmetric : {true, false})
      for (const LayerOrder order : {LayerOrder::aggregate_first, LayerOrder::transform_first}) {
        const Problem p = delayed(dense_on_fragments(3, symmetric, 3, order), delay);
        DelayedCopies copies(p, delay);
        ASSERT_GT(copies.mirrors(), 10);
        const auto want = testing::DenseGcn(copies.expanded(p)).losses(copies);

        const auto got = losses(execute(p));

        ASSERT_EQ(got.size(), want.size());
        for (std::size_t e = 0; e < got.size(); ++e)
          EXPECT_NEAR(got[e], want[e], 2e-5 * want[e])
              << "delay " << delay << ", symmetric " << symmetric << ", epoch " << e;
      }
}

/// Each of the equations' parts matters to the losses that the test above compares.
TEST(DelayedSums, DifferByTheirDelayAndFromExactOnes) {
  const Problem p = dense_on_fragments(3, true, 3, LayerOrder::aggregate_first);
  const auto exact = losses(execute(p)), one = losses(execute(delayed(p, 1))),
             two = losses(execute(delayed(p, 2)));

  EXPECT_GT(std::abs(one[0] - exact[0]), 1e-3 * exact[0]) << "no sum has arrived";
  EXPECT_NEAR(one[0], two[0], 1e-6) << "nor with another delay";
  for (std::size_t e = 1; e < exact.size(); ++e)
    EXPECT_GT(std::abs(one[e] - two[e]), 1e-5 * one[e]) << e;
}

TEST(DelayedSums, OfNoDelayAreExactToTheBit) {
  for (const bool overlap : {true, false}) {
    Problem p = on_fragments(random_dataset(61, 260, 6, 3, true), 3, "hdrf");
    p.strategy.overlap = overlap;
    const auto want = losses(execute(p));
    EXPECT_EQ(losses(execute(delayed(p, 0))), want);
    EXPECT_EQ(make_strategy(delayed(p, 0))->notes(), make_strategy(p)->notes());
    EXPECT_FALSE(inexactness(delayed(p, 0).strategy));
    EXPECT_EQ(period_of(delayed(p, 0).strategy, 20), 1);
  }
}

TEST(DelayedSums, SayThatTheyAreInexactAndLearn) {
  Problem p = delayed(on_fragments(random_dataset(61, 260, 8, 3, true), 4, "hdrf"), 3), still = p;
  p.model.dropout = 0;
  p.train.epochs = 40;
  p.train.learning_rate = 0.05;
  ASSERT_TRUE(inexactness(p.strategy));
  EXPECT_THAT(*inexactness(p.strategy), HasSubstr("delay 3"));
  EXPECT_EQ(learns_from(p.strategy), LearnsFrom::cut);

  const auto got = losses(execute(p));

  EXPECT_LT(got.back(), 0.9 * got.front());
}

/// With weights that stay as they are, every evaluation is that of exact sums.
TEST(DelayedSums, AreExactInEvaluations) {
  Problem p = on_fragments(random_dataset(61, 260, 8, 3, false), 4, "hdrf");
  p.train.epochs = 4;
  p.train.learning_rate = 0;
  p.train.optimizer = OptimizerType::sgd;
  for (const FirstLayer first : {FirstLayer::exact, FirstLayer::recompute}) {
    p.strategy.first_layer = first;
    const Outcome want = execute(p), got = execute(delayed(p, 2));
    for (std::size_t e = 0; e < got.epochs.size(); ++e)
      EXPECT_EQ(*got.epochs[e].scores->test, *want.epochs[e].scores->test);
  }
}

/// Over a period each layer receives a row for each mirror of the rank's own vertices and, but for
/// the last layer, one for each of its own mirrors; of these the first epoch those of its share.
TEST(DelayedSums, ReceiveEveryMirrorOnceInAPeriodAndForwardOnly) {
  constexpr int kRanks = 3;
  for (const int delay : {1, 2, 5}) {
    Problem p = delayed(on_fragments(random_dataset(61, 260, 24, 3, true), kRanks, "dbh"), delay);
    p.model.type = ModelType::gcn;
    p.model.layers = 2;
    p.model.hidden = 16;
    p.strategy.first_layer = FirstLayer::recompute;
    p.train.eval_every = 0;
    p.train.epochs = 4 * delay;
    ASSERT_EQ(period_of(p.strategy, p.train.epochs), delay);
    std::vector<std::set<Vertex>> held(kRanks);
    for (int r = 0; r < kRanks; ++r)
      for (const auto& [u, v] : (*p.partition.fragments)[at(r)]) held[at(r)].insert({u, v});
    // W first in both layers: 16 and 3 wide. Weights and biases.
    constexpr double kParameters = 24 * 16 + 16 + 16 * 3 + 3;

    for (const int epochs : {delay, 3 * delay}) {
      const auto programs = record_training(*make_strategy(p), p, epochs, {});

      EXPECT_NO_THROW(check(programs));
      for (int r = 0; r < kRanks; ++r) {
        double mine = 0, of_mine = 0, of_share = 0;
        for (int other = 0; other < kRanks; ++other)
          for (const Vertex v : held[at(other)]) {
            const int owner = p.partition.owner[at(v)];
            if (owner == other) continue;
            const bool first = v % delay == 0;  // of the first epoch
            mine += other == r ? 1 : 0;
            of_mine += owner == r ? 1 : 0;
            of_share += first ? (owner == r ? 16 + 3 : 0) + (other == r ? 16 : 0) : 0;
          }
        const double gradients = 2 * 4 * kParameters * (kRanks - 1) / kRanks;
        const auto received = [&](int over) {
          return summarise(programs[at(r)], Placement::uniform(1, kRanks), over)
              .epoch.sum()
              .internal;
        };
        EXPECT_NEAR(received(delay), 4 * ((16 + 3) * of_mine + 16 * mine) + delay * gradients, 1e-2)
            << "delay " << delay << ", rank " << r;
        EXPECT_NEAR(received(1), 4 * of_share + gradients, 1e-2);
        EXPECT_EQ(programs[at(r)].peak_by_class.at("halo"),
                  4 * (2 * 16 + 3) * (mine + of_mine) +
                      4 * 16 * (static_cast<double>(p.partition.members()[at(r)].size()) + mine));
      }
    }
  }
}

TEST(DelayedSums, AreRefusedWhereTheyHaveNoMeaning) {
  const auto says = [](const StrategyConfig& strategy, const ModelConfig& model, const char* key) {
    try {
      require_possible(strategy, model);
      ADD_FAILURE() << "accepted: " << key;
    } catch (const ConfigError& error) {
      EXPECT_EQ(error.path, key);
    }
  };
  Problem p = delayed(on_fragments(random_dataset(20, 60, 4, 3, true), 2, "dbh"), 2);
  ModelConfig recomputed{.type = ModelType::resgcn}, simple{.type = ModelType::sgc, .dropout = 0};
  recomputed.recompute = 1;
  says(p.strategy, recomputed, "strategy.delay");
  says(p.strategy, simple, "strategy.first_layer");
  EXPECT_THROW(require_resumable(p.strategy), ConfigError);
  EXPECT_NO_THROW(require_resumable(delayed(p, 0).strategy));
  testing::add_edge_weights(p);
  EXPECT_THAT(testing::refusal(p), HasSubstr("strategy.delay: scales the sum"));
}

TEST(VertexCut, RefusesACutOfVerticesAndATape) {
  Problem problem = on_fragments(random_dataset(20, 60, 4, 3, true), 2, "dbh");
  problem.partition.fragments = nullptr;
  EXPECT_THAT(testing::refusal(problem), HasSubstr("needs the edges of each part"));

  StrategyConfig taped = problem.strategy;
  taped.memory = Memory::autograd;
  try {
    require_possible(taped, problem.model);
    FAIL() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("use \"lean\""));
  }
}

}  // namespace
}  // namespace orrery
