// The search for the fastest plan: its bound holds, and it finds what replaying all plans finds.
#include "experiments/advise/advise.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "core/base/error.hpp"
#include "core/strategy/config/strategy_info.hpp"
#include "experiments/advise/count_bounds.hpp"
#include "experiments/execute/measure.hpp"
#include "experiments/predict/simulate.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;

class Advise : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = (std::filesystem::path(::testing::TempDir()) / "advise.json").string();
    std::ofstream(file_) << R"({
      "name": "small", "seed": 3,
      "dataset": {"generate": "communities", "vertices": 1200, "edges": 9000, "features": 48},
      "model": {"type": "gcn", "layers": 3, "hidden": 16},
      "train": {"epochs": 3, "eval_every": 0},
      "cluster": {"file": "a6000-4x4-pcie", "servers": 2, "gpus_per_server": 2}})";
    try {
      Simulator simulator;
      DatasetCache datasets;
      advise(
          search_space(file_, {}, {{"strategy.type", {"full_graph"}}, {"model.order", {"auto"}}}),
          datasets, simulator, {.best = 1}, [](std::size_t) {});
    } catch (const NotBuilt& error) {
      GTEST_SKIP() << error.what();
    }
  }

  Advice found(const std::vector<std::string>& overrides, const std::vector<Axis>& axes,
               std::size_t best) {
    Simulator simulator;
    DatasetCache datasets;
    return advise(search_space(file_, overrides, axes), datasets, simulator,
                  {.best = best, .seconds = 600}, [](std::size_t) {});
  }

  std::string file_;
};

/// The plans of a space whose files can be read.
std::vector<Plan> loaded(const SearchSpace& space) {
  std::vector<Plan> plans;
  for (const PlanSketch& sketch : space.plans)
    if (auto plan = space.load(sketch); std::holds_alternative<Plan>(plan))
      plans.push_back(std::get<Plan>(std::move(plan)));
  return plans;
}

std::vector<std::pair<std::string, double>> times(const std::vector<RatedPlan>& plans) {
  std::vector<std::pair<std::string, double>> list;
  for (const RatedPlan& plan : plans) list.emplace_back(plan.plan.label, plan.epoch_seconds);
  return list;
}

const std::vector<Axis> kSmallSpace{{"model.order", {"aggregate_first", "transform_first"}},
                                    {"partition.method", {nullptr}},
                                    {"train.bucket_bytes", {nullptr}},
                                    {"cluster.gpus_per_server", {nullptr}}};

TEST_F(Advise, FindsWhatReplayingAllPlansFinds) {
  std::size_t by_counts = 0;
  // Links as they are, and so slow or fast that other plans lead.
  for (const std::string factors : {R"({})", R"({"pcie4-x16": 0.01})", R"({"ib-qdr": 1000})"}) {
    std::vector<std::string> overrides;
    if (factors != "{}") overrides.push_back("cluster.link_factors=" + factors);
    Advice all, quick;
    try {
      all = found(overrides, kSmallSpace, 1000);
      quick = found(overrides, kSmallSpace, 1);
    } catch (const ConfigError& error) {
      FAIL() << factors << ": " << error.what();
    }
    EXPECT_EQ(all.ruled_out + all.ruled_out_by_counts, 0U);
    ASSERT_GT(all.exact.size(), 5U);
    auto best = times(all.exact), best_inexact = times(all.others);
    best.resize(1);
    best_inexact.resize(1);
    EXPECT_EQ(times(quick.exact), best) << factors;
    EXPECT_EQ(times(quick.others), best_inexact) << factors;
    by_counts += quick.ruled_out_by_counts;
    for (const Advice* advice : {&all, &quick})
      EXPECT_EQ(advice->plans, advice->replayed + advice->ruled_out + advice->ruled_out_by_counts +
                                   advice->too_large.size() + advice->impossible.size());
  }
  EXPECT_GT(by_counts, 0U) << "closed forms never ruled anything out";
}

/// The mean epoch of a plan that is replayed by itself; nothing: it cannot be carried out.
std::optional<double> epoch_by_itself(const Plan& plan, DatasetCache& datasets,
                                      Simulator& simulator) {
  try {
    const PreparedExperiment prepared = prepare(plan.experiment, datasets.load(plan.experiment));
    const SimulatedOutcome made =
        replay(price_run(prepared), prepared.body(), plan.experiment, simulator);
    std::vector<std::vector<EpochCost>> costs;
    std::vector<Summary> summaries;
    for (const RankOutcome& rank : made.outcome.ranks) {
      costs.push_back(rank.epochs);
      summaries.push_back(rank.summary);
    }
    return measure(costs, summaries).mean_epoch_seconds;
  } catch (const Error&) {
    return std::nullopt;
  }
}

TEST_F(Advise, FindsTheFastestOfAllPlansThatAreReplayedOneByOne) {
  // Batches, samples, stale rows and fewer ranks among them; some of the plans have too little room.
  const std::vector<std::string> overrides{R"(model={"type": "sage", "layers": 2, "hidden": 24})",
                                           "cluster.device_bytes=700000", "dataset.features=32"};
  const std::vector<Axis> axes{{"model.order", {nullptr, "aggregate_first"}},
                               {"partition.method", {nullptr}},
                               {"train.bucket_bytes", {nullptr}}};
  const SearchSpace space = search_space(file_, overrides, axes);
  Simulator simulator;
  DatasetCache datasets;
  double exact = 1e9, other = 1e9;
  std::size_t possible = 0;
  for (const Plan& plan : loaded(space)) {
    const auto seconds = epoch_by_itself(plan, datasets, simulator);
    if (!seconds) continue;
    ++possible;
    const StrategyConfig& strategy = plan.experiment.strategy;
    double& least = has_whole_gradients(strategy) ? exact : other;
    least = std::min(least, *seconds);
  }

  const Advice advice = found(overrides, axes, 1);

  ASSERT_GT(possible, 10U);
  EXPECT_LT(possible, space.plans.size());
  ASSERT_FALSE(advice.exact.empty());
  ASSERT_FALSE(advice.others.empty());
  EXPECT_NEAR(advice.exact.front().epoch_seconds, exact, 1e-12);
  EXPECT_NEAR(advice.others.front().epoch_seconds, other, 1e-12);
  EXPECT_LT(advice.replayed, possible) << "nothing was ruled out";
}

TEST_F(Advise, NoReplayIsFasterThanItsComputationAlone) {
  const SearchSpace space = search_space(file_, {}, kSmallSpace);
  Simulator simulator;
  DatasetCache datasets;
  int compared = 0;
  bool some_are_near = false;
  for (const Plan& plan : loaded(space)) {
    std::optional<PreparedExperiment> prepared;
    try {
      prepared.emplace(prepare(plan.experiment, datasets.load(plan.experiment)));
    } catch (const ConfigError&) {
      continue;
    }
    const PricedRun run = price_run(*prepared);
    const double least = least_epoch_seconds(run);
    const SimulatedOutcome made = replay(run, prepared->body(), plan.experiment, simulator);
    for (std::size_t e = 1; e < made.outcome.ranks.front().epochs.size(); ++e) {
      double slowest = 0;
      for (const RankOutcome& rank : made.outcome.ranks)
        slowest = std::max(slowest, rank.epochs[e].seconds);
      EXPECT_GE(slowest, least) << plan.label;
      some_are_near |= slowest < 3 * least;
    }
    EXPECT_GT(least, 0) << plan.label;
    ++compared;
  }
  EXPECT_GT(compared, 8);
  EXPECT_TRUE(some_are_near);
}

TEST_F(Advise, NoReplayIsFasterThanItsClosedForm) {
  Simulator simulator;
  DatasetCache datasets;
  int near = 0, compared = 0;
  // Slow links, so that what is broadcast counts; layers of several kinds.
  for (const std::vector<std::string>& changed : std::vector<std::vector<std::string>>{
           {},
           {R"(cluster.link_factors={"ib-qdr": 0.01})"},
           {R"(cluster.link_factors={"pcie4-x16": 0.001})", "strategy.variant=column",
            "strategy.type=spmm_1d"},
           {R"(model={"type": "sage", "layers": 2, "hidden": 40})"},
           {R"(model={"type": "gat", "layers": 2, "hidden": 16, "heads": 2})"},
           {R"(model={"type": "resgcn+", "layers": 4, "hidden": 24})"}}) {
    CountBounds bounds;
    for (const Plan& plan : loaded(search_space(file_, changed, kSmallSpace))) {
      const ProblemData data = datasets.load(plan.experiment);
      const double least = bounds.least_epoch_seconds(plan.experiment, data);
      std::optional<PreparedExperiment> prepared;
      try {
        prepared.emplace(prepare(plan.experiment, data));
      } catch (const ConfigError&) {
        continue;
      }
      if (inexactness(prepared->experiment.strategy)) {
        EXPECT_EQ(least, 0) << plan.label;
      }
      if (least == 0) continue;
      const SimulatedOutcome made =
          replay(price_run(*prepared), prepared->body(), plan.experiment, simulator);
      for (std::size_t e = 1; e < made.outcome.ranks.front().epochs.size(); ++e) {
        double slowest = 0;
        for (const RankOutcome& rank : made.outcome.ranks)
          slowest = std::max(slowest, rank.epochs[e].seconds);
        EXPECT_GE(slowest, least) << plan.label;
        near += slowest < 5 * least ? 1 : 0;
      }
      ++compared;
    }
  }
  EXPECT_GT(compared, 30);
  EXPECT_GT(near, 3) << "bounds say nothing";
}

TEST_F(Advise, NeverProposesWhatDoesNotFit) {
  const Advice roomy = found({}, kSmallSpace, 1000);
  std::int64_t least = roomy.exact.front().peak_bytes;
  for (const RatedPlan& plan : roomy.exact) least = std::min(least, plan.peak_bytes);
  const Advice tight = found({"cluster.device_bytes=" + std::to_string(least)}, kSmallSpace, 1000);
  EXPECT_FALSE(tight.too_large.empty());
  ASSERT_FALSE(tight.exact.empty());
  for (const RatedPlan& plan : tight.exact) EXPECT_LE(plan.peak_bytes, least) << plan.plan.label;
}

TEST_F(Advise, PlansThatLearnSomethingElseStandApart) {
  const Advice advice = found({}, kSmallSpace, 1000);
  for (const RatedPlan& plan : advice.exact) EXPECT_FALSE(plan.difference) << plan.plan.label;
  ASSERT_FALSE(advice.others.empty());
  for (const RatedPlan& plan : advice.others) EXPECT_TRUE(plan.difference) << plan.plan.label;
}

TEST_F(Advise, SaysInWhatPlansAreInexact) {
  const auto said = [&](const std::string& type, const std::string& setting) {
    std::vector<std::string> overrides{"strategy.type=" + type, setting};
    const Advice advice = found(overrides,
                                {{"strategy.type", {type}},
                                 {"model.order", {"auto"}},
                                 {"strategy.sampling", {nullptr}},
                                 {"strategy.batches", {nullptr}},
                                 {"strategy.staleness", {nullptr}},
                                 {"strategy.interval", {nullptr}},
                                 {"strategy.boundary_sampling", {nullptr}},
                                 {"strategy.depth", {nullptr}},
                                 {"cluster.gpus_per_server", {2}}},
                                1);
    return advice.others.empty() ? "nothing" : advice.others.front().difference.value_or("nothing");
  };

  EXPECT_THAT(said("model_averaging", "strategy.interval=4"),
              HasSubstr("averaged in every 4 epochs"));
  EXPECT_THAT(said("model_averaging", "strategy.averaging=gradient"),
              HasSubstr("gradients are averaged"));
  EXPECT_THAT(said("shared_preloading", "strategy.batches=2"), HasSubstr("2 co-batches"));
  EXPECT_THAT(said("full_graph", "strategy.staleness=1"), HasSubstr("older"));
  EXPECT_THAT(said("full_graph", "strategy.boundary_sampling=0.5"), HasSubstr("drawn"));
  EXPECT_THAT(said("mini_batch", "strategy.fanouts=[4,4,4]"), HasSubstr("sampled neighbours"));
}

TEST_F(Advise, KeepsAPlanThatIsAskedFor) {
  const auto is_mine = [](const std::string& label) {
    return label.starts_with("strategy.type=spmm_1d") &&
           label.find("aggregate_first") != std::string::npos;
  };
  Simulator simulator;
  DatasetCache datasets;

  const Advice advice =
      advise(search_space(file_, {R"(cluster.link_factors={"ib-qdr": 0.01})"}, kSmallSpace),
             datasets, simulator, {.best = 1, .seconds = 600, .keep = is_mine}, [](std::size_t) {});

  ASSERT_TRUE(advice.kept);
  EXPECT_TRUE(is_mine(advice.kept->plan.label));
  EXPECT_GT(advice.kept->epoch_seconds, 2 * advice.exact.front().epoch_seconds)
      << "it would have been ruled out";
}

TEST_F(Advise, PlansOfAStrategyThatTakeAsLongAreToldAsOne) {
  // With 48 features and 16 wide layers "auto" multiplies by the weights first.
  const Advice advice =
      found({}, {{"strategy.type", {"spmm_1d"}}, {"model.order", {"auto", "transform_first"}}}, 10);
  std::size_t plans = 0;
  for (const RatedPlan& plan : advice.exact) {
    plans += 1 + plan.alike.size();
    EXPECT_FALSE(plan.alike.empty()) << plan.plan.label;
  }
  EXPECT_EQ(plans, advice.replayed);
  for (std::size_t i = 1; i < advice.exact.size(); ++i)
    EXPECT_GT(advice.exact[i].epoch_seconds, 1.01 * advice.exact[i - 1].epoch_seconds);
}

TEST_F(Advise, ATimeLimitLeavesPlansAndSaysSo) {
  Simulator simulator;
  DatasetCache datasets;
  SearchSpace space = search_space(file_, {}, kSmallSpace);
  const std::size_t plans = space.plans.size();
  const Advice advice =
      advise(std::move(space), datasets, simulator, {.seconds = 1e-9}, [](std::size_t) {});
  EXPECT_EQ(advice.not_tried, plans - 1);
  EXPECT_EQ(advice.replayed, 1U);
}

TEST_F(Advise, ASimulatorThatFailsMakesNoPlanImpossible) {
  const std::atomic<bool> stop = true;
  Simulator simulator(&stop);
  DatasetCache datasets;
  EXPECT_THROW(advise(search_space(file_, {}, kSmallSpace), datasets, simulator, {.best = 1},
                      [](std::size_t) {}),
               SimulatorFailed);
}

TEST_F(Advise, SettingsGoToTheStrategiesThatHaveThem) {
  const SearchSpace space =
      search_space(file_, {"strategy.type=shared_preloading", "strategy.overlap=false"},
                   {{"strategy.type", {"full_graph", "shared_preloading"}},
                    {"strategy.batches", {1, 2}},
                    {"strategy.sampling", {nullptr}},
                    {"strategy.boundary_sampling", {nullptr}},
                    {"strategy.staleness", {nullptr}},
                    {"cluster.gpus_per_server", {nullptr}}});
  std::size_t full = 0, preloading = 0;
  for (const Plan& plan : loaded(space)) {
    const Json& strategy = plan.experiment.resolved["strategy"];
    EXPECT_EQ(strategy["overlap"], false) << plan.label;
    const bool preloads = strategy["type"] == "shared_preloading";
    EXPECT_EQ(strategy.contains("batches"), preloads);
    ++(preloads ? preloading : full);
    EXPECT_FALSE(plan.file.contains("backend"));
  }
  EXPECT_EQ(full, 12U) << "three orders, two cuts, two ways to sum gradients";
  EXPECT_EQ(preloading, 12U * (3 + 1)) << "three depths, or two co-batches, which go with none";
  EXPECT_TRUE(space.impossible.empty());
}

TEST_F(Advise, SettingsThatSwitchNothingOnExcludeNoOthers) {
  const SearchSpace space = search_space(file_, {},
                                         {{"strategy.type", {"full_graph"}},
                                          {"model.order", {"auto"}},
                                          {"partition.method", {"block"}},
                                          {"train.bucket_bytes", {0}},
                                          {"cluster.gpus_per_server", {2}},
                                          {"strategy.boundary_sampling", {1, 0.1}},
                                          {"strategy.staleness", {0, 1}}});

  EXPECT_EQ(loaded(space).size(), 3U) << "as it is, drawn rows, stale rows, and not both";
}

TEST_F(Advise, SamplesBatchesAndHalvesOfTheRanksAreTriedByDefault) {
  const std::vector<Plan> plans = loaded(search_space(file_, {}, {}));
  const auto some = [&](auto&& has) { return std::any_of(plans.begin(), plans.end(), has); };
  const auto strategy_says = [&](const std::string& type, const std::string& key,
                                 const Json& value) {
    return some([&](const Plan& plan) {
      const Json& strategy = plan.experiment.resolved["strategy"];
      return strategy["type"] == type && strategy.value(key, Json()) == value;
    });
  };
  EXPECT_TRUE(strategy_says("mini_batch", "batch", 250));
  EXPECT_TRUE(strategy_says("mini_batch", "fanouts", Json{10, 10, 10}));
  EXPECT_TRUE(strategy_says("full_graph", "boundary_sampling", 0.1));
  EXPECT_TRUE(strategy_says("full_graph", "staleness", 1));
  EXPECT_TRUE(strategy_says("spmm_15d", "replication", 2));
  EXPECT_TRUE(some([](const Plan& plan) {
    return plan.experiment.resolved["strategy"]
               .value("sampling", Json::object())
               .value("fanout", 0) == 15;
  }));
  EXPECT_TRUE(some([](const Plan& plan) { return plan.experiment.ranks() == 2; }));
  // Each strategy once before any differs, those too that the file alone does not make complete.
  std::map<std::string, int> first;
  for (const PlanSketch& sketch : search_space(file_, {}, {}).plans)
    if (sketch.differing == 0) ++first[sketch.label.substr(0, sketch.label.find(','))];
  EXPECT_EQ(first["strategy.type=mini_batch"], 1);
  EXPECT_EQ(first["strategy.type=vertex_cut"], 1);
  for (const auto& [type, count] : first) EXPECT_EQ(count, 1) << type;
  // A strategy that the file's ranks do not allow is tried on fewer, and 16 ranks are halved again.
  const SearchSpace large =
      search_space(file_, {R"(cluster={"file": "dgx-1", "gpus": 8})", "train.epochs=20"},
                   {{"model.order", {nullptr}},
                    {"partition.method", {nullptr}},
                    {"train.bucket_bytes", {nullptr}}});
  std::map<std::string, std::set<int>> ranks;
  bool averages_rarely = false;
  for (const Plan& plan : loaded(large)) {
    ranks[plan.experiment.strategy.type].insert(plan.experiment.ranks());
    averages_rarely |= plan.experiment.strategy.interval == 10;
    EXPECT_FALSE(plan.experiment.strategy.sampling) << "one server has all vertices";
  }
  EXPECT_EQ(ranks["full_graph"], (std::set{1, 2, 4, 8}));
  EXPECT_EQ(ranks["spmm_1d"], (std::set{2, 4, 8}));
  EXPECT_EQ(ranks["spmm_2d"], (std::set{4}));
  EXPECT_TRUE(averages_rarely);
  for (const Plan& plan : plans)
    EXPECT_EQ(plan.experiment.strategy.interval, 1) << "a training of 3 epochs has no tenth";
  // A setting that the file has already is not tried as if it were another one; a strategy that
  // needs another cut gets it.
  for (const Plan& plan : loaded(search_space(file_, {"partition.method=metis"}, {})))
    EXPECT_EQ(plan.label.find("partition.method") != std::string::npos,
              plan.experiment.strategy.type == "vertex_cut")
        << plan.label;
}

TEST_F(Advise, AnswersThatNobodyCanTrainAreFilesOfSimulations) {
  const std::vector<Axis> axes{{"strategy.type", {"spmm_1d"}}, {"model.order", {"auto"}}};
  const auto backends = [&](const std::string& dataset) {
    std::set<Json> found;
    for (const Plan& plan : loaded(search_space(
             file_, {"dataset=" + dataset, "strategy.type=spmm_1d", "strategy.permute=true"},
             axes)))
      found.insert(plan.file.value("backend", Json(nullptr)));
    return found;
  };

  EXPECT_EQ(
      backends(R"({"statistics": {"vertices": 3000, "edges": 9000, "features": 8, "classes": 3}})"),
      (std::set<Json>{"sim"}));
  EXPECT_EQ(backends(R"({"generate": "rmat", "vertices": 3000, "edges": 9000})"),
            (std::set<Json>{nullptr}));
}

TEST_F(Advise, TellsIntervalsPricesAndLinks) {
  const std::string cluster =
      (std::filesystem::path(::testing::TempDir()) / "priced.json").string();
  Json priced = Json::parse(std::ifstream(ORRERY_SOURCES "/configs/clusters/a6000-4x4-pcie.json"));
  priced["server"]["usd_per_hour"] = {{"value", 7.2}, {"source", "made up"}};
  std::ofstream(cluster) << priced;

  const Advice advice = found({"cluster.file=" + cluster}, kSmallSpace, 3);

  ASSERT_FALSE(advice.exact.empty());
  for (const RatedPlan& plan : advice.exact) {
    ASSERT_TRUE(plan.errors) << "the profile says how far its prices are off";
    EXPECT_GT(half_width(*plan.errors), 0.01);
    EXPECT_NEAR(*plan.usd_per_epoch, 2 * 7.2 * plan.epoch_seconds / 3600, 1e-15) << "two servers";
    EXPECT_FALSE(plan.busiest_link.empty());
  }
  EXPECT_FALSE(found({}, kSmallSpace, 1).exact.front().usd_per_epoch) << "nobody says a price";
}

TEST_F(Advise, SaysWhatCannotBeAsked) {
  const auto refused = [&](const std::string& axis) {
    try {
      parse_axis(axis);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_THAT(refused("strategy.depth"), HasSubstr("KEY=VALUE"));
  EXPECT_THAT(refused("strategy.depth="), HasSubstr("KEY=VALUE"));
  EXPECT_THAT(refused("strategy.depth=1,,2"), HasSubstr("\"\""));
  EXPECT_THAT(refused("strategy.fanouts=[1]"), HasSubstr("expected numbers"));
  EXPECT_THAT(refused("partition.method=null"), HasSubstr("expected numbers"));
  EXPECT_THAT(refused("model.layers=2"), HasSubstr("model.layers"));
  EXPECT_EQ(parse_axis("cluster.gpus_per_server=2").values, (std::vector<Json>{2}));
  EXPECT_EQ(parse_axis("strategy.depth=1,fit,1").values, (std::vector<Json>{1, "fit"}));

  const auto space_of = [&](const std::vector<std::string>& overrides,
                            const std::vector<Axis>& axes) {
    try {
      search_space(file_, overrides, axes);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_THAT(space_of({R"(sweep={"seed": [3, 4]})"}, {}), HasSubstr("sweep"));
  EXPECT_THAT(space_of({R"(cluster={"ranks": 2})"}, {}), HasSubstr("cluster.file"));
  EXPECT_THAT(space_of({R"(inference={"rows": 2})"}, {}), HasSubstr("inference"));
  EXPECT_THAT(space_of({}, {{"model.order", {"auto"}}, {"model.order", {"auto"}}}),
              HasSubstr("twice"));
  EXPECT_THAT(space_of({}, {{"strategy.type", {"full_grahp"}}}), HasSubstr("full_graph"));
  EXPECT_THAT(space_of({}, {{"strategy.type", {1}}}), HasSubstr("expected names"));
  EXPECT_THAT(space_of({}, {{"strategy.type", {"full_graph"}}, {"strategy.replication", {2}}}),
              HasSubstr("no searched strategy"));
  std::vector<Json> many;
  for (int i = 1; i <= 20001; ++i) many.emplace_back(i);
  EXPECT_THAT(space_of({}, {{"strategy.batches", many}}), HasSubstr("more than 20000"));
  // Numbers beyond all bounds are refused like others.
  EXPECT_TRUE(
      loaded(search_space(file_, {}, {{"cluster.gpus", {Json(1e30), Json(99999999999)}}})).empty());
}

}  // namespace
}  // namespace orrery
