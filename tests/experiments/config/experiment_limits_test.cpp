// Experiment files at their limits: numbers, texts and sweeps beyond what a run can take.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/base/error.hpp"
#include "experiments/config/experiment.hpp"
#include "experiments/config/load_problem.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

const std::string kOnCora =
    R"({"name": "t", "dataset": {"path": "cora"}, "model": {"type": "gcn"},
        "strategy": {"type": "full_graph"}})";

std::vector<Experiment> parsed(const std::vector<std::string>& overrides,
                               const std::string& text = kOnCora) {
  return parse_experiments(text, "test.json", overrides);
}

/// The message that these overrides of the minimal file lead to; empty when they are accepted.
std::string problem(const std::vector<std::string>& overrides, const std::string& text = kOnCora) {
  try {
    parsed(overrides, text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

::testing::AssertionResult says(const std::string& message, const std::string& part) {
  if (message.find(part) != std::string::npos && message.find('\n') == std::string::npos)
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "\"" << message << "\" is no line with \"" << part << "\"";
}

TEST(Limits, NumbersBeyondTheirTypeAreRefused) {
  for (const char* key : {"model.hidden", "model.layers", "train.epochs", "train.eval_every",
                          "cluster.ranks", "cluster.device_bytes", "timeline.epochs",
                          "strategy.column_tiles", "dataset.features.random"})
    for (const char* value : {"18446744073709551615", "99999999999999999999999"})
      EXPECT_TRUE(says(problem({std::string(key) + "=" + value}), std::string(key) + ": found"));
  for (const char* key : {"vertices", "edges", "classes", "features"})
    EXPECT_TRUE(says(problem({"dataset={\"generate\": \"rmat\"}",
                              std::string("dataset.") + key + "=18446744073709551615"}),
                     std::string("dataset.") + key + ": found"));
}

TEST(Limits, WhatIsNoFiniteNumberIsRefused) {
  EXPECT_TRUE(says(problem({"train.learning_rate=NaN"}), "train.learning_rate: found \"NaN\""));
  EXPECT_TRUE(says(problem({"train.learning_rate=1e999"}), "train.learning_rate: found"));
  const std::string wanted = ": expected a number of 64 bits (up to 1.8e308), found ";
  EXPECT_EQ(problem({}, R"({"seed": 1e999})"), "test.json:byte 10, key seed" + wanted + "1e999");
  EXPECT_EQ(problem({}, "{\"name\": \"1e999\",\n \"train\": {\"learning_rate\": -1e999}}"),
            "test.json:byte 47, key train/learning_rate" + wanted + "-1e999");
}

TEST(Limits, SeedsAreWhatEveryJsonReaderHoldsExactly) {
  EXPECT_EQ(parsed({"seed=9007199254740992"}).front().train.seed, std::uint64_t{1} << 53U);
  EXPECT_TRUE(says(problem({"seed=18446744073709551615"}), "seed: found 18446744073709551615"));
}

TEST(Limits, RanksAreCountedOverAllServers) {
  EXPECT_TRUE(says(problem({"cluster.servers=1000", "cluster.ranks_per_server=1000"}),
                   "cluster: 1000 servers x 1000 ranks"));
}

TEST(Limits, OddTextIsRefusedInOneLine) {
  EXPECT_TRUE(says(problem({}, ""), "line 1, column 1"));
  EXPECT_TRUE(says(problem({}, "// a comment\n{}"), "line 1"));
  EXPECT_TRUE(says(problem({}, std::string(100000, '[')), "nested too deeply"));
  EXPECT_TRUE(says(problem({"name=\xff\xfe"}), "name: the value is not valid UTF-8"));
  EXPECT_TRUE(says(problem({"train..epochs=3"}), "is no key path"));
  EXPECT_TRUE(says(problem({"=3"}), "expected key.path=value"));
}

TEST(Limits, MalformedSweepsAreRefused) {
  EXPECT_TRUE(says(problem({"sweep=3"}), "sweep: found 3"));
  EXPECT_TRUE(says(problem({R"(sweep={"seed": []})"}), "sweep.seed: found []"));
  EXPECT_TRUE(says(problem({R"(sweep={"sweep": [{}]})"}), "sweep.sweep: "));
  EXPECT_TRUE(says(problem({R"(sweep={"seed": [1, 2, 1]})"}), "sweep.seed: holds 1 twice"));
}

TEST(Limits, MalformedCasesAreRefused) {
  const auto of = [](const std::string& cases, const std::string& beside = "") {
    return problem({R"(sweep={"cases": )" + cases + beside + "}"});
  };
  EXPECT_TRUE(says(of("3"), "sweep.cases: found 3"));
  EXPECT_TRUE(says(of("[3]"), "sweep.cases[0]: found 3, expected an object"));
  EXPECT_TRUE(says(of(R"([{"label": "a"}])"), "sweep.cases[0]: found"));
  EXPECT_TRUE(says(of(R"([{"label": 1, "seed": 1}])"), "sweep.cases[0].label: found 1"));
  EXPECT_TRUE(says(of(R"([{"sweep.seed": [1]}])"), "a case cannot have a sweep"));
  EXPECT_TRUE(says(of(R"([{"label": "a, b=2", "seed": 1}])"), "sweep.cases[0].label: found"));
  EXPECT_TRUE(says(of(R"([{"strategy": {}, "strategy.type": "spmm_1d"}])"),
                   "sweep.cases[0].strategy: undoes"));
  EXPECT_TRUE(says(of(R"([{"label": "a", "seed": 1}, {"label": "b", "seed": 1}])"),
                   "case=a and case=b are the same experiment"));
  EXPECT_TRUE(says(of(R"([{"label": "a", "seed": 1}, {"label": "a", "seed": 2}])"),
                   "sweep.cases[1]: a second case a"));
  EXPECT_TRUE(says(of(R"([{"strategy.type": "spmm_1d"}])", R"(, "strategy": [{}])"),
                   "sweep.strategy: a case sets strategy.type"));
  EXPECT_TRUE(says(problem({R"(sweep={"cases": [{"seed": 1}]})", "seed=3"}),
                   "seed would be undone by the sweep over seed; change sweep.cases"));
}

TEST(Limits, EveryFaultyKeyIsTold) {
  const std::string told = problem({"train.epochs=0", "model.hidden=x", "seeed=1"});

  for (const char* part :
       {"train.epochs: found 0", "model.hidden: found", "seeed: unknown key", "\nand 2 more:\n"})
    EXPECT_NE(told.find(part), std::string::npos) << part << " in " << told;
}

TEST(Limits, AFaultIsToldOnceAndWithItsMend) {
  EXPECT_TRUE(says(problem({R"(train.epochs="20")"}), "write it without quotes"));
  EXPECT_TRUE(says(problem({R"(train.learning_rate="5 ms")"}), "write the number alone"));
  // What goes with a value that is misspelt says nothing of its own.
  const std::string told =
      problem({R"(strategy={"type": "vertex_cuts", "delay": 2})", "partition.method=dbh"});
  EXPECT_NE(told.find("strategy.type: found"), std::string::npos) << told;
  EXPECT_EQ(told.find("strategy.delay"), std::string::npos) << told;
}

TEST(Limits, HugeSweepsAreRefusedBeforeTheyFillTheMemory) {
  Json sweep = Json::object();
  for (const char* key : {"seed", "train.epochs", "model.hidden", "model.layers"})
    for (int i = 1; i <= 100; ++i) sweep[key].push_back(i);

  EXPECT_TRUE(says(problem({"sweep=" + sweep.dump()}), "sweep: more than 10000 combinations"));
}

TEST(Override, OfASweepsListTakesItsWholeKeyPath) {
  const auto list = parsed({R"(sweep={"strategy.type": ["full_graph", "spmm_1d"]})",
                            R"(sweep.strategy.type=["spmm_1d"])"});

  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].label, "strategy.type=spmm_1d");
}

TEST(DegreeFile, TakesThePlaceOfVerticesEdgesAndExponent) {
  const std::string generated = R"(dataset={"generate": "bter", "degree_file": "d.txt"})";

  const Experiment e = parsed({generated}).front();

  EXPECT_EQ(e.dataset.degree_file, "d.txt");
  EXPECT_EQ(e.dataset.generate_vertices, 0);
  EXPECT_EQ(loading_words(e.dataset), "generating bter graph with the degrees of d.txt");
  EXPECT_EQ(parsed({}, e.resolved.dump()).front().resolved, e.resolved);
  EXPECT_TRUE(says(problem({generated, "dataset.vertices=10"}),
                   "dataset.vertices: does not go with \"degree_file\""));
  EXPECT_TRUE(says(problem({generated, "dataset.exponent=3"}),
                   "dataset.exponent: does not go with \"degree_file\""));
}

TEST(DatasetPath, BesideTheFileIsFoundAndStandsInTheResolvedFile) {
  std::string name = (std::filesystem::path(::testing::TempDir()) / "orrery_XXXXXX").string();
  ASSERT_NE(mkdtemp(name.data()), nullptr);
  const std::filesystem::path folder = name;
  std::filesystem::create_directories(folder / "my_graph");
  std::ofstream(folder / "e.json") << kOnCora;

  const auto found = load_experiments((folder / "e.json").string(), {"dataset.path=my_graph"});
  const auto bare = load_experiments((folder / "e.json").string(), {});

  EXPECT_TRUE(std::filesystem::equivalent(found.front().dataset.path, folder / "my_graph"));
  EXPECT_EQ(found.front().resolved["dataset"]["path"], found.front().dataset.path);
  EXPECT_EQ(bare.front().dataset.path, "cora");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace orrery
