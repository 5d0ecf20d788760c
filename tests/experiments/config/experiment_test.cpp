// Experiment files: defaults, combinations, and the exact words of every refusal.
#include "experiments/config/experiment.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/base/error.hpp"
#include "core/partition/partition_options.hpp"
#include "core/strategy/config/strategy_info.hpp"
#include "core/strategy/vertex_cut_delayed.hpp"
#include "core/terminal/words.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/config/validate_json.hpp"
#include "tests/experiments/config/minimal.hpp"

namespace orrery {
namespace {

std::vector<Experiment> load(const std::vector<std::string>& overrides = {}) {
  return parse_experiments(kMinimal, "test.json", overrides);
}

std::string refusal(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    parse_experiments(text, "test.json", overrides);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}
std::string refusal_of(const std::string& assignment) { return refusal(kMinimal, {assignment}); }

TEST(Defaults, AreThoseOfTheContract) {
  const Experiment e = load().front();

  EXPECT_EQ(e.seed, 0U);
  EXPECT_EQ(e.ranks(), 1);
  EXPECT_EQ(e.partition.method, "block");
  EXPECT_EQ(e.train.optimizer, OptimizerType::adam);
  EXPECT_EQ(e.train.learning_rate, 0.01);
  EXPECT_EQ(e.train.weight_decay_on, WeightDecayOn::first);
  EXPECT_EQ(e.backend, "threads");
  EXPECT_EQ(e.kernels, "cpu");
  EXPECT_FALSE(e.device_bytes.has_value());
  EXPECT_FALSE(e.dataset.row_normalise.has_value());
  EXPECT_EQ(e.dataset.missing_features, "");
}

TEST(Defaults, StandInTheResolvedFileWhichResolvesToItself) {
  const Experiment e = load().front();

  EXPECT_EQ(e.resolved["model"]["hidden"], 64);
  EXPECT_EQ(e.resolved["cluster"]["ranks"], 1);
  EXPECT_EQ(e.resolved["dataset"]["features"], 64);
  EXPECT_FALSE(e.resolved["dataset"].contains("mixing")) << "rmat has no communities";
  EXPECT_EQ(parse_experiments(e.resolved.dump(), "again", {}).front().resolved, e.resolved);
}

TEST(Defaults, WeightDecayOfSageIsOnAllLayers) {
  EXPECT_EQ(load({"model.type=sage"}).front().train.weight_decay_on, WeightDecayOn::all);
}

TEST(Override, IsJsonOrAString) {
  const Experiment e = load({"train.epochs=7", "name=other", "model.layer_norm=true",
                             "cluster.device_bytes=\"2 GiB\""})
                           .front();

  EXPECT_EQ(e.train.epochs, 7);
  EXPECT_EQ(e.name, "other");
  EXPECT_TRUE(e.model.layer_norm);
  EXPECT_EQ(e.device_bytes, std::int64_t{2} << 30);
}

TEST(Sweep, IsTheProductWithTheLastKeyFastest) {
  const auto all =
      load({R"(sweep={"strategy.type": ["full_graph", "spmm_1d"], "cluster.ranks": [1, 4]})"});

  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].label, "strategy.type=full_graph, cluster.ranks=1");
  EXPECT_EQ(all[1].ranks(), 4);
  EXPECT_EQ(all[2].strategy.type, "spmm_1d");
  EXPECT_EQ(all[3].label, "strategy.type=spmm_1d, cluster.ranks=4");
  EXPECT_FALSE(all[3].resolved.contains("sweep"));
}

TEST(Sweep, CasesSetSeveralKeysAtOnce) {
  const auto all = load({R"(sweep={"cases": [
      {"label": "DistGNN", "strategy.type": "vertex_cut", "partition.method": "dbh"},
      {"strategy.type": "full_graph", "partition.method": "metis"}], "cluster.ranks": [1, 2]})"});

  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[1].label, "case=DistGNN, cluster.ranks=2");
  EXPECT_EQ(all[1].settings.dump(), R"({"case":"DistGNN","cluster.ranks":2})");
  EXPECT_EQ(all[1].partition.method, "dbh");
  EXPECT_EQ(all[2].label, "case=strategy.type=full_graph partition.method=metis, cluster.ranks=1");
  EXPECT_EQ(all[2].strategy.type, "full_graph");
}

TEST(Sweep, AnOverrideOfASweptKeyReplacesItsList) {
  const auto all = load({R"(sweep={"seed": [1, 2, 3]})", "seed=9"});

  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].seed, 9U);
}

TEST(Sweep, EveryCombinationIsChecked) {
  EXPECT_EQ(refusal_of(R"(sweep={"train.epochs": [1, 0]})"),
            "train.epochs: found 0, expected a value >= 1 and <= 1000000");
  EXPECT_EQ(refusal_of(R"(sweep={"train.epoch": [1]})").substr(0, 57),
            "train.epoch: unknown key. Did you mean \"epochs\"? Known ke");
  EXPECT_EQ(refusal_of(R"(sweep={"seed": 3})"), "sweep.seed: found 3, expected a list of values");
}

TEST(ModelAveraging, IsReadWithItsParts) {
  const Experiment e = load({R"(strategy={"type": "model_averaging", "interval": 5, "hops": 2, )"
                             R"("degrees": "original", "evaluate_on": "graph"})",
                             "partition.parts=5", "cluster.ranks=2"})
                           .front();

  EXPECT_EQ(e.strategy.type, "model_averaging");
  EXPECT_EQ(e.strategy.averaging, Averaging::model);
  EXPECT_EQ(e.strategy.interval, 5);
  EXPECT_EQ(e.strategy.hops, 2);
  EXPECT_EQ(e.strategy.degrees, Degrees::original);
  EXPECT_EQ(e.strategy.evaluate_on, EvaluateOn::graph);
  EXPECT_EQ(parts_for(e.strategy, e.ranks()), 5);
  EXPECT_EQ(ranks_for(e.strategy, 5), 2);
}

TEST(Metrics, AreNotOfFeaturesThatAreLearned) {
  EXPECT_EQ(refusal(kMinimal, {"strategy={\"type\": \"full_graph\", \"learn_features\": true}",
                               "train.metrics=[\"auc\"]"})
                .substr(0, 35),
            "train.metrics: are scored on the fe");
}

TEST(Sensitivity, IsOfSimulations) {
  EXPECT_FALSE(load().front().simulation.sensitivity);
  EXPECT_EQ(refusal_of("simulation.sensitivity=true"),
            "simulation.sensitivity: replays simulations, and the backend is threads: set it to "
            "false");
}

TEST(VertexCut, TrainsOnTheFragmentsOfAnEdgePartitioner) {
  const std::string type = "strategy.type=vertex_cut";

  EXPECT_EQ(load({type, "partition.method=dbh"}).front().strategy.cross_edges, CrossEdges::as_cut);
  EXPECT_EQ(refusal_of(type),
            "partition.method: vertex_cut trains on the fragments of an edge partitioner: set "
            "partition.method to dbh, powergraph, hdrf or 2ps-l");
  EXPECT_EQ(refusal(kMinimal, {type, "partition.method=dbh", "dataset.inductive=true"}),
            "strategy.type: vertex_cut fixes the edges of the training, but dataset.inductive also "
            "evaluates with others: leave one of the two out");
  EXPECT_EQ(refusal(kMinimal, {type, "partition.method=dbh", "strategy.memory=autograd"}),
            "strategy.memory: \"autograd\" models the tape of programs that exchange halos, and "
            "not of those on a vertex cut: use \"lean\"");
  const auto late =
      load({type, "partition.method=dbh", "strategy.delay=5", "train.epochs=50"}).front();
  EXPECT_EQ(delay_of(late.strategy), 5);
  EXPECT_EQ(late.simulation.epochs, 20) << "two periods in which totals arrive";
  EXPECT_EQ(refusal_of("strategy.delay=5"), "strategy.delay: only goes with \"type\": vertex_cut");
  EXPECT_EQ(refusal(kMinimal,
                    {type, "partition.method=dbh", "strategy.delay=5", "train.checkpoint_every=5"}),
            "train.checkpoint_every: a checkpoint does not hold the sums of earlier epochs, which "
            "strategy.delay uses: set one of the two to 0");
}

TEST(ModelAveraging, SaysWhereCrossEdgesAreOfPartsWithoutNeighbours) {
  const auto of = [](const std::string& keys) {
    return R"(strategy={"type": "model_averaging", )" + keys + "}";
  };

  EXPECT_EQ(load({of(R"("hops": 0)")}).front().strategy.cross_edges, CrossEdges::drop);
  EXPECT_EQ(load({of(R"("hops": 0, "cross_edges": "one_side")")}).front().strategy.cross_edges,
            CrossEdges::one_side);
  EXPECT_EQ(load({of(R"("hops": 0, "cross_edges": "as_cut")"), "partition.method=hdrf"})
                .front()
                .strategy.cross_edges,
            CrossEdges::as_cut);
  EXPECT_EQ(refusal(kMinimal, {of(R"("cross_edges": "one_side")")}).substr(0, 65),
            "strategy.cross_edges: is for parts without neighbours; otherwise ");
  EXPECT_EQ(refusal(kMinimal, {of(R"("hops": 0, "cross_edges": "as_cut")")}).substr(0, 66),
            "strategy.cross_edges: \"as_cut\" trains on the fragments of an edge ");
  EXPECT_EQ(refusal(kMinimal, {of(R"("hops": 0, "cross_edges": "as_cut")"), "partition.method=dbh",
                               "dataset.inductive=true"})
                .substr(0, 59),
            "strategy.cross_edges: \"as_cut\" fixes the edges of the train");
  EXPECT_EQ(refusal(kMinimal, {"partition.cross_edges=one_side"}).substr(0, 66),
            "partition.cross_edges: is for parts without neighbours; otherwise ");
  const Experiment written = load({"partition.cross_edges=one_side", "partition.hops=0"}).front();
  EXPECT_TRUE(written.partition.one_sided);
  EXPECT_THROW(make_partition(written, DatasetCache().load(written)), ConfigError);
}

TEST(ModelAveraging, KeysThatItAloneHasAreRefusedElsewhere) {
  EXPECT_EQ(refusal_of("strategy.interval=4"),
            "strategy.interval: only goes with \"type\": model_averaging");
  EXPECT_EQ(refusal_of(R"(strategy={"type": "model_averaging", "overlap": true})"),
            "strategy.overlap: only goes with \"type\": full_graph, spmm_1d, spmm_15d, spmm_2d, "
            "shared_preloading, vertex_cut");
  EXPECT_EQ(refusal_of(R"(strategy={"type": "model_averaging", "averaging": "gradient", )"
                       R"("interval": 2})")
                .substr(0, 60),
            "strategy.interval: gradients are averaged in every step: lea");
}

TEST(LayerOrders, AreReadAndForGcnSageAndSgc) {
  EXPECT_EQ(load().front().model.order, LayerOrder::automatic);
  EXPECT_EQ(load({"model.order=aggregate_first"}).front().model.order, LayerOrder::aggregate_first);
  EXPECT_EQ(load({"model.type=sage", "model.order=transform_first"}).front().model.order,
            LayerOrder::transform_first);
  EXPECT_EQ(load({"model.order=aggregate_both"}).front().model.order, LayerOrder::aggregate_both);
  EXPECT_EQ(refusal(kMinimal, {"model.type=sage", "model.order=aggregate_both"}),
            "model.order: \"aggregate_both\" is of gcn layers, and these are sage: use "
            "\"aggregate_first\"");
  EXPECT_EQ(refusal(kMinimal, {"model.type=resgcn+", "model.order=aggregate_first"}),
            "model.order: only goes with \"type\": gcn, sage, sgc");
}

TEST(InferenceOrders, AreReadForEachLayerWhereLayersHaveThem) {
  const auto order_of = [](const std::string& order, const std::string& type = "gcn") {
    return load({"model.type=" + type, "model.layers=3", "inference.order=" + order})
        .front()
        .inference.order;
  };
  constexpr auto kSum = LayerOrder::aggregate_first, kProduct = LayerOrder::transform_first;
  EXPECT_TRUE(load().front().inference.order.empty());
  EXPECT_EQ(order_of("aggregate_first"), std::vector<LayerOrder>(3, kSum));
  EXPECT_EQ(order_of(R"(["auto", "transform_first", "aggregate_first"])", "resgcn+"),
            (std::vector<LayerOrder>{LayerOrder::automatic, kProduct, kSum}));
  EXPECT_TRUE(order_of("transform_first", "gat").empty()) << "it has no other";
  const auto refused = [](const std::string& order, const std::string& type = "gcn") {
    return refusal(kMinimal, {"model.type=" + type, "model.layers=3", "inference.order=" + order});
  };
  EXPECT_EQ(
      refused(R"(["auto", "auto"])"),
      "inference.order: has 2 words, but model.layers is 3: give one for each, or one word for "
      "all");
  EXPECT_EQ(refused("aggregate_both"),
            "inference.order: found \"aggregate_both\", allowed: auto, aggregate_first, "
            "transform_first, or a list with one of them for each of model.layers");
  EXPECT_EQ(
      refused(R"(["auto", "auto", "aggregate_first"])", "gat"),
      "inference.order: \"aggregate_first\" is impossible with model.type \"gat\", because it "
      "computes numbers of edges from rows times W: leave it out");
  EXPECT_EQ(refused("aggregate_first", "sage-pool"),
            "inference.order: \"aggregate_first\" is impossible with model.type \"sage-pool\", "
            "because it takes the largest of rows times W after a ReLU: leave it out");
}

TEST(GraphAttention, ReadsTheRecipeAndRefusesKeysThatWouldDoNothing) {
  const std::string gat = R"(model={"type": "gat", "activation": "elu", "attention_dropout": 0.6,
    "projection_dropout": 0.5})";
  const ModelConfig model = load({gat}).front().model;
  EXPECT_EQ(model.activation, Activation::elu);
  EXPECT_EQ(model.attention_dropout, 0.6);
  EXPECT_EQ(model.projection_dropout, 0.5);
  EXPECT_EQ(load().front().model.activation, Activation::relu);
  EXPECT_EQ(load({"model.type=sage", "model.activation=elu"}).front().model.activation,
            Activation::elu);

  for (const char* type : {"model.type=resgcn+", "model.type=sgc"})
    EXPECT_EQ(refusal(kMinimal, {type, "model.activation=elu"}),
              "model.activation: only goes with \"type\": gcn, sage, sage-pool, gat, rgcn, rgat");
  EXPECT_EQ(refusal_of("model.projection_dropout=0.5"),
            "model.projection_dropout: only goes with \"type\": gat");
  EXPECT_EQ(refusal(kMinimal, {gat, "model.layers=1", "model.heads=4"}),
            "model.heads: applies to every layer but the last, and model.layers is 1: leave the "
            "key out; model.output_heads sets the heads of the last layer");
  EXPECT_EQ(refusal(kMinimal, {gat, "model.layers=1", "model.output_heads=4"}), "accepted");
  const std::string parts = R"(strategy={"type": "model_averaging", "degrees": "original"})";
  EXPECT_EQ(refusal(kMinimal, {gat, parts}).substr(0, 47),
            "strategy.degrees: normalises a matrix by degree");
  EXPECT_EQ(refusal_of(parts), "accepted");
  EXPECT_EQ(refusal(kMinimal, {gat, "strategy.type=shared_preloading"}), "accepted");
  const auto resolved = load({gat, "strategy.type=shared_preloading"}).front().resolved;
  EXPECT_EQ(refusal(resolved.dump()), "accepted");
}

TEST(GradientBuckets, AreReadInBytesAndRefusedWhereModelsAreAveraged) {
  EXPECT_EQ(load().front().train.bucket_bytes, 0);
  EXPECT_EQ(load({"train.bucket_bytes=25 MB"}).front().train.bucket_bytes, 25000000);
  EXPECT_EQ(load({"strategy.type=model_averaging", "train.bucket_bytes=0"}).size(), 1U);
  for (const char* bytes : {"train.bucket_bytes=25 MB", "train.bucket_bytes=1"})
    EXPECT_EQ(refusal(kMinimal, {"strategy.type=model_averaging", bytes}).substr(0, 57),
              "train.bucket_bytes: models are averaged as a whole, and g");
  EXPECT_EQ(refusal(kMinimal, {R"(strategy={"type": "model_averaging", "averaging": "gradient"})",
                               "train.bucket_bytes=1"}),
            "accepted");
}

TEST(InductiveTraining, LoadsTheGraphOfTheTrainingVerticesAndTheWholeOne) {
  const Experiment e = load({"dataset.inductive=true", "dataset.vertices=200", "dataset.edges=900",
                             "cluster.ranks=3", "partition.method=metis"})
                           .front();
  const ProblemData data = DatasetCache().load(e);
  const Problem problem = make_problem(e, data, make_partition(e, data));

  ASSERT_NE(problem.whole, nullptr);
  EXPECT_EQ(problem.whole->facts().vertices, 200);
  EXPECT_EQ(problem.facts().vertices, problem.whole->facts().training_vertices);
  EXPECT_EQ(std::ssize(problem.partition.owner), problem.facts().vertices);
  EXPECT_EQ(std::ssize(problem.whole_partition.owner), 200);
  EXPECT_EQ(problem.whole_partition.parts, 3);
}

TEST(InductiveTraining, OfStatisticsCountsEdgesOrIsTold) {
  const std::string statistics =
      R"(dataset={"statistics": {"vertices": 101, "edges": 1010, "features": 4, "classes": 2,)"
      R"( "training_vertices": 51%}, "inductive": true})";
  const auto with = [&](const std::string& more) {
    std::string text = statistics;
    return text.replace(text.find('%'), 1, more);
  };
  const auto edges = [&](const std::string& more) {
    const Experiment e = load({with(more), R"(strategy={"type": "spmm_1d", "permute": true})",
                               "backend=sim", R"(cluster={"file": "dgx-1"})"})
                             .front();
    return DatasetCache().load(e).facts().edges;
  };

  EXPECT_EQ(edges(""), 255) << "1010·51·50/(101·100), rounded";
  EXPECT_EQ(edges(R"(, "training_edges": 400)"), 400);
  const auto refused = [&](const std::string& dataset) {
    return refusal(kMinimal, {dataset, R"(strategy={"type": "spmm_1d", "permute": true})"});
  };
  EXPECT_EQ(refused(with(R"(, "training_edges": 1011)")),
            "dataset.statistics.training_edges: found 1011, but 51 training vertices have at most "
            "1010 of the 1010 edges among them");
  std::string transductive = with(R"(, "training_edges": 4)");
  transductive.replace(transductive.find("true"), 4, "false");
  EXPECT_EQ(refused(transductive),
            "dataset.statistics.training_edges: is for dataset.inductive: set that to true, or "
            "leave this out");
  EXPECT_EQ(refusal_of(R"(dataset={"parts": "folder", "inductive": true})"),
            "dataset.inductive: does not go with \"parts\"");
}

TEST(InexactStrategies, AreReadWithTheirKeys) {
  EXPECT_EQ(load({"strategy.boundary_sampling=0.1"}).front().strategy.boundary_sampling, 0.1);
  const Experiment stale =
      load({R"(strategy={"type": "spmm_1d", "staleness": 4})", "train.epochs=50"}).front();
  EXPECT_EQ(stale.strategy.staleness, 4);
  EXPECT_EQ(period_of(stale.strategy, stale.train.epochs), 5);
  EXPECT_EQ(stale.simulation.epochs, 6) << "the first epoch and a period";
  EXPECT_EQ(load({"strategy.staleness=1"}).front().simulation.epochs, 6)
      << "an exact epoch, one that waits for nothing, and what follows";
}

TEST(InexactStrategies, AreRefusedWhereTheyCannotBeHonoured) {
  EXPECT_EQ(refusal_of("strategy.boundary_sampling=0"),
            "strategy.boundary_sampling: found 0, expected a value > 0 and <= 1");
  EXPECT_EQ(refusal_of(R"(strategy={"type": "spmm_15d", "staleness": 1})"),
            "strategy.staleness: only goes with \"type\": full_graph, spmm_1d");
  EXPECT_EQ(refusal_of(R"(strategy={"type": "spmm_1d", "boundary_sampling": 0.5})"),
            "strategy.boundary_sampling: only goes with \"type\": full_graph");
  try {
    load({"strategy.staleness=1", "train.checkpoint_every=5"});
    ADD_FAILURE() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.path, "train.checkpoint_every");
  }
}

TEST(Refusal, NamesPathFoundAllowedAndNearest) {
  EXPECT_EQ(
      refusal_of("strategy.type=spmm1d"),
      "strategy.type: found \"spmm1d\", allowed: full_graph, spmm_1d, spmm_15d, spmm_2d, "
      "vertex_cut, model_averaging, shared_preloading, mini_batch. Did you mean \"spmm_1d\"?");
  EXPECT_EQ(
      refusal_of("model.hiden=3"),
      "model.hiden: unknown key. Did you mean \"hidden\"? Known keys: type, layers, "
      "dense_layers, inner_layers, hidden, dropout, bias, activation, layer_norm, batch_norm, "
      "residual, sparse_input, recompute, order, normalisation, heads, output_heads, attention, "
      "attention_dropout, projection_dropout, bases, self_weights, projection, blocks");
  EXPECT_EQ(refusal_of("train.epochs=ten"),
            "train.epochs: found \"ten\" (string), expected integer >= 1 and <= 1000000");
  EXPECT_EQ(refusal_of("train.epochs=2.5"),
            "train.epochs: found 2.5 (number), expected integer >= 1 and <= 1000000");
  EXPECT_EQ(refusal_of("model.dropout=1"), "model.dropout: found 1, expected a value >= 0 and < 1");
  EXPECT_EQ(refusal_of("train.learning_rate=-1"),
            "train.learning_rate: found -1, expected a value > 0 and <= 1000000");
  EXPECT_EQ(refusal_of("seed=-1"), "seed: found -1, expected a value >= 0 and <= 9007199254740992");
  EXPECT_EQ(refusal_of("dataset=cora"), "dataset: found \"cora\" (string), expected object");
}

TEST(Refusal, KnowsWhatLaterVersionsHave) {
  EXPECT_EQ(refusal_of("strategy.type=inference"),
            "strategy.type: \"inference\" is not in this version of Orrery, allowed: full_graph, "
            "spmm_1d, spmm_15d, spmm_2d, vertex_cut, model_averaging, shared_preloading, "
            "mini_batch");
}

TEST(Refusal, OfBatchesThatCannotBe) {
  const auto refusal = [](const std::string& keys) {
    return refusal_of(R"(strategy={"type": "mini_batch", )" + keys + "}");
  };
  EXPECT_EQ(refusal(R"("fanouts": [10])"),
            "strategy.fanouts: found [10], expected a number for each of the 2 layers of the "
            "model, the first at the seeds, such as 10 neighbours, or -1 for all");
  EXPECT_EQ(refusal(R"("sampler": "all", "fanouts": [10, 5])"),
            "strategy.fanouts: goes with strategy.sampler neighbour, labor or weighted: the others "
            "take every neighbour that they have; leave it out");
  EXPECT_EQ(refusal(R"("sampler": "labor", "fanouts": [10, 5], "replace": true)"),
            "strategy.replace: goes with strategy.sampler neighbour: set it to false");
  for (const auto& [more, why] :
       {std::pair(R"("sampler": "cluster", "clusters": 4)",
                  "numbers the ends of drawn edges, but batches of strategy.sampler cluster and "
                  "saint-* know their vertices before their edges"),
        std::pair(R"("sampler": "saint-walk")",
                  "numbers the ends of drawn edges, but batches of strategy.sampler cluster and "
                  "saint-* know their vertices before their edges"),
        std::pair(
            R"("fanouts": [10, 5], "replace": true)",
            "does not go with strategy.replace, whose repeated neighbours become one entry on "
            "the host"),
        std::pair(R"("fanouts": [10, 5], "cooperative": true)",
                  "does not go with strategy.cooperative, whose ranks share a batch by its "
                  "numbers")})
    EXPECT_EQ(refusal(std::string(more) + R"(, "relabel": "device")"),
              fmt::format("strategy.relabel: \"device\" {}: set it to \"host\"", why));
  EXPECT_EQ(refusal(R"("fanouts": [10, 5], "together": 2)"),
            "strategy.together: only goes with \"sampler\": cluster");
  EXPECT_EQ(refusal(R"("fanouts": [10, 5], "walk_length": 3)"),
            "strategy.walk_length: only goes with \"sampler\": saint-walk");
  EXPECT_EQ(
      refusal(R"("sampler": "cluster", "clusters": 4, "batch": 10)"),
      "strategy.batch: a batch of strategy.sampler cluster is strategy.together of its parts: "
      "leave it out");
  for (const std::string sampler :
       {R"("sampler": "cluster", "clusters": 4)", R"("sampler": "saint-walk")"}) {
    EXPECT_EQ(refusal(sampler + R"(, "resample": "epoch")"),
              "strategy.resample: \"epoch\" applies to drawn neighbours (strategy.sampler "
              "neighbour, labor or weighted): set it to \"step\"");
    EXPECT_EQ(refusal(sampler + R"(, "seeds": "global")"),
              "strategy.seeds: \"global\" applies to seeds, but batches of strategy.sampler "
              "cluster and saint-* have none: each rank draws its own batches; set it to "
              "\"local\"");
    EXPECT_EQ(refusal(sampler + R"(, "cache": {"policy": "vip", "bytes": 8})"),
              "strategy.cache.policy: \"vip\" applies to vertices that seeds draw, but batches "
              "of strategy.sampler cluster and saint-* have no seeds: use \"presampled\" or "
              "\"degree\"");
    EXPECT_EQ(
        refusal(sampler + R"(, "cooperative": true)"),
        "strategy.cooperative: batches of strategy.sampler cluster and saint-* have no seeds, so "
        "ranks cannot share one: use neighbour, labor, weighted or all, or set it to false");
  }
  EXPECT_EQ(refusal(R"("sampler": "weighted", "fanouts": [10, 5], "replace": true)"),
            "strategy.replace: goes with strategy.sampler neighbour: set it to false");
  EXPECT_EQ(refusal(R"("sampler": "weighted", "fanouts": [10, 5],
                       "cache": {"policy": "vip", "bytes": 8})"),
            "strategy.cache.policy: \"vip\" computes how likely rows are where all neighbours of a "
            "vertex are equally likely: use \"presampled\" or \"degree\", or set strategy.sampler "
            "to \"neighbour\"");
  EXPECT_EQ(
      refusal(
          R"("fanouts": [10, 5], "fanouts_per": "relation", "cache": {"policy": "vip", "bytes": 8})"),
      "strategy.cache.policy: \"vip\" computes how likely rows are where fanouts count all "
      "relations together: use \"presampled\" or \"degree\", or set strategy.fanouts_per to "
      "\"vertex\"");
  EXPECT_EQ(refusal(R"("sampler": "all", "fanouts_per": "relation")"),
            "strategy.fanouts_per: \"relation\" goes with fanouts (strategy.sampler neighbour or "
            "labor): set it to \"vertex\"");
  EXPECT_EQ(refusal(R"("sampler": "cluster")"),
            "strategy.clusters: is required with strategy.sampler cluster: the number of parts "
            "that METIS cuts the graph into");
  EXPECT_EQ(refusal(R"("sampler": "cluster", "clusters": 4, "together": 5)"),
            "strategy.together: found 5, but there are 4 clusters");
  const auto averaging = [](const std::string& keys) {
    return refusal_of(R"(strategy={"type": "model_averaging", )" + keys + "}");
  };
  EXPECT_EQ(averaging(R"("averaging": "gradient", "batch": 512)"),
            "strategy.batch: parts train on batches of their own where models are averaged: set "
            "strategy.averaging to \"model\", or strategy.type to \"mini_batch\"");
  EXPECT_EQ(averaging(R"("fanouts": [10, 5])"),
            "strategy.fanouts: applies to the drawn neighbours of a batch: set strategy.batch");
  EXPECT_EQ(averaging(R"("batch": 512, "fanouts": [10, 0])"),
            "strategy.fanouts: found 0, expected -1 (all neighbours) or a number >= 1");
  EXPECT_EQ(refusal(R"("fanouts": [10, 5], "cache": {"bytes": "a lot"})").substr(0, 21),
            "strategy.cache.bytes:");
  EXPECT_EQ(refusal(R"("fanouts": [10, 5], "sizes": "largest")"),
            "strategy.sizes: \"largest\" counts batches and draws none, so nothing can be learned: "
            "set backend to sim, or leave it out");
}

TEST(Refusal, OfACacheForBatchesThatAreNotDrawn) {
  const auto refusal_with = [](const std::string& keys) {
    return refusal(
        kMinimal,
        {R"(strategy={"type": "mini_batch", "fanouts": [10, 5], "sizes": "largest")" + keys + "}",
         "backend=sim", R"(cluster={"file": "dgx-1"})"});
  };
  EXPECT_EQ(refusal_with(""), "accepted");
  EXPECT_EQ(refusal_with(R"(, "cache": {"bytes": 8})"),
            "strategy.cache: nobody knows which rows a cache has for batches that are not drawn: "
            "leave it out, or set strategy.sizes to \"drawn\"");
  EXPECT_EQ(
      refusal_with(R"(, "cooperative": true)"),
      "strategy.cooperative: how the ranks of a server share a batch that is not drawn is not "
      "known: set it to false, or strategy.sizes to \"drawn\"");
}

TEST(Refusal, OfADelayThatNoSumOutlasts) {
  const auto refusal_of = [](int delay) {
    return refusal(kMinimal,
                   {R"(strategy={"type": "vertex_cut", "delay": )" + std::to_string(delay) + "}",
                    "partition.method=dbh", "train.epochs=5"});
  };
  EXPECT_EQ(refusal_of(4), "accepted");
  EXPECT_EQ(refusal_of(5),
            "strategy.delay: found 5, expected less than train.epochs, which is 5: no sum would "
            "arrive");
}

TEST(Refusal, OfLearnedFeaturesThatCannotBe) {
  const auto refusal_with = [](const std::string& keys, std::vector<std::string> more = {}) {
    more.insert(more.begin(),
                R"(strategy={"type": "mini_batch", "fanouts": [10, 5], )" + keys + "}");
    return refusal(kMinimal, more);
  };
  EXPECT_EQ(refusal_with(R"("learn_features": true, "features_rate": 0.1)"), "accepted");
  EXPECT_EQ(refusal_with(R"("learn_features": true, "cache": {"bytes": 8})"),
            "strategy.cache: keeps rows, but those of strategy.learn_features change in every "
            "step: leave one of the two out");
  EXPECT_EQ(refusal_with(R"("cooperative": true, "cache": {"bytes": 8})"),
            "strategy.cache: keeps rows for a rank's own batches, but with strategy.cooperative "
            "a server fetches each row only once, for one of its ranks: leave one of the two out");
  EXPECT_EQ(refusal_with(R"("learn_features": true)", {"dataset.inductive=true"}),
            "strategy.learn_features: vertices outside of the training graph would be evaluated "
            "with features that were never learned: set it or dataset.inductive to false");
  EXPECT_EQ(refusal_with(R"("features_rate": 0.1)"),
            "strategy.features_rate: applies to learned features: leave it out, or set "
            "strategy.learn_features to true");
  EXPECT_EQ(refusal_of("strategy.learn_features=true"), "accepted");
  EXPECT_EQ(refusal(kMinimal, {"strategy.type=spmm_1d", "strategy.learn_features=true"}),
            "strategy.learn_features: only goes with \"type\": full_graph, mini_batch");
  EXPECT_EQ(refusal(kMinimal, {"strategy.learn_features=true", "strategy.staleness=1"}),
            "strategy.staleness: uses rows from before the last step on them: set it to 0, or set "
            "strategy.learn_features to false");
}

TEST(Refusal, OfMagnifiedGraphsByBackendsThatTrain) {
  EXPECT_NO_THROW(require_data(load({"dataset.magnify=1"}).front()));
  try {
    require_data(load({"dataset.magnify=8"}).front());
    ADD_FAILURE() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "dataset.magnify: a magnified graph has only counts; use backend sim or orrery "
                 "plan, or set it to 1");
  }
}

TEST(Refusal, OfCombinations) {
  EXPECT_EQ(refusal_of("backend=nccl"),
            "backend: nccl moves data on GPUs: set kernels to cuda, found cpu");
  EXPECT_EQ(refusal(kMinimal, {"backend=nccl", "kernels=cuda", "strategy.type=spmm_2d"}),
            "strategy.type: the sparse tiles of spmm_2d do not travel by nccl: use backend mpi");
  EXPECT_EQ(refusal(kMinimal, {"backend=nccl", "kernels=cuda", "tf32=true"}), "accepted");
  EXPECT_EQ(refusal(kMinimal, {"kernels=cuda", "train.cuda_graph=true"}), "accepted");
  EXPECT_EQ(refusal(kMinimal, {"train.cuda_graph=true"}),
            "train.cuda_graph: needs GPUs: set kernels to cuda, found cpu");
  EXPECT_EQ(refusal(kMinimal, {"kernels=cuda", "train.cuda_graph=true", "simulate_on=[\"dgx-1\"]"}),
            "train.cuda_graph: simulations price operations that are issued one by one: set "
            "simulate_on to []");
  EXPECT_EQ(refusal_of("tf32=true"), "tf32: only goes with \"kernels\": cuda");
  EXPECT_EQ(refusal_of("strategy.permute=true"),
            "strategy.permute: only goes with \"type\": spmm_1d, spmm_15d, spmm_2d");
  EXPECT_EQ(refusal_of("dataset.mixing=0.1"),
            "dataset.mixing: only goes with \"generate\": communities, skewed-communities, "
            "typed-communities, mag, mag-lsc");
  EXPECT_EQ(refusal_of("dataset.training_share=0.1"), "accepted");
  EXPECT_EQ(refusal_of(R"(dataset={"path": "cora", "training_share": 0.1})"),
            "dataset.training_share: applies to a drawn split: set dataset.split to \"random\", "
            "or leave it out");
  EXPECT_EQ(refusal_of("dataset.symmetric=true"), "dataset.symmetric: only goes with \"path\"");
  EXPECT_EQ(refusal_of("dataset.missing_features=zero"),
            "dataset.missing_features: only goes with \"path\"");
  EXPECT_EQ(refusal_of(R"(dataset={"path": "mag", "missing_features": "zero"})"), "accepted");
  EXPECT_EQ(refusal_of(R"(dataset={"path": "mag", "missing_features": "zero",
                                   "features": {"random": 8}})"),
            "dataset.missing_features: does not go with \"features\"");
  EXPECT_EQ(
      refusal_of("dataset.path=cora"),
      "dataset: \"path\", \"generate\", \"parts\", \"statistics\" and \"edge_list\" exclude each "
      "other");
  EXPECT_EQ(
      refusal_of("dataset={}"),
      "dataset: needs \"path\" (a data set on disk), \"generate\" (a generated graph), \"parts\" "
      "(written by orrery partition), \"statistics\" (only counts, nothing to train on) or "
      "\"edge_list\" (files that orrery infer reads in ranges)");
  EXPECT_EQ(refusal_of(R"(dataset.features={"random": 3})"),
            "dataset.features: with \"generate\" expected the width, an integer");
  EXPECT_EQ(refusal_of(R"(dataset={"path": "cora", "features": {}})"),
            "dataset.features: expected one of \"random\" and \"files\"");
  EXPECT_EQ(refusal_of(R"(dataset={"edge_list": {"files": []}})"),
            "dataset.edge_list.files: found an empty list, expected at least one value");
  EXPECT_EQ(refusal_of(R"(dataset={"edge_list": {"files": "a"}, "reorder": "bfs"})"),
            "dataset.reorder: does not go with \"edge_list\"");
  EXPECT_EQ(refusal_of(R"(dataset={"edge_list": {"files": "a"}, "features": 3})"),
            "dataset.features: for data on disk expected {\"random\": width} or {\"files\": "
            "folder}");
  EXPECT_EQ(refusal_of("partition.method=file"),
            "partition.file: is required with \"method\": \"file\"");
  EXPECT_EQ(refusal_of("partition.file=x"), "partition.file: only goes with \"method\": file");
  EXPECT_EQ(refusal(kMinimal, {"cluster.ranks=2", "cluster.servers=2"}),
            "cluster: \"ranks\" and \"servers\" exclude each other");
  EXPECT_EQ(refusal(kMinimal,
                    {"strategy.type=spmm_1d", "strategy.permute=true", "partition.method=metis"}),
            "strategy.permute: replaces the partition, so partition.method must stay \"block\"");
}

TEST(Refusal, OfPartitionKeysThatTheMethodHasNoUseFor) {
  EXPECT_EQ(refusal(kMinimal, {"partition.lambda=2"}),
            "partition.lambda: only goes with \"method\": hdrf");
  EXPECT_EQ(refusal(kMinimal, {"partition.method=ldg", "partition.objective=volume"}),
            "partition.objective: only goes with \"method\": metis");
  EXPECT_EQ(refusal(kMinimal, {"partition.method=metis", "partition.processes=4"}),
            "partition.processes: only goes with \"method\": ptscotch");
  EXPECT_EQ(refusal(kMinimal, {"partition.method=metis", "partition.levels=2",
                               "cluster={\"servers\": 1, \"ranks_per_server\": 4}"}),
            "partition.levels: 2 needs a part for every rank and several servers of equally many "
            "consecutive ranks, found 4 parts, 4 ranks, 1 servers");
}

TEST(Config, PartitionKeysReachTheAlgorithms) {
  const auto ptscotch =
      parse_experiments(kMinimal, "test",
                        {"partition.method=ptscotch", "partition.processes=5",
                         "partition.balance=1.2", "partition.constraints=[\"training\"]"});
  const auto spring = parse_experiments(
      kMinimal, "test",
      {"partition.method=spring", "partition.max_volume=0.25", "partition.refine=7",
       "partition.balance=1.2", "partition.merge=persistent"});
  const auto metis = parse_experiments(
      kMinimal, "test",
      {"partition.method=metis", "partition.levels=2", "partition.objective=volume",
       "partition.constraints=[\"vertices\", \"training\"]", "partition.balance=1.1",
       "cluster={\"servers\": 2, \"ranks_per_server\": 3}"});
  const auto fennel =
      parse_experiments(kMinimal, "test", {"partition.method=fennel", "partition.gamma=2"});
  const auto two_ps_l = parse_experiments(
      kMinimal, "test", {"partition.method=2ps-l", "partition.cluster_volume=0.5"});

  EXPECT_EQ(spring.front().partition.spring.max_volume, 0.25);
  EXPECT_EQ(spring.front().partition.spring.refine, 7);
  EXPECT_EQ(spring.front().partition.spring.balance, 1.2);
  EXPECT_EQ(fennel.front().partition.fennel.gamma, 2);
  EXPECT_EQ(fennel.front().partition.fennel.balance, FennelOptions{}.balance);
  EXPECT_EQ(two_ps_l.front().partition.two_ps_l.max_volume, 0.5);
  EXPECT_TRUE(spring.front().partition.spring.persistent);
  EXPECT_EQ(ptscotch.front().partition.ptscotch.processes, 5);
  EXPECT_EQ(ptscotch.front().partition.ptscotch.balance, 1.2);
  EXPECT_EQ(ptscotch.front().partition.metis.constraints,
            std::vector<Constraint>{Constraint::training});
  EXPECT_EQ(metis.front().partition.metis.servers, 2);
  EXPECT_TRUE(metis.front().partition.metis.volume);
  EXPECT_EQ(metis.front().partition.metis.constraints,
            (std::vector<Constraint>{Constraint::vertices, Constraint::training}));
  EXPECT_EQ(metis.front().partition.metis.balance, 1.1);
  const auto defaults = parse_experiments(kMinimal, "test", {"partition.method=spring"});
  EXPECT_FALSE(defaults.front().partition.spring.persistent);
  EXPECT_EQ(defaults.front().partition.spring.max_volume, SpringOptions{}.max_volume);
  EXPECT_EQ(defaults.front().partition.spring.refine, 0);
  EXPECT_EQ(defaults.front().partition.spring.balance, SpringOptions{}.balance);
  EXPECT_EQ(
      parse_experiments(kMinimal, "test", {"partition.method=hdrf"}).front().partition.hdrf.lambda,
      HdrfOptions{}.lambda);
}

TEST(Refusal, OfWhatWouldBeUndoneOrMisread) {
  EXPECT_EQ(refusal(kMinimal, {R"(sweep={"model": [{"type": "gcn"}]})", "model.hidden=4"}),
            "--set: model.hidden would be undone by the sweep over model; set sweep.model or model "
            "itself");
  EXPECT_EQ(refusal(kMinimal, {"partition.method=file", "partition.file=x", "dataset.reorder=bfs"}),
            "partition.file: holds owners by vertex number, which dataset.reorder changes; use "
            "\"none\" there");
}

/// Grids of ranks that do not exist are told with those that do, before anything is loaded.
TEST(Refusal, OfImpossibleGrids) {
  EXPECT_EQ(
      refusal(kMinimal, {"cluster.ranks=4", "strategy.type=spmm_15d", "strategy.replication=3"}),
      "strategy.replication: 3 on 4 ranks: it must divide them and its square must not exceed "
      "them; possible with 4 ranks: 1, 2");
  EXPECT_EQ(
      refusal(kMinimal, {"cluster.ranks=8", "strategy.type=spmm_15d", "strategy.replication=4"}),
      "strategy.replication: 4 on 8 ranks: it must divide them and its square must not exceed "
      "them; possible with 8 ranks: 1, 2");
  EXPECT_EQ(
      refusal(kMinimal, {"cluster.ranks=6", "strategy.type=spmm_2d"}),
      "strategy.type: spmm_2d needs a square number of ranks, found 6; the nearest are 4 (2 x "
      "2) and 9 (3 x 3)");
}

TEST(Refusal, OfWhatPartsHaveSettledAlready) {
  const auto refused = [](const std::string& setting) {
    return refusal(kMinimal, {R"(dataset={"parts": "p"})", "cluster.ranks=4", setting});
  };

  EXPECT_EQ(refused("seed=2"), "accepted");
  EXPECT_EQ(refused("partition.method=metis"),
            "partition: the parts are cut already: leave partition and strategy.permute out");
  EXPECT_EQ(refused("dataset.features={\"random\": 3}"),
            "dataset.features: the parts have their own; give this to orrery partition");
  EXPECT_EQ(refused("dataset.reorder=bfs"), "dataset.reorder: does not go with \"parts\"");
  EXPECT_EQ(refused("dataset.symmetric=true"), "dataset.symmetric: only goes with \"path\"");
}

/// A model alone, without the features that were learned with it, means nothing.
TEST(Refusal, OfTheBestModelOfLearnedFeatures) {
  const std::string learns = "strategy.learn_features=true";
  EXPECT_NE(refusal(kMinimal, {learns, "train.keep_best=true"}).find("use train.checkpoint_every"),
            std::string::npos);
  EXPECT_FALSE(load({learns, "train.patience=3"}).front().train.keep_best);
  EXPECT_TRUE(load({"train.patience=3"}).front().train.keep_best);
}

/// A condition on another key holds for the default of that key, too.
TEST(Links, BothEndsAreCorruptedWithoutAWordOnNegatives) {
  EXPECT_EQ(refusal(kMinimal, {R"(links={"corrupted": "both"})"}), "accepted");
  EXPECT_NE(refusal(kMinimal, {R"(links={"corrupted": "both", "negatives": "in_batch"})"}),
            "accepted");
}

TEST(WholeGradients, AreThoseOfNoBatchPartOrSample) {
  const auto whole = [](const std::string& strategy) {
    return has_whole_gradients(load({"strategy=" + strategy, "cluster.ranks=4"}).front().strategy);
  };
  for (const char* type : {"full_graph", "spmm_1d", "spmm_2d", "shared_preloading"})
    EXPECT_TRUE(whole(fmt::format(R"({{"type": "{}"}})", type))) << type;
  for (const char* settings :
       {R"({"type": "model_averaging"})", R"({"type": "shared_preloading", "batches": 2})",
        R"({"type": "full_graph", "boundary_sampling": 0.5})",
        R"({"type": "mini_batch", "sampler": "all"})"})
    EXPECT_FALSE(whole(settings)) << settings;
}

TEST(Refusal, OfWhatIsMissing) {
  EXPECT_EQ(refusal("{}"),
            "name: is required\nand 3 more:\n  dataset: is required\n  model: is required\n"
            "  strategy: is required");
  EXPECT_EQ(
      refusal(
          R"({"name": "n", "dataset": {"path": "x"}, "model": {}, "strategy": {"type": "spmm_1d"}})"),
      "model.type: is required, one of: gcn, sage, sage-pool, gat, rgcn, rgat, resgcn+, sgc");
  EXPECT_EQ(
      refusal(
          R"({"name": "", "dataset": {"path": "x"}, "model": {"type": "gcn"}, "strategy": {"type": "spmm_1d"}})"),
      "name: found an empty string");
}

TEST(Refusal, OfWhatSgcHasNone) {
  EXPECT_EQ(refusal(kMinimal, {"model.type=sgc", "model.hidden=8"}),
            "model.hidden: model.type sgc has no hidden layers: leave the key out");
  EXPECT_EQ(refusal(kMinimal, {"model.type=sgc", "strategy.memory=autograd"}),
            "strategy.memory: the tape of model.type sgc is not modelled: use \"lean\"");
  const Experiment e = load({"model.type=sgc", "model.layers=3"}).front();
  EXPECT_EQ(parse_experiments(e.resolved.dump(), "again", {}).front().resolved, e.resolved);
}

TEST(Refusal, OfCheckpointsWithinEpochsOfModelsThatTakeTheirStepsApart) {
  const std::string parts = R"(strategy={"type": "model_averaging", "averaging": ")";
  EXPECT_EQ(refusal(kMinimal, {parts + "model\"}", "train.checkpoint_steps=5"}),
            "train.checkpoint_steps: models of parts take their steps independently, so "
            "checkpoints are possible only between epochs: set it to 0, and use "
            "train.checkpoint_every");
  EXPECT_EQ(refusal(kMinimal, {parts + "gradient\"}", "train.checkpoint_steps=5"}), "accepted");
}

/// Its first product with A comes after weights: nothing constant is there to be kept.
TEST(Refusal, OfAFirstLayerThatIsKeptInResGcn) {
  const auto with = [](const std::string& strategy) {
    return R"({"name": "n", "dataset": {"generate": "rmat", "vertices": 8, "edges": 9,
      "features": 2, "classes": 2}, "model": {"type": "resgcn+", "layers": 2}, "strategy": )" +
           strategy + "}";
  };
  const auto kept = [&](const std::string& strategy) {
    return parse_experiments(with(strategy), "test.json", {})
        .front()
        .resolved["strategy"]["first_layer"];
  };

  EXPECT_EQ(refusal(with(R"({"type": "full_graph", "first_layer": "exact"})")).substr(0, 41),
            "strategy.first_layer: model.type resgcn+ ");
  EXPECT_EQ(kept(R"({"type": "full_graph", "first_layer": "recompute"})"), "recompute");
  EXPECT_EQ(kept(R"({"type": "full_graph"})"), "recompute")
      << "its resolved file says what it does";
}

TEST(Refusal, OfTextThatIsNoJson) {
  EXPECT_EQ(refusal("{\n \"name\": }").substr(0, 53),
            "test.json: no valid JSON: line 2, column 10: syntax e");
  EXPECT_EQ(refusal(R"({"name": "a", "name": "b"})"),
            "name: is given twice in one object of test.json");
  EXPECT_EQ(refusal("[1]"), "test.json: expected a JSON object");
  EXPECT_EQ(refusal(kMinimal, {"epochs"}), "--set: found \"epochs\", expected key.path=value");
  EXPECT_EQ(refusal(kMinimal, {"name.x=1"}), "name.x: is no key path such as strategy.type");
}

TEST(Refusal, OfAMissingFile) {
  EXPECT_THROW(load_experiments("/nowhere/file.json", {}), ConfigError);
}

TEST(Bytes, HaveBinaryAndDecimalUnits) {
  EXPECT_EQ(parse_bytes("1000", "k"), 1000);
  EXPECT_EQ(parse_bytes("1.5 KiB", "k"), 1536);
  EXPECT_EQ(parse_bytes("2GB", "k"), 2000000000);
  for (const char* bad : {"", "GiB", "1 gib", "-1 GiB", "0", "1e40 TiB", "nan"})
    EXPECT_THROW(parse_bytes(bad, "k"), ConfigError) << bad;
}

TEST(Nearest, SuggestsOnlyWhatIsClose) {
  EXPECT_EQ(nearest("spmm1d", {"full_graph", "spmm_1d"}), "spmm_1d");
  EXPECT_EQ(nearest("zzzzzz", {"full_graph", "spmm_1d"}), "");
  EXPECT_EQ(nearest("ab", {"abcd", "abc", "abx"}), "abc") << "the first of the nearest";
  EXPECT_EQ(slip_of("num_nodes", {"num_edges", "num_node"}), "num_node");
  EXPECT_EQ(slip_of("num_nodes", {"num_edges"}), "");
  EXPECT_EQ(slip_of("kind", {"file", "dtype", "kin"}), "kin");
}

TEST(Unknown, NamesAllThatAreMeant) {
  EXPECT_EQ(unknown("relation", "in", {"a.in.b", "c.in.b", "a.by.c"}, {"a.in.b", "c.in.b"}),
            "the unknown relation \"in\"; did you mean \"a.in.b\" or \"c.in.b\"? there are a.in.b, "
            "c.in.b, a.by.c");
}

TEST(Schema, EveryKeyIsDescribedOrObvious) {
  const auto& properties = experiment_schema()["properties"];
  for (const auto& [room, schema] : properties.items()) {
    EXPECT_TRUE(schema.contains("description") || schema.contains("properties")) << room;
  }
}

/// Every experiment file that ships can be read and resolves.
/// Not the clusters, devices, figures and the catalogue of data sets, which have their own forms.
bool is_experiment(const std::filesystem::path& file) {
  const auto folder = file.parent_path().filename();
  return folder != "clusters" && folder != "devices" && file.filename() != "figure.json" &&
         file.filename() != "datasets.json";
}

TEST(Configs, AllLoad) {
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(ORRERY_SOURCES "/configs"))
    if (entry.path().extension() == ".json" && is_experiment(entry.path())) {
      EXPECT_NO_THROW(load_experiments(entry.path().string(), {})) << entry.path();
      ++files;
    }
  EXPECT_GE(files, 22);
}

}  // namespace
}  // namespace orrery
