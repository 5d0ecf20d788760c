// Training from a folder of parts is training from the graph in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/base/error.hpp"
#include "core/model/layer_type.hpp"
#include "core/partition/parts/partitioned_dataset.hpp"
#include "core/partition/parts/write_parts.hpp"
#include "core/strategy/make_strategy.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/typed.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using testing::losses;
using testing::make_problem;
using testing::random_dataset;

class PartsOnDisk : public ::testing::TestWithParam<testing::NamedStrategy> {
 protected:
  PartsOnDisk() { fs::create_directories(folder_); }
  ~PartsOnDisk() override { fs::remove_all(folder_); }

  /// The same problem with its structure and data from a folder.
  Problem stored(Problem problem, int hops = 1) const {
    write_parts(*problem.data, problem.partition, {"test", {}, hops, true}, folder_ / "parts");
    problem.stored = std::make_shared<const PartitionedDataset>(folder_ / "parts");
    problem.data.reset();
    problem.partition.owner.clear();
    return problem;
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("orrery-parts-" + std::to_string(::getpid()));
};

TEST_P(PartsOnDisk, GiveTheSameLosses) {
  for (const bool symmetric : {true, false})
    for (const ModelType model : {ModelType::gcn, ModelType::sage}) {
      Problem whole = make_problem(random_dataset(70, 350, 12, 4, symmetric), 4, GetParam().config);
      whole.model.type = model;
      for (auto& owner : whole.partition.owner)  // an empty part
        if (owner == 1 && whole.partition.parts > 2) owner = 0;

      const auto expected = losses(testing::execute(whole));
      EXPECT_EQ(losses(testing::execute(stored(whole))), expected);
      EXPECT_EQ(losses(testing::execute(stored(whole, 3))), expected);
    }
}

INSTANTIATE_TEST_SUITE_P(All, PartsOnDisk,
                         ::testing::ValuesIn(testing::strategies_of_stored_parts()),
                         [](const auto& param) { return param.param.name; });

class PartsFolderTest : public PartsOnDisk {};
INSTANTIATE_TEST_SUITE_P(One, PartsFolderTest,
                         ::testing::Values(testing::all_strategies().front()));

TEST_P(PartsFolderTest, OfATypedGraphHaveItsRelations) {
  for (const bool symmetric : {true, false})
    for (const char* model : {"rgcn", "rgat"}) {
      Problem whole = testing::typed_problem(testing::typed_dataset(70, 500, 12, 4, symmetric), 3);
      whole.model.type = model_type(model);
      whole.model.self_by_type = true;
      if (whole.model.type == model_type("rgat")) whole.model.attention_dropout = 0.3;
      for (auto& owner : whole.partition.owner)  // an empty part
        if (owner == 1) owner = 0;

      const auto expected = losses(testing::execute(whole));
      EXPECT_EQ(losses(testing::execute(stored(whole))), expected) << model;
      EXPECT_EQ(losses(testing::execute(stored(whole, 2))), expected) << model;
    }
  Problem untyped = testing::typed_problem(random_dataset(70, 350, 12, 4, true), 3);
  untyped.model.type = ModelType::sage;
  Problem parts = stored(untyped);
  parts.model.type = model_type("rgcn");
  EXPECT_THAT(testing::refusal(parts), ::testing::HasSubstr("dataset.parts: have edges without"));
}

/// Replicas are in another order than in memory, so sums differ in rounding.
TEST_P(PartsFolderTest, OfAnyNumberServeModelAveraging) {
  for (const bool symmetric : {true, false})
    for (const int hops : {0, 1, 2, 3})
      for (const Averaging averaging : {Averaging::model, Averaging::gradient}) {
        StrategyConfig config;
        config.type = "model_averaging";
        config.parts = 5;
        config.workers = 2;
        config.hops = hops;
        config.averaging = averaging;
        config.degrees = hops == 2 ? Degrees::original : Degrees::part;
        config.interval = averaging == Averaging::model ? 3 : 1;
        Problem whole = make_problem(random_dataset(90, 350, 12, 4, symmetric), 2, config);

        const auto expected = losses(testing::execute(whole));
        const auto found = losses(testing::execute(stored(whole, hops)));

        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t i = 0; i < found.size(); ++i)
          EXPECT_NEAR(found[i], expected[i], 1e-4 * expected[i]) << hops << " hops, epoch " << i;
      }
}

TEST_P(PartsFolderTest, OfOneSidedCrossEdgesServeModelAveraging) {
  for (const bool symmetric : {true, false}) {
    StrategyConfig config;
    config.type = "model_averaging";
    config.parts = 5;
    config.workers = 2;
    config.hops = 0;
    config.cross_edges = CrossEdges::one_side;
    config.interval = 3;
    const Problem whole = make_problem(random_dataset(90, 350, 12, 4, symmetric), 2, config);
    Problem folder = whole;
    write_parts(*whole.data, whole.partition, {"test", {}, 0, true, whole.train.seed},
                folder_ / "parts");
    folder.stored = std::make_shared<const PartitionedDataset>(folder_ / "parts");
    folder.data.reset();
    folder.partition.owner.clear();

    const auto expected = losses(testing::execute(whole)), found = losses(testing::execute(folder));

    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], expected[i], 1e-4 * expected[i]) << "epoch " << i;
    for (const CrossEdges other : {CrossEdges::drop, CrossEdges::as_cut}) {
      folder.strategy.cross_edges = other;
      EXPECT_THROW(make_strategy(folder), ConfigError);
    }
  }
}

TEST_P(PartsFolderTest, SayWhatModelAveragingCannotHaveOfThem) {
  StrategyConfig config;
  config.type = "model_averaging";
  Problem other_hops = stored(make_problem(random_dataset(40, 150, 4, 3, true), 2, config), 2);
  Problem graph = stored(make_problem(random_dataset(40, 150, 4, 3, true), 2, config), 1);
  graph.strategy.evaluate_on = EvaluateOn::graph;

  EXPECT_THROW(make_strategy(other_hops), ConfigError);
  EXPECT_THROW(make_strategy(graph), ConfigError);
}

TEST_P(PartsFolderTest, RanksReadTheirOwnPartAlone) {
  Problem problem = stored(make_problem(random_dataset(60, 300, 8, 3, true), 3, "full_graph"));
  fs::remove_all(folder_ / "parts" / "part-00000");
  fs::remove_all(folder_ / "parts" / "part-00002");
  const auto source = partitioned_in_folder(problem.stored, problem.model);

  EXPECT_EQ(source->rows(1, Direction::forward).size(), 3U);
  EXPECT_THROW(source->rows(0, Direction::forward), DataError);
}

TEST_P(PartsFolderTest, PartsWithoutNeighboursAreRefused) {
  const Problem problem =
      stored(make_problem(random_dataset(60, 300, 8, 3, true), 3, "full_graph"), 0);

  EXPECT_THROW(partitioned_in_folder(problem.stored, problem.model), ConfigError);
}

TEST_P(PartsFolderTest, MultiLabelSetsWork) {
  auto data = std::make_shared<Dataset>(*random_dataset(40, 160, 8, 3, true));
  data->labels.multilabel = true;
  data->labels.values.clear();
  for (int i = 0; i < 40 * 3; ++i) data->labels.values.push_back(i * 7 % 5 < 2 ? 1 : 0);
  Problem whole = make_problem(data, 3, "full_graph");
  whole.train.loss = LossKind::sigmoid;

  EXPECT_EQ(losses(testing::execute(stored(whole))), losses(testing::execute(whole)));
}

TEST_P(PartsFolderTest, OnlyPartsAreReplaced) {
  const Problem p = make_problem(random_dataset(20, 60, 4, 2, true), 2, "full_graph");
  const auto write = [&](bool force) {
    write_parts(*p.data, p.partition, {"test", {}, 1, force}, folder_ / "other");
  };
  fs::create_directories(folder_ / "other");
  std::ofstream(folder_ / "other" / "meta.json") << "{}";

  EXPECT_THROW(write(false), DataError);
  EXPECT_THROW(write(true), DataError);
  fs::remove_all(folder_ / "other");
  write(false);
  EXPECT_THROW(write(false), DataError);
  EXPECT_NO_THROW(write(true));
}

TEST_P(PartsFolderTest, DamageIsToldByFile) {
  const Problem problem =
      stored(make_problem(random_dataset(60, 300, 8, 3, true), 3, "full_graph"));
  const auto part = folder_ / "parts" / "part-00001";
  const auto words_of = [&] {
    try {
      PartitionedDataset(folder_ / "parts").read(1);
    } catch (const DataError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };

  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(part)) names.push_back(entry.path().filename());
  ASSERT_GE(names.size(), 8U);  // edges, vertices, replicas, degrees, features, labels, split, meta
  for (const auto& name : names) {
    const auto bytes = fs::file_size(part / name);
    fs::copy_file(part / name, folder_ / "kept", fs::copy_options::overwrite_existing);
    fs::resize_file(part / name, bytes - 4);
    EXPECT_NE(words_of().find(name + ": is damaged"), std::string::npos) << words_of();
    fs::copy_file(folder_ / "kept", part / name, fs::copy_options::overwrite_existing);
    {
      std::fstream file(part / name, std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(static_cast<std::streamoff>(bytes) - 2);
      const char flipped = static_cast<char>(file.get() ^ 4);
      file.seekp(static_cast<std::streamoff>(bytes) - 2).put(flipped);
    }
    EXPECT_NE(words_of().find(name + ": is damaged"), std::string::npos) << words_of();
    fs::copy_file(folder_ / "kept", part / name, fs::copy_options::overwrite_existing);
  }
  EXPECT_EQ(words_of(), "accepted");
  std::string meta;
  {
    std::ifstream in(folder_ / "parts" / "meta.json");
    meta.assign(std::istreambuf_iterator<char>(in), {});
  }
  meta.replace(meta.find("\"hops\": 1"), 9, "\"hops\": 2");
  std::ofstream(folder_ / "parts" / "meta.json") << meta;
  EXPECT_NE(words_of().find("is damaged or was edited"), std::string::npos);
  std::ofstream(folder_ / "parts" / "meta.json") << "{\"format\": \"other\"}";
  EXPECT_NE(words_of().find("expected the meta.json of a folder of parts"), std::string::npos);
}

}  // namespace
}  // namespace orrery
