// Backend model: epochs taken apart into stages, and equations fed with them.
#include "experiments/predict/closed_forms.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/cost/equations.hpp"
#include "core/cost/mggcn.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/predict/model_links.hpp"
#include "experiments/predict/staged_epoch.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kKernel = 1e-3;  // every kernel takes as long
constexpr std::int64_t kVertices = 96;

/// An experiment on the model backend with everything that it needs.
struct Case {
  explicit Case(const std::vector<std::string>& settings) {
    std::vector<std::string> all{"backend=model", "train.epochs=2", "model.dropout=0",
                                 "model.hidden=8", "model.layers=2"};
    all.insert(all.end(), settings.begin(), settings.end());
    const std::string text = R"({"name": "n", "dataset": {"generate": "communities",
      "vertices": 96, "edges": 2000, "features": 8, "classes": 4},
      "model": {"type": "gcn"}, "strategy": {"type": "spmm_1d"}})";
    const Experiment experiment = parse_experiments(text, "test", all).front();
    prepared = prepare(experiment, DatasetCache().load(experiment));
    programs = record_checked(prepared);
  }

  ModelOutcome evaluate(sim::Library library = {}) const {
    return evaluate_model(
        {prepared, programs, [](const Op&, int) { return kKernel; }, std::move(library)});
  }

  PreparedExperiment prepared;
  Programs programs;
};

Json equation(const ModelOutcome& outcome, const std::string& name) {
  for (const Json& e : outcome.equations)
    if (e["name"] == name) return e;
  return nullptr;
}

/// Each kernel a second, each collective `communicate` seconds.
StagedEpoch staged(const Case& c, double communicate) {
  return stage_epoch(
      *c.programs.front(), 1, [](const Op&) { return 1.0; }, [=](const Op&) { return communicate; },
      [](const Op&) { return 0.0; });
}

const std::string kDgx1 = R"(cluster={"file": "dgx-1", "gpus": 4})";

TEST(StagedEpoch, OfBroadcastsHasAStageForEveryRank) {
  const StagedEpoch epoch = staged(Case({kDgx1, "strategy.first_layer=recompute"}), 2);

  // Two layers that multiply by W first: both need a product with A on the way back.
  ASSERT_EQ(epoch.products.size(), 4U);
  for (const StagedProduct& product : epoch.products) {
    EXPECT_EQ(product.communicate, (std::vector<double>{2, 2, 2, 2}));
    EXPECT_EQ(product.compute, (std::vector<double>{1, 1, 1, 1}));
    EXPECT_EQ(product.received_rows, kVertices);
    EXPECT_DOUBLE_EQ(serial_seconds(product), 12);
    EXPECT_DOUBLE_EQ(overlapped_seconds(product), 2 + 3 * 2 + 1);
  }
}

TEST(StagedEpoch, OfSumsIsReadBackwards) {
  const StagedEpoch epoch =
      staged(Case({kDgx1, "strategy.first_layer=recompute", "strategy.variant=column"}), 3);

  ASSERT_EQ(epoch.products.size(), 4U);
  for (const StagedProduct& product : epoch.products) {
    EXPECT_TRUE(product.sums);
    EXPECT_EQ(product.compute, (std::vector<double>{1, 1, 1, 1}));
    EXPECT_DOUBLE_EQ(overlapped_seconds(product), 1 + 3 * 3 + 3);
  }
}

TEST(StagedEpoch, OfAHaloHidesTheProductOfOwnRows) {
  const StagedEpoch epoch = staged(
      Case({kDgx1, "strategy={\"type\": \"full_graph\", \"first_layer\": \"recompute\"}"}), 5);

  ASSERT_EQ(epoch.products.size(), 4U);
  for (const StagedProduct& product : epoch.products) {
    EXPECT_EQ(product.communicate, (std::vector<double>{0, 5}));
    EXPECT_EQ(product.compute, (std::vector<double>{1, 1}));
    EXPECT_DOUBLE_EQ(overlapped_seconds(product), 5 + 1);
  }
}

/// Four parameters, a bucket each: those of the second layer are under way for 4 s when the
/// backward pass of the first one begins, whose six kernels take longer; those of the first leave
/// when it ends.
TEST(StagedEpoch, OfBucketsExposesWhatLeavesLast) {
  const std::string strategy = R"(strategy={"type": "full_graph", "first_layer": "recompute"})";

  const StagedEpoch together = staged(Case({kDgx1, strategy}), 2),
                    apart = staged(Case({kDgx1, strategy, "train.bucket_bytes=1"}), 2);

  EXPECT_EQ(together.synchronise, 2);
  EXPECT_EQ(together.synchronise_exposed, 2);
  EXPECT_EQ(apart.synchronise, 4 * 2);
  EXPECT_EQ(apart.synchronise_exposed, 2 * 2);
  EXPECT_EQ(apart.gradient_bytes, together.gradient_bytes);
  EXPECT_EQ(apart.compute, together.compute);
}

TEST(StagedEpoch, Of2dHasProductsWithTheGraphAndWithTheWeights) {
  const StagedEpoch epoch = staged(Case({kDgx1, "strategy={\"type\": \"spmm_2d\"}"}), 1);

  int graph = 0, weights = 0;
  for (const StagedProduct& product : epoch.products) {
    (product.kind == "spmm" ? graph : weights) += 1;
    EXPECT_EQ(product.communicate.size(), 2U) << "side of the grid";
    EXPECT_EQ(product.communicate,
              product.kind == "spmm" ? (std::vector<double>{2, 2}) : (std::vector<double>{1, 1}));
  }
  EXPECT_EQ(graph, 4);
  EXPECT_GE(weights, 4);
}

TEST(StagedEpoch, LosesNoKernelAndNoCollective) {
  for (const char* strategy : {"full_graph", "spmm_1d", "spmm_15d", "spmm_2d"}) {
    const Case c({kDgx1, std::string("strategy={\"type\": \"") + strategy + "\"}"});
    const StagedEpoch epoch = staged(c, 100);
    double kernels = 0, collectives = 0;
    Phase phase;
    for (const Step& step : c.programs.front()->steps) {
      if (const auto* mark = std::get_if<PhaseStep>(&step)) phase = mark->phase;
      const auto* submit = std::get_if<SubmitStep>(&step);
      if (submit != nullptr && phase.in_epoch() && phase.epoch == 1)
        (group_of(submit->op) ? collectives : kernels) += 1;
    }

    double communicated = epoch.internal + epoch.synchronise;
    for (const StagedProduct& product : epoch.products)
      for (const double seconds : product.communicate) communicated += seconds;

    EXPECT_DOUBLE_EQ(epoch.compute, kernels) << strategy;
    EXPECT_DOUBLE_EQ(communicated, 100 * collectives) << strategy;
  }
}

TEST(Links, AreThoseOfThePapersMachines) {
  const auto links = [](const std::string& cluster) {
    const Experiment e = Case({"cluster=" + cluster}).prepared.experiment;
    return direct_links(*e.cluster, e.devices);
  };
  const auto dgx1 = links(R"({"file": "dgx-1"})");
  const auto a100 = links(R"({"file": "dgx-a100"})");

  ASSERT_TRUE(dgx1 && a100);
  EXPECT_EQ(dgx1->between, cost::dgx1_links(20e9).between);
  EXPECT_EQ(a100->to_switch, 12);
  EXPECT_FALSE(links(R"({"file": "a6000-4x4-pcie"})")) << "several servers";
  EXPECT_FALSE(links(R"({"file": "a6000-1x4-pcie", "gpus": 1})")) << "one rank";
}

TEST(Model, Of1dIsTheFormOfSection51) {
  const Case c({R"(cluster={"file": "dgx-1"})", "strategy.first_layer=recompute"});

  const ModelOutcome outcome = c.evaluate();

  // Widths 8 and 4 forward, 4 and 8 backward, on six links of 20 GB/s a GPU.
  const double found = equation(outcome, "1D communication, link matrix")["seconds"];
  EXPECT_NEAR(found, (8 + 4 + 4 + 8) * kVertices * 4 / (6 * 20e9), 1e-15);
  EXPECT_DOUBLE_EQ(equation(outcome, "1D communication, as printed")["seconds"], found);
  EXPECT_NEAR(outcome.breakdown.internal + outcome.breakdown.hidden, found, 1e-15);
}

TEST(Model, PutsTheEpochTogetherFromItsParts) {
  const Case overlapped({kDgx1}), serial({kDgx1, "strategy.overlap=false"});

  const ModelOutcome with = overlapped.evaluate(), without = serial.evaluate();

  EXPECT_NEAR(without.breakdown.hidden, 0, 1e-15);
  EXPECT_LT(with.breakdown.total(), without.breakdown.total());
  EXPECT_NEAR(with.breakdown.total() + with.breakdown.hidden, without.breakdown.total(), 1e-12);
  EXPECT_TRUE(equation(without, "products, communication beside computation")
                  .contains("does_not_apply_because"));
}

TEST(Model, SaysOfEveryEquationWhyItAppliesOrNot) {
  const Case c({kDgx1});

  for (const Json& e : c.evaluate().equations) {
    const bool applies = e.contains("applies_because");
    EXPECT_NE(applies, e.contains("does_not_apply_because")) << e;
    EXPECT_EQ(applies, e.contains("seconds") || e.contains("bytes") || e.contains("ratio")) << e;
    EXPECT_FALSE(e["source"].get<std::string>().empty());
  }
}

TEST(Model, Of15dNamesBothCountsOfLinks) {
  const Case c(
      {R"(cluster={"file": "dgx-1"})", R"(strategy={"type": "spmm_15d", "replication": 2})"});

  const ModelOutcome outcome = c.evaluate();

  EXPECT_TRUE(equation(outcome, "1.5D communication, link matrix").contains("seconds"));
  EXPECT_TRUE(equation(outcome, "1.5D communication, as printed").contains("seconds"));
}

TEST(Model, OfOneRankIsItsKernels) {
  for (const char* strategy : {"full_graph", "spmm_1d", "spmm_15d", "spmm_2d"}) {
    const std::string copies = strategy == std::string("spmm_15d") ? ", \"replication\": 1" : "";
    const Case c({R"(cluster={"file": "dgx-1", "gpus": 1})",
                  std::string("strategy={\"type\": \"") + strategy + "\"" + copies + "}"});

    const Breakdown b = c.evaluate().breakdown;

    EXPECT_DOUBLE_EQ(b.total(), b.compute) << strategy;
    EXPECT_GT(b.compute, 10 * kKernel) << strategy;
  }
}

/// Every byte and message of an exchange costs the same there: it divides by the bytes.
TEST(Model, OfServersPutsCommunicationBetweenThemApart) {
  const Case c({R"(cluster={"file": "a6000-4x4-pcie", "gpus": 8})",
                "strategy={\"type\": \"full_graph\", \"overlap\": false}"});

  const ModelOutcome outcome = c.evaluate();

  EXPECT_GT(outcome.breakdown.external, 0);
  EXPECT_GT(outcome.breakdown.internal, 0);
  double inside = 0, between = 0;
  for (std::size_t r = 0; r < c.programs.size(); ++r) {
    if (std::abs(outcome.of_program[outcome.program[r]].total() - outcome.breakdown.total()) > 0)
      continue;
    const Summary summary = summaries(c.programs, c.prepared)[r];
    for (const auto& [kind, sum] : summary.epoch.by_kind)
      if (kind != "all_reduce") {
        inside += sum.internal;
        between += sum.external;
      }
    break;
  }
  ASSERT_GT(inside, 0);
  EXPECT_NEAR(outcome.breakdown.external / outcome.breakdown.internal, between / inside,
              0.1 * between / inside);
  EXPECT_TRUE(equation(outcome, "exchange of every dependency").contains("seconds"));
  EXPECT_TRUE(equation(outcome, "1D volume with the edge cut")["bytes"].get<double>() > 0);
}

TEST(ExternalRate, IsSharedByTheDevicesBehindOneAdapter) {
  const auto rate = [](const std::string& cluster) {
    const Experiment e = Case({"cluster=" + cluster}).prepared.experiment;
    return external_rate_per_device(*e.cluster, e.devices);
  };
  const double alone = rate(R"({"file": "a6000-4x4-pcie", "servers": 2, "gpus_per_server": 1})");
  const double four = rate(R"({"file": "a6000-4x4-pcie", "servers": 2, "gpus_per_server": 4})");

  EXPECT_GT(alone, 0);
  EXPECT_NEAR(four, alone / 4, 1e-6 * alone);
  EXPECT_EQ(rate(R"({"file": "dgx-1"})"), 0);
}

TEST(CollectiveTimes, AreThoseOfAlphaAndBetaBetweenServers) {
  const Experiment e =
      Case({R"(cluster={"file": "rtx2080ti-2x4-1gbe", "servers": 2, "gpus_per_server": 1})"})
          .prepared.experiment;
  const sim::Library library{.name = "nccl", .message_seconds = 1e-6};
  CollectiveTimes times(*e.cluster, e.devices, library);
  const Group both = world_group(2);
  Tensor x;
  x.shape = {1000, 10};
  x.ld = 10;

  const auto [alpha, beta, beta_of_both] = times.between(both);

  EXPECT_DOUBLE_EQ(beta_of_both, beta / 2);
  EXPECT_NEAR(1 / beta, 0.9 * 1e9 / 8, 1e6) << "1 GbE";
  EXPECT_GT(alpha, 1e-6);
  EXPECT_DOUBLE_EQ(times.seconds(Broadcast{x, 0, both}, both, 0), alpha + beta * 40000);
  EXPECT_DOUBLE_EQ(times.seconds(AllReduce{x, both}, both, 0), 2 * alpha + beta * 40000);
}

TEST(CollectiveTimes, OfAnAllToAllObeyTheTotalOfBothDirections) {
  Experiment e =
      Case({R"(cluster={"file": "rtx2080ti-2x4-1gbe", "servers": 2, "gpus_per_server": 1})"})
          .prepared.experiment;
  Cluster cluster = *e.cluster;
  for (ClusterLink& link : cluster.links)
    if (cluster.nodes[static_cast<std::size_t>(link.to)].kind == NodeKind::kNetworkSwitch)
      link.both_bytes_per_second = 1.25 * link.bytes_per_second;
  CollectiveTimes times(cluster, e.devices, {.name = "nccl"});
  const Group both = world_group(2);
  const auto rows = [](std::int64_t mine, std::int64_t theirs) {
    return std::make_shared<const std::vector<std::int64_t>>(std::vector{mine, theirs});
  };
  const auto exchange = [&](std::int64_t sent, std::int64_t received) {
    AllToAllV op{{}, {}, rows(0, sent), rows(0, received), both};
    op.x.shape = {sent, 10};
    op.y.shape = {received, 10};
    op.x.ld = op.y.ld = 10;
    return times.seconds(op, both, 0);
  };

  const auto [alpha, beta, beta_of_both] = times.between(both);

  EXPECT_DOUBLE_EQ(beta_of_both, beta / 1.25);
  EXPECT_DOUBLE_EQ(exchange(1000, 1000), alpha + beta * 80000 / 1.25);
  EXPECT_DOUBLE_EQ(exchange(1000, 100), alpha + beta * 40000);  // (1000 + 100) / 1.25 < 1000
}

/// For every experiment, each equation of core/cost is evaluated or refused with a reason. Over
/// these experiments all are evaluated but those that no strategy, or none of its runs, can feed.
TEST(ModelBackend, TellsEveryEquationOfCoreCost) {
  const std::string preloading = R"(strategy={"type": "shared_preloading"})",
                    sampled = R"(strategy={"type": "shared_preloading", "sampling": {"hops": 1}})",
                    servers = R"(cluster={"file": "a6000-4x4-pcie", "gpus": 8})",
                    averaging = R"(strategy={"type": "model_averaging", "averaging": ")";
  const std::vector<std::vector<std::string>> experiments{
      {R"(cluster={"file": "dgx-1"})"},
      {R"(cluster={"file": "dgx-1"})", R"(strategy={"type": "spmm_15d", "replication": 2})"},
      {kDgx1, R"(strategy={"type": "spmm_2d"})"},
      {servers, R"(strategy={"type": "full_graph"})"},
      {servers, preloading},
      {servers, sampled},
      {kDgx1, averaging + R"(model"})"},
      {kDgx1, averaging + R"(gradient"})"},
      {kDgx1, R"(strategy={"type": "mini_batch", "batch": 7, "fanouts": [3, 3]})"}};
  std::set<std::string> evaluated;

  for (const auto& settings : experiments) {
    const Json equations = Case(settings).evaluate().equations;
    std::set<std::string> told;
    for (const Json& e : equations)
      for (const std::string function : e["functions"]) {
        told.insert(function);
        if (!e.contains("does_not_apply_because")) evaluated.insert(function);
      }
    for (const cost::Equation& equation : cost::equations())
      EXPECT_TRUE(told.contains(std::string(equation.function)))
          << equation.function << " with " << settings.back();
  }

  std::set<std::string> left;
  for (const cost::Equation& equation : cost::equations())
    if (const std::string function(equation.function);
        equation.paper != "deal" && !evaluated.contains(function))
      left.insert(function);
  EXPECT_EQ(left, (std::set<std::string>{"dependency_growth", "epoch_3d_traffic", "held_words_3d",
                                         "sampled_growth", "sampled_memory_ratio",
                                         "sampling_condition_holds", "spmm_3d_traffic"}));
}

/// 96 vertices on four ranks, two layers of widths 8, 8 and 4.
TEST(ModelBackend, FeedsTheEquationsWithTheExperiment) {
  const Case c({kDgx1});

  const ModelOutcome outcome = c.evaluate();

  // Widths 8, 8, 4: (2 + 3) · 96/4 · 20/3 · 4 bytes, and 96/4 · (3 · 8 + 8 + 8) · 4.
  const Json mean = equation(outcome, "buffers that layers share, mean width");
  EXPECT_NEAR(mean["bytes"].get<double>(), 5 * 24 * 20.0 / 3 * 4, 1e-9);
  EXPECT_DOUBLE_EQ(equation(outcome, "buffers that layers share")["bytes"], 24 * 40 * 4);
  EXPECT_DOUBLE_EQ(equation(outcome, "1D, largest block")["bytes"], 96 * 8 / 4 * 4);
  const double f = 20.0 / 3;  // 2 layers, each 72 rows of others, 96 rows and a gradient
  EXPECT_NEAR(equation(outcome, "1D epoch of equal layers")["bytes"].get<double>(),
              4 * 2 * (72 * f + 96 * f + f * f), 1e-9);
}

TEST(ModelBackend, OfAveragedModelsCountsTheirAllReduces) {
  const Case c(
      {kDgx1, R"(strategy={"type": "model_averaging", "interval": 3})", "train.epochs=10"});
  const double parameters = 8 * 8 + 8 + 8 * 4 + 4;

  const ModelOutcome outcome = c.evaluate();

  EXPECT_EQ(equation(outcome, "model averaging, all-reduces of the run")["all_reduces"], 3);
  EXPECT_DOUBLE_EQ(equation(outcome, "model averaging, volume")["bytes"],
                   3 * 2 * 0.75 * 4 * parameters / 10);
  EXPECT_TRUE(equation(outcome, "gradients, ring all-reduce").contains("does_not_apply_because"));
}

/// A dense layer turns the rows of the last convolution, which are as wide as the hidden layers,
/// into classes: widths 8, 8, 8.
TEST(ModelBackend, OfDenseLayersHasTheWidthsOfTheConvolutions) {
  const ModelOutcome outcome = Case({kDgx1, "model.dense_layers=1"}).evaluate();
  EXPECT_DOUBLE_EQ(equation(outcome, "buffers that layers share, mean width")["bytes"],
                   5 * 24 * 8 * 4);
}

TEST(ModelBackend, OfBatchesCountsTheirAllReduces) {
  for (const std::string strategy : {R"("mini_batch", "fanouts": [3, 3])",
                                     R"("model_averaging", "averaging": "model", "interval": 2)"}) {
    const Case c({kDgx1, R"(strategy={"batch": 5, "type": )" + strategy + "}", "train.epochs=10"});
    const ModelOutcome outcome = c.evaluate();
    const std::int64_t each = (c.prepared.problem->facts().training_vertices + 3) / 4,
                       batches = (each + 4) / 5;
    EXPECT_GT(batches, 1);
    EXPECT_EQ(equation(outcome, "mini-batches of a worker in an epoch")["batches"], batches);
    if (strategy.starts_with("\"mini_batch"))
      EXPECT_EQ(equation(outcome, "gradient averaging, all-reduces of the run")["all_reduces"],
                10 * batches);
    else
      EXPECT_GE(equation(outcome, "model averaging, times fewer all-reduces")["ratio"],
                2 * (batches - 1));
  }
}

/// With global seeds a batch is that of all ranks together.
TEST(ModelBackend, OfGlobalBatchesSharesThemAmongNobody) {
  const Case c(
      {kDgx1,
       R"(strategy={"type": "mini_batch", "batch": 5, "seeds": "global", "fanouts": [3, 3]})"});
  const std::int64_t batches = (c.prepared.problem->facts().training_vertices + 4) / 5;
  const ModelOutcome outcome = c.evaluate();
  EXPECT_EQ(equation(outcome, "mini-batches of a worker in an epoch")["batches"], batches);
  EXPECT_EQ(equation(outcome, "gradient averaging, all-reduces of the run")["all_reduces"],
            2 * batches);
}

}  // namespace
}  // namespace orrery
