// Features of edges in a store of their own: who has which rows, which of them travel, and that nothing
// else depends on it.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/base/index.hpp"
#include "core/runtime/check/check.hpp"
#include "core/runtime/summary.hpp"
#include "core/strategy/store/edge_rows.hpp"
#include "core/strategy/train/record.hpp"
#include "tests/support/as_recorded.hpp"
#include "tests/support/typed.hpp"
#include "tests/support/within_bound.hpp"

namespace orrery {
namespace {

using testing::add_edge_features;
using testing::batches_of;
using testing::execute;
using testing::losses;
using testing::make_problem;
using testing::random_dataset;

constexpr std::int64_t kEdgeColumns = 3;

std::shared_ptr<const Dataset> data_of(bool by_relation) {
  return by_relation ? testing::typed_dataset(200, 1500, 8, 3, true)
                     : random_dataset(150, 900, 8, 3, true);
}

Problem in_batches(const std::shared_ptr<const Dataset>& data, int ranks, bool by_relation,
                   const MiniBatchSettings& settings) {
  const StrategyConfig strategy = batches_of(settings);
  Problem p = by_relation ? testing::typed_problem(data, ranks, strategy, 2, 8, 0, "random")
                          : make_problem(data, ranks, strategy);
  p.model.type = by_relation ? ModelType{"rgat"} : ModelType::gat;
  p.model.heads = 4;
  p.model.dropout = p.model.attention_dropout = 0.2;
  p.train.epochs = 3;
  add_edge_features(p, kEdgeColumns);
  return p;
}

/// The entries that are edges of each other's reverse share a row, as dataset.symmetric makes them.
void share_rows_of_reverses(Problem& p) {
  auto made = std::make_shared<EdgeFeatures>(*p.edge_features);
  auto& [graph, rows] = made->row_of_entry.of_graph;
  for (Vertex v = 0; v < graph->rows; ++v)
    for (EdgeIndex e = graph->offsets[at(v)]; e < graph->offsets[at(v) + 1]; ++e)
      if (const Vertex u = graph->columns[at(e)]; u < v)
        if (const EdgeIndex reverse = entry_of(*graph, u, v); reverse >= 0)
          rows[at(e)] = rows[at(reverse)];
  p.edge_features = std::move(made);
}

std::vector<Vertex> numbers_of(const Source& source) {
  return *std::get<FeatureRows>(source).vertices;
}

TEST(EdgeStore, ARowLiesWithTheOwnerOfItsDestination) {
  for (const bool by_relation : {false, true}) {
    const Problem p = in_batches(data_of(by_relation), 3, by_relation, {.fanouts = {4, 3}});
    const EdgeRows rows(p.edge_features, by_relation, p.partition);
    std::vector<std::set<Vertex>> want(3);
    std::int64_t all = 1;
    const auto add = [&](const EntryValues<Vertex>& of) {
      for (Vertex v = 0; v < of.graph->rows; ++v)
        for (EdgeIndex e = of.graph->offsets[at(v)]; e < of.graph->offsets[at(v) + 1]; ++e, ++all)
          want[at(p.partition.owner[at(v)])].insert(of.values[at(e)]);
    };
    if (by_relation)
      for (const auto& relation : p.edge_features->row_of_entry.of_relations) add(relation);
    else
      add(p.edge_features->row_of_entry.of_graph);
    EXPECT_EQ(rows.rows(), all);
    for (int rank = 0; rank < 3; ++rank) {
      std::vector<Vertex> ascending(want[at(rank)].begin(), want[at(rank)].end());
      ascending.push_back(static_cast<Vertex>(p.edge_features->rows->rows() - 1));  // zeros
      EXPECT_EQ(numbers_of(rows.own(rank)), ascending);
      EXPECT_EQ(rows.rows(rank), std::ssize(ascending));
    }
  }
}

TEST(EdgeStore, ARowOfBothDirectionsLiesOnceWithTheOwnerOfAnEnd) {
  Problem p = in_batches(data_of(false), 2, false, {.fanouts = {4, 3}});
  share_rows_of_reverses(p);
  const auto& [graph, row_of_entry] = p.edge_features->row_of_entry.of_graph;
  const EdgeRows rows(p.edge_features, false, p.partition);
  std::vector<int> holder(at(p.edge_features->rows->rows()), -1);
  for (int rank = 0; rank < 2; ++rank) {
    std::vector<Vertex> own = numbers_of(rows.own(rank));
    own.pop_back();  // zeros
    for (const Vertex row : own) {
      EXPECT_EQ(holder[at(row)], -1) << "row " << row;
      holder[at(row)] = rank;
    }
  }
  std::int64_t lower = 0, upper = 0;
  for (Vertex v = 0; v < graph->rows; ++v)
    for (EdgeIndex e = graph->offsets[at(v)]; e < graph->offsets[at(v) + 1]; ++e) {
      const Vertex u = graph->columns[at(e)];
      const int of_u = p.partition.owner[at(u)], of_v = p.partition.owner[at(v)],
                has = holder[at(row_of_entry[at(e)])];
      EXPECT_TRUE(has == of_u || has == of_v);
      if (of_u == of_v || u > v) continue;
      ++(has == of_u ? lower : upper);
    }
  EXPECT_GT(lower, upper / 2) << "neither end has all of them";
  EXPECT_GT(upper, lower / 2);
}

/// The rows of features of the edges that a rank's batch draws, each once, without that of zeros.
std::set<Vertex> rows_of_batch(const Problem& p, const SampledBatches& batches,
                               const SampledBatch& batch) {
  std::set<Vertex> rows;
  for (std::size_t l = 0; l < batch.layers.size(); ++l) {
    const Csr& drawn = batch.layers[l].forward.csr();
    std::int64_t row = 0;
    const auto add_row = [&](Vertex v, std::optional<std::uint32_t> relation) {
      for (const Vertex column : drawn.row(row++))
        rows.insert(p.edge_features->row_of(v, (*batch.vertices)[at(column)], relation));
    };
    for (std::int64_t i = 0; i < batch.rows[l + 1]; ++i) {
      const Vertex v = (*batch.vertices)[at(i)];
      if (const StackedRelations* stacked = batches.relations()) {
        for (const int relation : stacked->types[at(stacked->type_of(v))].relations)
          add_row(v, static_cast<std::uint32_t>(relation));
      } else {
        add_row(v, std::nullopt);
      }
    }
  }
  rows.erase(static_cast<Vertex>(p.edge_features->rows->rows() - 1));
  return rows;
}

/// Counted one by one: a batch pulls each row that another rank has once, its number goes there, and
/// both are told by link class.
TEST(EdgeStore, BytesAreThoseOfTheDistinctRowsOfOtherRanks) {
  constexpr int kRanks = 4;
  const Placement placement = Placement::uniform(2, 2);
  for (const bool by_relation : {false, true})
    for (const BatchSampler sampler :
         {BatchSampler::neighbour, BatchSampler::labor, BatchSampler::all})
      for (const int fetch : {0, 2}) {
        MiniBatchSettings settings{.batch = 10, .sampler = sampler, .fanouts = {4, 3}};
        if (sampler == BatchSampler::all) settings.fanouts.clear();
        settings.ahead.fetch = fetch;
        Problem p = in_batches(data_of(by_relation), kRanks, by_relation, settings);
        if (!by_relation) share_rows_of_reverses(p);
        p.train.eval_every = 0;
        const SampledBatches batches(p);
        std::vector<int> holder(at(p.edge_features->rows->rows()), -1);
        const EdgeRows policy(p.edge_features, by_relation, p.partition);
        for (int rank = 0; rank < kRanks; ++rank)
          for (const Vertex row : numbers_of(policy.own(rank))) holder[at(row)] = rank;
        const auto programs = record_training(*make_strategy(p), p, p.train.epochs, {});
        ASSERT_NO_THROW(check(programs));
        Problem plain = p;
        plain.edge_features = nullptr;
        plain.model.edge_features = 0;
        const auto without = record_training(*make_strategy(plain), plain, p.train.epochs, {});
        double foreign = 0;
        for (int rank = 0; rank < kRanks; ++rank) {
          double internal = 0, external = 0, own = 0;
          for (int epoch = 0; epoch < p.train.epochs; ++epoch)
            for (int step = 0; step < batches.steps(); ++step) {
              const SampledBatch batch = batches.batch(rank, epoch, step);
              for (const Vertex row : rows_of_batch(p, batches, batch)) {
                const int has = holder[at(row)];
                (has == rank           ? own
                 : has / 2 == rank / 2 ? internal
                                       : external) += 4 * kEdgeColumns + 4;
                if (epoch == 0) foreign += has != rank ? 1 : 0;
              }
            }
          EXPECT_GT(own, 0);
          EXPECT_GT(external, 0);
          const auto pulled = [&](const Program& program) {
            std::pair<double, double> bytes;
            const Summary sum = summarise(program, placement, p.train.epochs);
            for (const Totals* totals : {&sum.setup, &sum.epoch})
              if (const auto of = totals->by_kind.find("pull"); of != totals->by_kind.end()) {
                bytes.first += of->second.internal;
                bytes.second += of->second.external;
              }
            return bytes;
          };
          const auto with = pulled(programs[at(rank)]), of_vertices = pulled(without[at(rank)]);
          EXPECT_NEAR(with.first - of_vertices.first, internal, 1e-3);
          EXPECT_NEAR(with.second - of_vertices.second, external, 1e-3);
        }
        const BatchSizes sizes = *make_strategy(p)->batch_sizes();
        if (sizes.batches == batches.steps() * kRanks) {
          EXPECT_NEAR(*sizes.foreign_edge_rows, foreign / double(sizes.batches), 1e-9);
        }
        EXPECT_FALSE(make_strategy(plain)->batch_sizes()->foreign_edge_rows.has_value());
      }
}

TEST(EdgeStore, ATableHasEachRowOnceAndLiesInHostMemory) {
  const Problem p = in_batches(data_of(true), 3, true, {.batch = 10, .fanouts = {4, 3}});
  std::int64_t rows = 0, entries = 0;
  for (const auto& relation : p.edge_features->row_of_entry.of_relations)
    entries += std::ssize(relation.values);
  for (const Program& program : record_training(*make_strategy(p), p, 1, {}))
    for (const Step& step : program.steps)
      if (const auto* made = std::get_if<AllocStep>(&step);
          made && made->name == "store/features of edges") {
        EXPECT_EQ(made->tensor.space, Space::server_host);
        rows += made->tensor.shape.rows;
      }
  EXPECT_EQ(rows, entries + 3) << "and that of zeros on every rank";
}

std::string told_stages(const StagesAhead& ahead) {
  return fmt::format("sample {}, fetch {}, load {}", ahead.sample, ahead.fetch, ahead.load);
}

TEST(EdgeStore, NothingDependsOnHowFarAheadRowsAreFetched) {
  for (const bool by_relation : {false, true}) {
    const auto with = [&](const StagesAhead& ahead, std::int64_t kept = 0) {
      MiniBatchSettings settings{.batch = 20, .seeds = SeedsFrom::all, .fanouts = {4, 3}};
      settings.ahead = ahead;
      settings.cache = {CachePolicy::degree, kept * 8 * 4};
      return in_batches(data_of(by_relation), 3, by_relation, settings);
    };
    const auto want = losses(execute(with({2, 0, 1})));
    for (const StagesAhead& ahead :
         {StagesAhead{0, 0, 0}, {0, 1, 0}, {0, 0, 3}, {25, 5, 1}, {3, 2, 2}}) {
      SCOPED_TRACE(told_stages(ahead));
      EXPECT_EQ(losses(execute(with(ahead, 20))), want);
      testing::expect_as_recorded(with(ahead, 20));
    }
  }
}

/// All that may be drawn, in memory that the bound knows.
TEST(EdgeStore, MemoryIsWithinItsBound) {
  for (const bool by_relation : {false, true})
    for (const BatchSampler sampler :
         {BatchSampler::neighbour, BatchSampler::labor, BatchSampler::all, BatchSampler::cluster})
      for (const int fetch : {0, 2}) {
        SCOPED_TRACE(fmt::format("{} {} {}", by_relation, static_cast<int>(sampler), fetch));
        MiniBatchSettings settings{.batch = 10, .sampler = sampler, .fanouts = {4, 3}};
        if (sampler > BatchSampler::weighted) settings.fanouts.clear();
        if (sampler == BatchSampler::cluster) settings.clusters = 6, settings.together = 2;
        settings.ahead.fetch = fetch;
        Problem p = in_batches(data_of(by_relation), 2, by_relation, settings);
        p.train.eval_every = 0;
        testing::expect_within_bound(p);
        testing::expect_as_recorded(p);
        EXPECT_NO_THROW(
            check(record_training(*make_strategy(p)->with_largest_batches(), p, 1, {})));
      }
}

TEST(EdgeStore, ServesTheRanksOfAServerAndBatchesWithLearnedFeatures) {
  for (const bool cooperative : {false, true})
    for (const bool learned : {false, true}) {
      const auto on = [&](int ranks) {
        MiniBatchSettings settings{.batch = 20, .seeds = SeedsFrom::all, .fanouts = {4, 3}};
        settings.cooperative = cooperative;
        Problem p = in_batches(data_of(false), ranks, false, settings);
        if (cooperative) p.strategy.ranks_per_server = ranks;
        if (learned) p.strategy.learned.emplace();
        p.train.optimizer = OptimizerType::sgd;
        p.train.learning_rate = 0.02;
        return p;
      };
      const auto want = losses(execute(on(1)));
      for (const int ranks : {2, 3}) {
        const auto got = losses(execute(on(ranks), "cpu"));
        for (std::size_t e = 0; e < want.size(); ++e)
          EXPECT_NEAR(got[e], want[e], 1e-5 * want[e]) << ranks << " ranks, epoch " << e;
        Problem p = on(ranks);
        p.train.eval_every = 0;
        testing::expect_within_bound(p);
        testing::expect_as_recorded(p);
      }
    }
}

TEST(EdgeStore, ARunGoesOnWithTheSameBitsFromAnyBatch) {
  for (const bool by_relation : {false, true}) {
    MiniBatchSettings settings{.batch = 10, .seeds = SeedsFrom::all, .fanouts = {4, 3}};
    settings.ahead = {3, 2, 1};
    const Problem p = in_batches(data_of(by_relation), 3, by_relation, settings);
    ASSERT_GT(SampledBatches(p).steps(), 3);
    std::vector<Checkpoint> kept;
    ExecuteOptions options;
    options.kernels = "reference";
    options.control.checkpoint_every = 1;
    options.control.checkpoint_steps = 3;
    options.keep = [&](const Checkpoint& checkpoint) { kept.push_back(checkpoint); };
    const auto want = losses(execute_on_threads(TrainingBody(*make_strategy(p), p), options, {}));
    ASSERT_GE(kept.size(), 4U);
    for (const Checkpoint& checkpoint : kept) {
      if (checkpoint.epochs == p.train.epochs) continue;
      ExecuteOptions go_on;
      go_on.kernels = "reference";
      go_on.control.resume = std::make_shared<const Checkpoint>(checkpoint);
      const Outcome rest = execute_on_threads(TrainingBody(*make_strategy(p), p), go_on, {});
      EXPECT_EQ(losses(rest), std::vector<double>(want.begin() + checkpoint.epochs, want.end()));
    }
  }
}

}  // namespace
}  // namespace orrery
