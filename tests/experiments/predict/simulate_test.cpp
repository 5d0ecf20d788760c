#include "experiments/predict/simulate.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/strategy/structure/sampled_batches.hpp"
#include "core/strategy/train/train.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/execute/measure.hpp"
#include "tests/support/drawn_steps.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

/// A small experiment, some of whose keys are changed.
Experiment experiment_with(const std::vector<std::string>& changes) {
  const std::string text = R"({
    "name": "small", "seed": 3,
    "dataset": {"generate": "communities", "vertices": 2000, "edges": 12000, "features": 24},
    "model": {"type": "gcn", "layers": 2, "hidden": 16, "dropout": 0.5},
    "strategy": {"type": "spmm_1d"}, "train": {"epochs": 3, "eval_every": 0},
    "cluster": {"file": "dgx-1", "gpus": 4}, "backend": "sim"})";
  return parse_experiments(text, "small", changes).front();
}

struct Simulated {
  SimulatedOutcome made;
  Measurement measured;
};

Simulated simulated(const Experiment& experiment) {
  const PreparedExperiment prepared = prepare(experiment, DatasetCache().load(experiment));
  Simulator simulator;
  Simulated result{simulate(prepared, simulator), {}};
  std::vector<std::vector<EpochCost>> costs;
  std::vector<Summary> summaries;
  for (const RankOutcome& rank : result.made.outcome.ranks) {
    costs.push_back(rank.epochs);
    summaries.push_back(rank.summary);
  }
  result.measured = measure(costs, summaries);
  return result;
}

double epoch_of(const std::vector<std::string>& changes) {
  return simulated(experiment_with(changes)).measured.epoch_seconds;
}

class Simulate : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      epoch_of({"cluster.gpus=1", "train.epochs=1"});
    } catch (const NotBuilt& error) {
      GTEST_SKIP() << error.what();
    }
  }
};

/// One all-reduce of the model in as many epochs, and no other communication in them.
TEST_F(Simulate, OfAveragedModelsMovesThemOnceAnInterval) {
  const Simulated run = simulated(experiment_with(
      {R"(strategy={"type": "model_averaging", "interval": 4})", "train.epochs=20"}));
  const double parameters = 24 * 16 + 16 + 16 * 16 + 16;

  EXPECT_EQ(run.made.outcome.epochs.size(), 5U);
  EXPECT_NEAR(run.measured.internal_bytes, 4 * 2 * 0.75 * 4 * parameters / 4, 1e-3);
  EXPECT_EQ(run.measured.breakdown.internal, 0);
  EXPECT_GT(run.measured.synchronise_seconds, 0);
}

/// Three parts a rank: five epochs load each of them five times, or in two turns of four and one.
TEST_F(Simulate, OfSeveralPartsARankLoadsEachOnceAnInterval) {
  const auto loads = [](int interval) {
    const Simulated run = simulated(experiment_with(
        {fmt::format(R"(strategy={{"type": "model_averaging", "interval": {}}})", interval),
         "partition.parts=12", "train.eval_every=0", "train.epochs=20"}));
    double seconds = 0;
    for (const EpochCost& epoch : run.made.outcome.ranks.front().epochs)
      seconds += epoch.breakdown.load;
    return std::pair(run.made.outcome.ranks.front().loads, seconds);
  };
  const auto [every, seconds_of_every] = loads(1);
  const auto [fourth, seconds_of_fourth] = loads(4);

  EXPECT_EQ(every % 3, 0);
  EXPECT_EQ(fourth, 6);
  EXPECT_GT(seconds_of_fourth, 0);
  EXPECT_GT(every, fourth);
  EXPECT_GT(seconds_of_every, seconds_of_fourth);
}

TEST_F(Simulate, EveryStrategyRepeatsToTheLastDigit) {
  for (const char* strategy :
       {R"({"type": "full_graph"})", R"({"type": "spmm_1d"})",
        R"({"type": "spmm_1d", "variant": "column"})", R"({"type": "spmm_1d", "overlap": false})",
        R"({"type": "spmm_15d", "replication": 2})", R"({"type": "spmm_2d"})"})
    for (const char* cluster :
         {R"({"file": "dgx-1", "gpus": 4})",
          R"({"file": "a6000-4x4-pcie", "servers": 2, "gpus_per_server": 2})"}) {
      const std::vector<std::string> changes{std::string("strategy=") + strategy,
                                             std::string("cluster=") + cluster};
      const Simulated once = simulated(experiment_with(changes));

      EXPECT_GT(once.measured.epoch_seconds, 0) << strategy << cluster;
      EXPECT_EQ(once.measured.epoch_seconds, epoch_of(changes)) << strategy << cluster;
      EXPECT_NEAR(once.measured.breakdown.total(), once.measured.epoch_seconds, 1e-12);
    }
}

TEST_F(Simulate, BucketsHideGradientsBehindTheBackwardPass) {
  const std::vector<std::string> deep{"strategy.type=full_graph", "model.hidden=512",
                                      "model.layers=4"};
  auto in_buckets = deep;
  in_buckets.push_back("train.bucket_bytes=1 MiB");

  const Measurement together = simulated(experiment_with(deep)).measured,
                    apart = simulated(experiment_with(in_buckets)).measured;

  // Two of the three large layers' gradients leave before the backward pass ends.
  EXPECT_LT(apart.breakdown.synchronise, 0.7 * together.breakdown.synchronise);
  EXPECT_GT(apart.breakdown.hidden, together.breakdown.hidden);
  EXPECT_LT(apart.epoch_seconds, together.epoch_seconds);
  EXPECT_NEAR(apart.internal_bytes, together.internal_bytes, 1e-6 * together.internal_bytes);
}

TEST_F(Simulate, LinksCarryTheVolumesThatThePlanCounts) {
  // GPUs 0 and 3 of a DGX-1 share one pair of cables, so what is received has passed one link; the
  // two-rank ring all-reduce moves 2 (p - 1) / p of its size to each, as volumes count it.
  for (const char* strategy : {"full_graph", "spmm_1d"}) {
    const Simulated s =
        simulated(experiment_with({std::string("strategy.type=") + strategy, "cluster.gpus=2"}));

    double passed = 0;
    for (const Json& link : s.made.links) passed += link["bytes"].get<double>();
    EXPECT_NEAR(passed, s.measured.internal_bytes, 1e-6 * passed) << strategy;
    EXPECT_EQ(s.measured.external_bytes, 0);
  }
}

/// Over a period, what the plan counts.
TEST_F(Simulate, DelayedSumsMoveLessAndAreWaitedForLess) {
  const auto with = [](int delay) {
    return simulated(experiment_with({"strategy.type=vertex_cut", "partition.method=dbh",
                                      "strategy.delay=" + std::to_string(delay), "train.epochs=20",
                                      "cluster.gpus=2", "model.hidden=256"}));
  };
  const Simulated exact = with(0), late = with(3);

  double passed = 0;
  for (const Json& link : late.made.links) passed += link["bytes"].get<double>();
  EXPECT_EQ(late.measured.seconds.size(), 12U);
  EXPECT_NEAR(passed, late.measured.internal_bytes, 1e-6 * passed);
  EXPECT_LT(late.measured.internal_bytes, exact.measured.internal_bytes);
  EXPECT_LT(late.measured.breakdown.internal, exact.measured.breakdown.internal);
}

/// A device of the profile with these bytes and flops for sparse products is what the end says.
TEST_F(Simulate, SensitivityIsTheEpochWithBothEndsOfAllEfficiencies) {
  const std::string folder = ::testing::TempDir();
  Json file = Json::parse(std::ifstream(ORRERY_SOURCES "/configs/devices/v100-sxm2-32gb.json"));
  const auto of_end = [&](const char* end) {
    Json moved = file;
    for (auto& [kind, efficiency] : moved["roofline"]["kinds"].items()) {
      const Json there = efficiency[end];
      efficiency = there;
    }
    const std::string path = folder + "v100-" + end + ".json";
    std::ofstream(path) << moved;
    return epoch_of({"simulation.profile=" + path});
  };

  const Simulated run = simulated(experiment_with({"simulation.sensitivity=true"}));

  const Json& told = run.made.simulation["sensitivity"];
  EXPECT_DOUBLE_EQ(told["low_seconds"], of_end("highest"));
  EXPECT_DOUBLE_EQ(told["high_seconds"], of_end("lowest"));
  EXPECT_LT(told["low_seconds"], run.measured.epoch_seconds);
  EXPECT_GT(told["high_seconds"], run.measured.epoch_seconds);
  EXPECT_FALSE(simulated(experiment_with({})).made.simulation.contains("sensitivity"));
  EXPECT_THROW(refuse_sensitivity(experiment_with({"simulation.sensitivity=true"}), "orrery infer"),
               ConfigError);
  EXPECT_NO_THROW(refuse_sensitivity(experiment_with({}), "orrery infer"));
}

TEST_F(Simulate, SharedProgramsGiveTheTimesOfSeparateOnes) {
  // A permuted graph known by its counts (one program for all ranks) against the same counts cut
  // into blocks of two sizes (several programs): nearly equal work, nearly equal times. They differ
  // by which of the messages that are ready at one moment goes first.
  const auto epoch = [](int vertices) {
    return epoch_of({"dataset={\"statistics\": {\"vertices\": " + std::to_string(vertices) +
                         ", \"edges\": 400000, \"features\": 64, \"classes\": 8}}",
                     "strategy.permute=true"});
  };

  EXPECT_NEAR(epoch(40000) / epoch(40001), 1, 0.02);
}

TEST_F(Simulate, ScaleMultipliesPrices) {
  const auto compute = [](const char* scale) {
    const std::string key = std::string("simulation.scale=") + scale;
    return simulated(experiment_with({key, "cluster.gpus=1"})).measured.breakdown;
  };

  const Breakdown plain = compute("{}"), all = compute(R"({"*": 3})"),
                  one = compute(R"({"spmm": 3})");

  EXPECT_NEAR(all.compute / plain.compute, 3, 1e-6);
  EXPECT_NEAR(one.compute_by_kind.at("spmm") / plain.compute_by_kind.at("spmm"), 3, 1e-6);
  EXPECT_NEAR(one.compute_by_kind.at("gemm") / plain.compute_by_kind.at("gemm"), 1, 1e-6);
}

TEST_F(Simulate, OneHostForAllDevicesIsNotFaster) {
  const double apart = epoch_of({}), together = epoch_of({"cluster.hosts=per_server"});

  EXPECT_GT(together, 1.2 * apart) << "small kernels wait for the host";
}

TEST_F(Simulate, AForcedAlgorithmAndAWindowAreShownAndChangeTimes) {
  const auto algorithm = [](const std::vector<std::string>& changes) {
    std::string names;
    const Simulated s = simulated(experiment_with(changes));
    for (const Json& use : s.made.simulation["algorithms"])
      names += use["algorithm"].get<std::string>() + "; ";
    return names;
  };

  EXPECT_NE(algorithm({"simulation.algorithm=binomial tree"}).find("binomial tree"),
            std::string::npos);
  EXPECT_NE(algorithm({"strategy.type=full_graph", "simulation.window=1"}).find("1 at a time"),
            std::string::npos);
  EXPECT_GT(epoch_of({"simulation.algorithm=flat", "cluster.gpus=8"}),
            epoch_of({"simulation.algorithm=ring", "cluster.gpus=8"}));
}

TEST_F(Simulate, HostsWithCoresEnoughChangeNoTime) {
  for (const char* strategy : {"full_graph", "spmm_1d"})
    for (const char* hosts : {"per_rank", "per_server"}) {
      Experiment with = experiment_with({std::string("strategy.type=") + strategy,
                                         std::string("cluster.hosts=") + hosts}),
                 without = with;
      without.cluster->host = {};

      const Simulated a = simulated(with), b = simulated(without);

      EXPECT_DOUBLE_EQ(a.measured.epoch_seconds, b.measured.epoch_seconds) << strategy << hosts;
    }
}

TEST_F(Simulate, ADeviceThatIsTooSmallIsOutOfMemory) {
  EXPECT_THROW(epoch_of({"cluster.device_bytes=100000"}), OutOfMemory);
}

TEST(HostProfiles, AreThoseThatTheClusterNames) {
  const std::string file = ::testing::TempDir() + "epyc.json";
  Json epyc = Json::parse(std::ifstream(ORRERY_SOURCES "/configs/devices/r5-16.json"));
  epyc["host"]["kinds"]["sample"]["seconds_per_item"] = {{"value", 1e-7}, {"source", "a test"}};
  std::ofstream(file) << epyc;
  Experiment named = experiment_with({}), unknown = named;
  named.cluster->host.profile = file;
  unknown.cluster->host.profile = "epyk";

  const sim::DeviceProfile plain = profile_of(experiment_with({})), other = profile_of(named);

  EXPECT_NE(plain.host.at("sample").seconds_per_item, 1e-7);
  EXPECT_EQ(other.host.at("sample").seconds_per_item, 1e-7);
  EXPECT_EQ(other.name, plain.name) << "kernels are still the device's";
  try {
    profile_of(unknown);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("server.host_profile of dgx-1"), std::string::npos)
        << error.what();
  }
}

TEST(MemoryCapacities, AreTheDevicesAndSharesOfTheirHosts) {
  const auto of = [](const std::string& cluster) {
    return memory_capacities(experiment_with({"cluster=" + cluster})).bytes;
  };
  const std::int64_t gib = std::int64_t{1} << 30;

  // A DGX-1 has 512 GiB, half of which may be pinned; four ranks are on it, or eight of one.
  const auto four = of(R"({"file": "dgx-1", "gpus": 4})");
  EXPECT_EQ(four[at(Space::device)], 32 * gib);
  EXPECT_EQ(four[at(Space::host)], 512 * gib / 4);
  EXPECT_EQ(four[at(Space::pinned_host)], 256 * gib / 4);
  EXPECT_EQ(four[at(Space::server_host)], 512 * gib / 4);
  const auto uneven = of(R"({"file": "dgx-1", "servers": 2, "gpus": 10})");
  EXPECT_EQ(uneven[at(Space::host)], 512 * gib / 8) << "the fullest server counts";
  const auto none =
      memory_capacities(experiment_with({R"(cluster={"ranks": 2})", "backend=threads"})).bytes;
  EXPECT_EQ(none[at(Space::host)], kUnlimited);
}

Json profile_of_devices() {
  std::ifstream in(std::string(ORRERY_SOURCES) + "/configs/devices/v100-sxm2-32gb.json");
  return Json::parse(in);
}

/// The shipped profile of the cluster's devices with another price for drawing, in a file.
std::string profile_that_draws() {
  Json profile = profile_of_devices();
  const auto made_up = [](double value) {
    return Json{{"value", value}, {"source", "assumption: made up for a test"}};
  };
  profile["host"]["kinds"]["sample"] = {{"launch_seconds", made_up(200e-6)},
                                        {"seconds_per_item", made_up(10e-9)},
                                        {"bytes_per_second", made_up(10e9)},
                                        {"thread_efficiency", made_up(1)}};
  const std::string file = ::testing::TempDir() + "profile-that-draws.json";
  std::ofstream(file) << profile;
  return file;
}

/// Parts without neighbours hold each of the 2000 vertices once, and every epoch loads all of them. A
/// number of their 24 features takes 10 us; what else a load copies takes microseconds.
TEST_F(Simulate, OfPartsLoadsThemForAsLongAsTheirPricesSay) {
  Json profile = profile_of_devices();
  profile["tables"]["load/features"] = {{"axes", {{{"name", "size"}, {"points", {1, 2}}}}},
                                        {"seconds", {10e-6, 20e-6}},
                                        {"fit_error", 0},
                                        {"source", "assumption: made up for a test"}};
  const std::string file = ::testing::TempDir() + "profile-that-loads.json";
  std::ofstream(file) << profile;

  const Simulated run = simulated(
      experiment_with({"simulation.profile=\"" + file + "\"", "partition.parts=12",
                       R"(strategy={"type": "model_averaging", "interval": 1, "hops": 0})"}));

  for (const std::size_t epoch : {1, 2}) {
    double seconds = 0;
    for (const RankOutcome& rank : run.made.outcome.ranks)
      seconds += rank.epochs[epoch].breakdown.load;
    EXPECT_NEAR(seconds, 2000 * 24 * 10e-6, 0.01 * 2000 * 24 * 10e-6) << epoch;
  }
}

/// With one structure ahead, that of step i + 1 is drawn while step i computes.
TEST_F(Simulate, DrawingAheadIsBesideTheStepBefore) {
  const Experiment experiment =
      experiment_with({"simulation.profile=\"" + profile_that_draws() + "\"", "timeline.first=0",
                       "timeline.epochs=3", "cluster.gpus=2"});
  const ProblemData data = DatasetCache().load(experiment);
  const Problem problem = make_problem(experiment, data, make_partition(experiment, data));
  const testing::DrawnSteps strategy(problem, {.ahead = 1});
  Simulator simulator;

  const SimulatedOutcome out = simulate(TrainingBody(strategy, problem), experiment, simulator);

  const Timeline& timeline = out.outcome.ranks.front().timeline;
  double drawing = 0, beside = 0;
  for (const Span& draw : timeline.spans) {
    if (draw.lane != Lane::sampler) continue;
    EXPECT_GE(draw.end - draw.begin, 200e-6);
    if (!draw.phase.in_epoch()) continue;
    drawing += draw.end - draw.begin;
    for (const Span& step : timeline.spans)
      if (step.lane == Lane::compute)
        beside += std::max(0.0, std::min(draw.end, step.end) - std::max(draw.begin, step.begin));
  }
  EXPECT_GT(drawing, 3 * 200e-6);
  EXPECT_GT(beside, 0.1 * drawing);
  EXPECT_GT(out.outcome.ranks.front().epochs.back().breakdown.sample, 0);
}

TEST_F(Simulate, DrawingWithoutAPriceIsToldWithItsKey) {
  Json profile = profile_of_devices();
  profile["host"]["kinds"].erase("sample");
  const std::string file = ::testing::TempDir() + "profile-without-drawing.json";
  std::ofstream(file) << profile;
  const Experiment experiment =
      experiment_with({"simulation.profile=\"" + file + "\"", "cluster.gpus=2"});
  const ProblemData data = DatasetCache().load(experiment);
  const Problem problem = make_problem(experiment, data, make_partition(experiment, data));
  const testing::DrawnSteps strategy(problem, {.ahead = 1});
  Simulator simulator;

  try {
    simulate(TrainingBody(strategy, problem), experiment, simulator);
    ADD_FAILURE() << "drawing was free";
  } catch (const Uncalibrated& error) {
    EXPECT_NE(std::string(error.what()).find("host.kinds.sample"), std::string::npos)
        << error.what();
  }
}

/// An update takes a millisecond for a value, and three times as long in an epoch that loads batches.
TEST_F(Simulate, FactorsOfBatchesCountWhereAnEpochLoadsThem) {
  Json profile = profile_of_devices();
  profile["tables"]["adam"] = {{"axes", {{{"name", "size"}, {"points", {1, 2}}}}},
                               {"seconds", {1e-3, 2e-3}},
                               {"fit_error", 0},
                               {"source", "assumption: made up for a test"}};
  const auto update_of = [&](const Json& of, const std::string& strategy) {
    const std::string file = ::testing::TempDir() + "profile-of-batches.json";
    std::ofstream(file) << of;
    return simulated(experiment_with({"simulation.profile=\"" + file + "\"", "cluster.gpus=2",
                                      "strategy=" + strategy}))
        .measured.breakdown.compute_by_kind.at("adam");
  };
  const std::string batches = R"({"type": "mini_batch", "batch": 200, "fanouts": [5, 5]})",
                    graph = R"({"type": "spmm_1d"})";
  const double in_batches = update_of(profile, batches), on_graph = update_of(profile, graph);

  profile["in_batches"]["adam"] = {{"axes", {{{"name", "bytes"}, {"points", {1}}}}},
                                   {"factors", {3}},
                                   {"source", "assumption: made up for a test"}};

  EXPECT_NEAR(update_of(profile, batches) / in_batches, 3, 1e-6);
  EXPECT_NEAR(update_of(profile, graph) / on_graph, 1, 1e-9);
}

/// All neighbours of a batch of clusters are looked at, and have a price beside that of its edges.
TEST_F(Simulate, WhatIsLookedAtForTheEdgesOfClustersHasAPrice) {
  const Experiment experiment = experiment_with(
      {"cluster.gpus=2",
       R"(strategy={"type": "mini_batch", "sampler": "cluster", "clusters": 8, "together": 2})"});
  const PreparedExperiment prepared = prepare(experiment, DatasetCache().load(experiment));
  const SampledBatch batch = SampledBatches(*prepared.problem).batch(0, 0, 0);
  std::int64_t looked_at = 0;
  for (const Vertex v : *batch.vertices) looked_at += prepared.problem->data->graph->degree(v);

  const std::vector<HostWork> more = prepared.strategy->prepare(0, {0, 0})->work.more;

  ASSERT_EQ(more.size(), 1U);
  EXPECT_EQ(more[0].kind, "scan");
  EXPECT_EQ(more[0].items, looked_at);
  EXPECT_GT(looked_at, batch.edges);
  EXPECT_GT(batch.edges, 0);
}

TEST_F(Simulate, MachinesOfACpuClusterUseMpi) {
  for (const char* file : {"r5-16-25gbe", "r5dn-24xlarge-4", "xeon9242-64x2-hdr"})
    EXPECT_GT(epoch_of({fmt::format(R"(cluster={{"file": "{}", "servers": 2}})", file)}), 0)
        << file;
}

TEST_F(Simulate, MistakesAreToldBeforeAnythingIsReplayed) {
  EXPECT_THROW(epoch_of({"simulation.library=mpi"}), ConfigError) << "a GPU profile has nccl";
  EXPECT_THROW(epoch_of({"simulation.algorithm=rings"}), ConfigError);
  EXPECT_THROW(epoch_of({"simulation.profile=h100"}), ConfigError);
  EXPECT_THROW(epoch_of({"dataset={\"statistics\": {\"vertices\": 100, \"edges\": 400, "
                         "\"features\": 8, \"classes\": 2}}",
                         "strategy={\"type\": \"full_graph\"}"}),
               NeedsStructure);
}

/// A profile of peak figures is that of the whole processor. Ranks that divide its cores do not multiply
/// its rates.
TEST_F(Simulate, OfRanksOnOneProcessorSharesItsPeaks) {
  std::string name = (std::filesystem::path(::testing::TempDir()) / "orrery_XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(name.data());
  Json cluster = Json::parse(std::ifstream(ORRERY_SOURCES "/configs/clusters/r5-16-25gbe.json"));
  cluster["servers"]["value"] = 1;
  cluster["device_types"]["r5-16"]["cores"] = {{"value", 32}, {"source", "made up"}};
  cluster["server"].erase("host_cores");  // a machine that is a device has its own
  const std::string file = (folder / "cpu.json").string();
  std::ofstream(file) << cluster;
  const auto gemm_of = [&](int ranks) {
    return simulated(experiment_with(
                         {fmt::format(R"(cluster={{"file": "{}", "ranks": {}}})", file, ranks),
                          "model.hidden=1024", "strategy.type=full_graph"}))
        .measured.breakdown.compute_by_kind.at("gemm");
  };

  const double alone = gemm_of(1);
  for (const int ranks : {2, 8, 32}) EXPECT_GT(gemm_of(ranks), 0.9 * alone) << ranks;
  std::filesystem::remove_all(folder);
}

/// Sampled training on two servers of two GPUs, twenty steps an epoch.
Simulated sampled_with(const std::vector<std::string>& changes) {
  std::vector<std::string> all{
      R"(strategy={"type": "mini_batch", "batch": 15, "fanouts": [5, 5]})",
      R"(cluster={"file": "a6000-4x4-pcie", "servers": 2, "gpus_per_server": 2})"};
  all.insert(all.end(), changes.begin(), changes.end());
  return simulated(experiment_with(all));
}

/// A bootstrap of n steps from k drawn ones: the mean of the k is off by the spread of a step over √k, the
/// resampled steps by as much over √n.
TEST_F(Simulate, OfSomeDrawnBatchesTakesAsLongAsOfAll) {
  const Simulated all = sampled_with({});
  const double epoch = all.measured.epoch_seconds;
  EXPECT_FALSE(all.made.simulation.contains("batches"));

  const Simulated every = sampled_with({"simulation.batches=1000"});
  EXPECT_EQ(every.measured.epoch_seconds, epoch);
  EXPECT_EQ(every.made.simulation["batches"]["drawn"], every.made.simulation["batches"]["steps"]);

  for (const int drawn : {2, 4, 8}) {
    const Simulated some = sampled_with({fmt::format("simulation.batches={}", drawn)});
    const Json& told = some.made.simulation["batches"];
    const int steps = told["steps"];
    EXPECT_GE(told["drawn"], drawn);
    EXPECT_LE(told["drawn"], 2 * drawn) << "steps of the last seeds are another kind";
    const double error = told["standard_error"].get<double>();
    const double of_both = error * std::sqrt(1 + static_cast<double>(drawn) / steps);
    EXPECT_LT(error, 0.1);
    EXPECT_NEAR(some.measured.epoch_seconds, epoch, 4 * of_both * epoch) << drawn;
    EXPECT_NEAR(some.measured.epoch_seconds, epoch, 0.03 * epoch) << drawn;
    EXPECT_NE(some.measured.epoch_seconds, epoch) << drawn;
    EXPECT_EQ(sampled_with({fmt::format("simulation.batches={}", drawn)}).measured.epoch_seconds,
              some.measured.epoch_seconds);
  }
}

TEST(ResampledBatches, AreRefusedWhereTheyAreNotKnown) {
  const auto refusal = [](const std::vector<std::string>& changes) -> std::string {
    try {
      experiment_with(changes);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "accepted";
  };
  const std::string sampled = R"(strategy={"type": "mini_batch", "batch": 100, "fanouts": [5, 5]})";
  EXPECT_EQ(refusal({sampled, "simulation.batches=3"}), "accepted");
  EXPECT_EQ(refusal({"simulation.batches=3"}).find("simulation.batches: is of batches"), 0U);
  EXPECT_EQ(refusal({"simulation.accesses=true"}).find("simulation.accesses: is of batches"), 0U);
  EXPECT_NE(refusal({sampled, R"(strategy.cache={"policy": "lru", "bytes": 4096})",
                     "simulation.batches=3"})
                .find("all must be drawn"),
            std::string::npos);
  EXPECT_NE(refusal({sampled, "strategy.sizes=largest", "simulation.batches=3"}).find("none is"),
            std::string::npos);
  EXPECT_NE(refusal({sampled, "strategy.sizes=largest", "simulation.accesses=true"})
                .find("no batch is drawn"),
            std::string::npos);
}

}  // namespace
}  // namespace orrery
