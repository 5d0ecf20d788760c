// What a validation says: errors, correlation, classes, and the cluster that netcluster makes.
#include "experiments/run/validation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/cluster/routes.hpp"
#include "experiments/config/cluster_file.hpp"
#include "experiments/config/experiment.hpp"
#include "experiments/infer/inference_report.hpp"
#include "experiments/run/real_run.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

ValidationRow row(const std::string& label, double real, double simulated,
                  bool oversubscribed = false, bool used = false) {
  ValidationRow r;
  r.file = "f";
  r.label = label;
  r.backend = "threads";
  r.real_seconds = real;
  r.simulated_seconds = simulated;
  r.model_seconds = real;
  r.oversubscribed = oversubscribed;
  r.used_by_calibration = used;
  return r;
}

TEST(Errors, AreSignedAndTheirMeanIsOfAbsoluteValues) {
  const Json all = validation_json({row("seed=1", 10, 11), row("seed=2", 10, 7)});

  EXPECT_NEAR(all["rows"][0]["error"].get<double>(), 0.1, 1e-12);
  EXPECT_NEAR(all["rows"][1]["error"].get<double>(), -0.3, 1e-12);
  EXPECT_NEAR(all["mean_abs_error"].get<double>(), 0.2, 1e-12);
  EXPECT_NEAR(all["max_abs_error"].get<double>(), 0.3, 1e-12);
  EXPECT_NEAR(all["by_class"]["enough_cores"]["mean_error"].get<double>(), -0.1, 1e-12);
  EXPECT_TRUE(all["rank_correlation"].is_null()) << "no two strategies";
}

TEST(Errors, OfRunsBesideOtherWorkAreMarkedAndTheMarkIsExplained) {
  std::vector<ValidationRow> rows{row("seed=1", 10, 11), row("seed=2", 10, 7)};
  EXPECT_EQ(validation_text(rows, 200).find("(*)"), std::string::npos);

  rows[1].disturbed = true;
  const std::string text = validation_text(rows, 200);
  const Json all = validation_json(rows);

  EXPECT_NE(text.find("-30.0 % (*)"), std::string::npos) << text;
  EXPECT_EQ(text.find("+10.0 % (*)"), std::string::npos) << text;
  EXPECT_NE(text.find("in 1 of 2 rows, marked (*), other programs were at work"), std::string::npos)
      << text;
  EXPECT_FALSE(all["rows"][0]["disturbed"]);
  EXPECT_TRUE(all["rows"][1]["disturbed"]);
}

TEST(Errors, AreToldApartByClass) {
  const Json by_class = validation_json(
      {row("", 10, 11), row("", 10, 15, true), row("", 10, 12, false, true)})["by_class"];

  EXPECT_EQ(by_class["enough_cores"]["rows"], 2);
  EXPECT_NEAR(by_class["enough_cores"]["mean_abs_error"].get<double>(), 0.15, 1e-12);
  EXPECT_NEAR(by_class["oversubscribed"]["mean_abs_error"].get<double>(), 0.5, 1e-12);
  EXPECT_NEAR(by_class["held_out"]["mean_abs_error"].get<double>(), 0.1, 1e-12);
}

TEST(Repeats, ThatDoNotAgreeSayThatErrorsSayLittle) {
  std::vector<ValidationRow> rows(5, row("", 10, 11));
  EXPECT_TRUE(validation_json(rows)["repeats"].is_null()) << "nothing was repeated";
  EXPECT_EQ(validation_text(rows, 200).find("repeats"), std::string::npos);
  for (ValidationRow& r : rows) r.repeats = {10.2, 9.8, 10};  // 4.1 % apart
  rows[4].repeats = {10, 10.6, 10};
  EXPECT_NEAR(*rows[4].spread(), 0.06, 1e-12);

  const Json all = validation_json(rows);

  EXPECT_EQ(all["repeats"]["agree"], 4);
  EXPECT_TRUE(all["repeats"]["enough"]);
  EXPECT_EQ(all["by_class"]["agreeing"]["rows"], 4);
  const std::string text = validation_text(rows, 200);
  EXPECT_NE(text.find("repeats agree within 5 % in 4 of 5 rows (80 %)\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("10.00 s (runs 6 % apart)"), std::string::npos) << text;
  rows[3].repeats = {10, 12};
  EXPECT_FALSE(validation_json(rows)["repeats"]["enough"]);
  EXPECT_NE(validation_text(rows, 200).find("too unsteady"), std::string::npos);
}

TEST(Classes, ThatCancelShowBesideTheEpoch) {
  ValidationRow r = row("", 10, 10);
  r.real = {.spmm = 4, .gemm = 6};
  r.simulated = {.spmm = 6, .gemm = 4};

  EXPECT_NEAR(*r.classes_off(), 0.4, 1e-12);
  EXPECT_NEAR(validation_json({r})["rows"][0]["classes_off"].get<double>(), 0.4, 1e-12);
  EXPECT_NE(validation_text({r}, 200).find("40 %"), std::string::npos);
}

TEST(Stages, OfAnInferenceAreThoseThatBothSidesHave) {
  const auto result = [](double first, double second) {
    return Json{{"stages",
                 {{{"name", "read"}, {"seconds", 5.0}},
                  {{"name", "features"}, {"seconds", 7.0}},
                  {{"name", "layer 1"}, {"seconds", first}},
                  {{"name", "write"}, {"seconds", second}}}}};
  };
  Json simulated = result(2.2, 0.5);
  simulated["stages"].erase(0);
  ValidationRow inferred = row("inference.columns=2", 2.5, 2.7);
  inferred.stages = stages_of(result(2, 0.5), simulated);

  ASSERT_EQ(inferred.stages.size(), 2U);
  EXPECT_EQ(inferred.stages[0].name, "layer 1");
  const Json all = validation_json({inferred});
  EXPECT_TRUE(all["rows"][0]["classes"].is_null());
  EXPECT_NEAR(all["rows"][0]["stages"][0]["error"].get<double>(), 0.1, 1e-12);
  EXPECT_NEAR(all["mean_abs_error"].get<double>(), 0.08, 1e-12);
  const std::string text = validation_text({inferred}, 200);
  EXPECT_NE(text.find("inference.columns=2: layer 1"), std::string::npos) << text;
  EXPECT_EQ(text.find("by class"), std::string::npos) << "it has no classes: " << text;

  Json shorter = result(2, 0.5);
  shorter["stages"].erase(2);
  EXPECT_THROW(stages_of(shorter, simulated), Error);
}

TEST(Stages, LastUntilTheLastRankIsDone) {
  Outcome outcome;
  // Rank 1 is late with its features, and rank 0 waits for it in layer 1.
  for (const auto& [first, layer] : {std::pair(1.0, 5.0), std::pair(4.0, 2.0)}) {
    RankOutcome rank;
    rank.seconds_to_first_epoch = first;
    for (const double seconds : {layer, 3.0}) rank.epochs.emplace_back().seconds = seconds;
    outcome.ranks.push_back(rank);
  }

  EXPECT_EQ(slowest_seconds(outcome), (std::vector<double>{4, 2, 3}));
  EXPECT_EQ(slowest_seconds(outcome, 1), (std::vector<double>{4, 0, 2, 3}));
}

TEST(Intervals, AreCountedByWhetherTheyHoldTheRealEpoch) {
  std::vector<ValidationRow> rows{row("strategy.type=a", 10, 11), row("strategy.type=b", 10, 12),
                                  row("strategy.type=c", 10, 30)};
  rows[0].errors = rows[1].errors = EpochErrors{{"operations", 0.08}};  // ± 13 %
  EXPECT_TRUE(rows[0].covered());
  EXPECT_FALSE(rows[1].covered());
  EXPECT_FALSE(rows[2].covered()) << "it has none";

  const Json all = validation_json(rows);

  EXPECT_EQ(all["intervals"]["all"]["rows"], 2);
  EXPECT_EQ(all["intervals"]["held_out"]["covered"], 1);
  EXPECT_NEAR(all["intervals"]["all"]["median_half_width"].get<double>(), 1.645 * 0.08, 1e-4);
  EXPECT_TRUE(all["rows"][2]["half_width"].is_null());
  // Both are off by the same: a and b can be told apart.
  EXPECT_EQ(all["winner"]["cannot_tell"], 0);
  EXPECT_EQ(all["winner"]["as_fast"], 0);
  const std::string text = validation_text(rows, 200);
  EXPECT_NE(text.find("hold the real epoch of 1 of 2 (50 %"), std::string::npos) << text;
  EXPECT_NE(text.find("+20.0 % out"), std::string::npos) << text;

  rows[1].errors = EpochErrors{{"communication", 0.08}};
  EXPECT_EQ(validation_json(rows)["winner"]["cannot_tell"], 1);

  rows[1].errors = rows[0].errors;
  rows[1].simulated_seconds = 11.2;
  EXPECT_EQ(validation_json(rows)["winner"]["cannot_tell"], 0);
  EXPECT_EQ(validation_json(rows)["winner"]["as_fast"], 1);
}

TEST(RankCorrelation, IsSpearmans) {
  EXPECT_DOUBLE_EQ(*rank_correlation({1, 2, 3}, {10, 20, 30}), 1);
  EXPECT_DOUBLE_EQ(*rank_correlation({1, 2, 3}, {3, 2, 1}), -1);
  // 1 - 6·(1 + 1)/(4·15) without ties.
  EXPECT_DOUBLE_EQ(*rank_correlation({1, 2, 3, 4}, {1, 3, 2, 4}), 0.8);
  // Ranks 1.5 1.5 3 against 1 2 3: (0.5 + 0 + 1) / √(1.5·2).
  EXPECT_NEAR(*rank_correlation({5, 5, 9}, {1, 2, 3}), 1.5 / std::sqrt(3.0), 1e-12);
  EXPECT_FALSE(rank_correlation({1}, {1}));
  EXPECT_FALSE(rank_correlation({1, 1}, {1, 2}));
}

TEST(Strategies, AreComparedWhereAllElseIsEqual) {
  const std::vector<ValidationRow> rows{
      row("strategy.type=a, cluster.ranks=1", 1, 2), row("strategy.type=a, cluster.ranks=2", 5, 4),
      row("strategy.type=b, cluster.ranks=1", 2, 3), row("strategy.type=b, cluster.ranks=2", 4, 5)};

  const auto groups = strategy_groups(rows);
  const Json all = validation_json(rows);

  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0][1].label, "strategy.type=b, cluster.ranks=1");
  EXPECT_EQ(all["winner"]["groups"], 2);
  ASSERT_EQ(all["speedups"].size(), 2U) << "of each group's second over its first";
  const Json& one = all["speedups"][0];
  EXPECT_DOUBLE_EQ(one["error"].get<double>(),
                   one["simulated"].get<double>() / one["real"].get<double>() - 1);
  EXPECT_EQ(all["winner"]["right"], 1) << "of two ranks the other one wins";
  EXPECT_DOUBLE_EQ(all["rank_correlation"], 0);
}

TEST(Classes, SumToTheEpoch) {
  const Json result = {{"breakdown",
                        {{"compute", 6.0},
                         {"internal", 1.0},
                         {"external", 2.0},
                         {"synchronise", 0.5},
                         {"sample", 0.0},
                         {"load", 0.25},
                         {"other", 0.75},
                         {"hidden", 9.0}}},
                       {"compute_by_kind", {{"spmm", 3.0}, {"gemm", 2.0}, {"adam", 1.0}}}};

  const ClassSeconds c = class_seconds(result);

  EXPECT_EQ(c.spmm, 3);
  EXPECT_EQ(c.gemm, 2);
  EXPECT_EQ(c.other_compute, 1);
  EXPECT_EQ(c.communication, 3.5);
  EXPECT_EQ(c.other, 1);
}

/// A machine as orrery calibrate writes it.
Json machine(int cores) {
  const auto number = [](double value) { return Json{{"value", value}, {"source", "test"}}; };
  Json type{{"memory_bytes", {{"value", 1000}, {"source", "test"}}},
            {"memory_bytes_per_second", number(1e9)},
            {"flops_per_second", number(1e9)},
            {"cores", {{"value", cores}, {"source", "test"}}}};
  return {{"name", "m"},
          {"description", "test"},
          {"servers", {{"value", 1}, {"source", "test"}}},
          {"device_types", {{"m", type}}},
          {"link_types",
           {{"memory", {{"bytes_per_second", number(1e9)}, {"latency_seconds", number(0)}}}}},
          {"server", {{"source", "test"}, {"nodes", {{"cpu", "m"}}}, {"links", Json::array()}}}};
}

TEST(Netcluster, SharesTheMachineAmongServersWithLinksAsMeasured) {
  const Cluster cluster = make_cluster(netcluster_file(machine(4), 2, {1e8, 1e-5, 1.5e8}));

  EXPECT_EQ(cluster.servers(), 2);
  EXPECT_EQ(cluster.devices.size(), 2U);
  EXPECT_EQ(cluster.devices[0].cores, 2);
  EXPECT_EQ(cluster.devices[0].memory_bytes, 500);
  const Route route = Router(cluster).between(0, 1);
  EXPECT_DOUBLE_EQ(route.bytes_per_second, 1e8);
  EXPECT_DOUBLE_EQ(route.latency_seconds, 1e-5);
  for (const Hop& hop : route.hops)
    EXPECT_EQ(both_directions(cluster.links[static_cast<std::size_t>(hop.link)]), 1.5e8);
}

TEST(Netcluster, HasServersThatShareACoreIfThereAreMoreOfThem) {
  const Cluster cluster = make_cluster(netcluster_file(machine(2), 4, {1e8, 1e-5, 1.5e8}));

  EXPECT_EQ(cluster.servers(), 4);
  EXPECT_EQ(cluster.machines(), 2);
  EXPECT_EQ(cluster.devices[3].cores, 1);
  EXPECT_EQ(make_cluster(netcluster_file(machine(4), 2, {1e8, 1e-5, 1.5e8})).machines(), 2);
  EXPECT_THROW(netcluster_file(machine(2), 3, {1e8, 1e-5, 1.5e8}), ConfigError);
}

TEST(Netcluster, HasAProfileWithWhatItsLinksCostTheCores) {
  Json profile{{"name", "m"}, {"libraries", {{"mpi", {{"message_seconds", 1e-6}}}}}};
  const Json made = netcluster_profile(profile, {1e8, 1e-5, 1.5e8, 2e-9});

  EXPECT_EQ(made["libraries"]["mpi"]["core_seconds_per_byte"]["value"], 2e-9);
  profile["libraries"]["mpi"]["core_seconds_per_byte"] =
      made["libraries"]["mpi"]["core_seconds_per_byte"];
  EXPECT_EQ(made, profile) << "and nothing else changes";
}

TEST(Netcluster, TakesATotalBeyondWhatALinkCanHaveForNoise) {
  const auto total = [](double measured) {
    return both_directions(
        make_cluster(netcluster_file(machine(2), 2, {1e8, 1e-5, measured})).links.back());
  };

  EXPECT_EQ(total(0.98e8), 1e8);
  EXPECT_EQ(total(2.03e8), 2e8);
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  return files;
}

/// At least twelve, on both ways to run, at several rates, half of them unseen by calibration.
TEST(ValidationConfigs, CoverWhatTheyAreFor) {
  int files = 0, held_out = 0, threads = 0, mpi = 0;
  std::set<std::string> strategies, rates;
  std::set<int> ranks;
  for (const fs::path& file : files_in(ORRERY_SOURCES "/configs/validation")) {
    const auto all = load_experiments(file.string(), {});
    ++files;
    held_out += all.front().used_by_calibration ? 0 : 1;
    for (const Experiment& e : all) {
      threads += e.backend == "threads" ? 1 : 0;
      mpi += e.backend == "mpi" ? 1 : 0;
      strategies.insert(e.resolved["strategy"]["type"]);
      ranks.insert(e.ranks());
      if (!e.netcluster.empty()) {
        rates.insert(e.netcluster);
        EXPECT_EQ(e.backend, "mpi") << file;
        EXPECT_TRUE(e.resolved["cluster"].contains("servers")) << file;
      }
    }
  }

  EXPECT_GE(files, 12);
  EXPECT_GE(2 * held_out, files);
  EXPECT_GT(threads, 0);
  EXPECT_GT(mpi, 0);
  EXPECT_EQ(strategies.size(), 7U);
  EXPECT_GE(rates.size(), 2U);
  EXPECT_TRUE(ranks.contains(1) && ranks.contains(2) && ranks.contains(4));
}

/// What strategies may be asked to do, in the words of their settings, and on which ways to run.
std::set<std::string> settings_of(const Experiment& e) {
  std::set<std::string> words;
  const StrategyConfig& s = e.strategy;
  const auto add = [&](bool holds, const char* word) {
    if (holds) words.insert(word);
  };
  add(s.type == "model_averaging" && e.partition.parts > e.ranks(), "more parts than ranks");
  add(s.type == "model_averaging" && s.interval > 1, "an interval");
  add(s.type == "model_averaging" && s.hops == 3, "parts of three hops");
  add(s.boundary_sampling < 1, "boundary sampling");
  add(s.type == "full_graph" && s.staleness > 0, "staleness");
  add(s.type == "spmm_1d" && s.staleness > 0, "old rows of broadcasts");
  add(s.type == "shared_preloading" && s.depth.has_value(), "depth");
  add(s.batches > 1, "co-batches");
  add(s.sampling && s.sampling->expansion.hops == 3, "sampling of three hops");
  add(s.type == "mini_batch", "batches of drawn neighbours");
  add(e.inductive, "inductive");
  add(e.train.bucket_bytes > 0, "buckets");
  add(e.model.recompute > 0, "recompute");
  add(e.model.type == ModelType::resgcn && e.model.layers >= 28, "deep ResGCN+");
  return words;
}

/// Every setting that changes what a strategy does is held against a clock: among threads, among
/// processes and on shaped links. What needs several servers is held on shaped links alone.
TEST(ValidationConfigs, HoldEverySettingAgainstAClock) {
  std::map<std::string, std::set<std::string>> held;  // by way to run
  for (const fs::path& file : files_in(ORRERY_SOURCES "/configs/validation"))
    for (const Experiment& e : load_experiments(file.string(), {}))
      held[e.netcluster.empty() ? e.backend : "links"].merge(settings_of(e));

  const std::set<std::string> all{"an interval",
                                  "batches of drawn neighbours",
                                  "boundary sampling",
                                  "buckets",
                                  "co-batches",
                                  "deep ResGCN+",
                                  "depth",
                                  "inductive",
                                  "more parts than ranks",
                                  "old rows of broadcasts",
                                  "parts of three hops",
                                  "recompute",
                                  "sampling of three hops",
                                  "staleness"};
  std::set<std::string> of_one_server = all;
  for (const char* word : {"depth", "sampling of three hops"}) of_one_server.erase(word);
  for (const char* way : {"threads", "mpi"}) EXPECT_EQ(held[way], of_one_server) << way;
  EXPECT_EQ(held["links"], all);
}

/// At least eight that calibration does not see, of one rank and of ranks that share a GPU.
TEST(ValidationConfigs, OfAGpuAreOfRanksThatShareIt) {
  const auto files = files_in(ORRERY_SOURCES "/configs/validation/gpu");
  std::set<int> ranks;
  std::set<std::string> strategies;
  for (const fs::path& file : files)
    for (const Experiment& e : load_experiments(file.string(), {})) {
      EXPECT_EQ(e.kernels, "cuda") << file;
      EXPECT_EQ(e.backend, "threads") << file;
      EXPECT_FALSE(e.used_by_calibration) << file;
      ranks.insert(e.ranks());
      strategies.insert(e.resolved["strategy"]["type"]);
    }

  EXPECT_GE(files.size(), 8U);
  EXPECT_EQ(ranks, (std::set<int>{1, 2, 4}));
  EXPECT_GE(strategies.size(), 4U);
}

}  // namespace
}  // namespace orrery
