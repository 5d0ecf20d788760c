// The output of commands follows its schemas: every key is described, and of its type.
#include <gmock/gmock.h>

#include "core/base/error.hpp"
#include "experiments/config/validate_json.hpp"
#include "experiments/run/validation.hpp"
#include "tests/experiments/commands/started_program.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

class Schemas : public testing::StartedProgram {
 protected:
  static std::string schema(const std::string& name) {
    std::stringstream text;
    text << std::ifstream(
                fmt::format("{}/experiments/config/schemas/{}.json", ORRERY_SOURCES, name))
                .rdbuf();
    return text.str();
  }
  /// The one object that a command prints.
  Json printed(const std::string& arguments) const {
    EXPECT_EQ(orrery(arguments), 0) << arguments << "\n" << read("err");
    return Json::parse(read("out"));
  }
  std::string file() const { return experiment(R"(, "strategy": {"type": "full_graph"})"); }
};

TEST_F(Schemas, DescribeAResultOfEachBackend) {
  const std::string run = "run " + file() + " --quiet --json --set train.epochs=2 --out ";
  const std::string there = R"( --set 'cluster={"file": "dgx-1", "gpus": 2}')";

  const Json real = printed(run + in("real").string());
  const Json simulated = printed(run + in("sim").string() + " --backend sim" + there);
  const Json modelled =
      printed(run + in("model").string() + " --backend model --set strategy.type=spmm_1d" + there);
  const Json preloading =
      printed(run + in("preloading").string() +
              " --backend sim --set strategy.type=shared_preloading "
              R"(--set 'cluster={"file": "a6000-4x4-pcie", "servers": 2, "gpus_per_server": 2}')");

  for (const Json& result : {real, simulated, modelled, preloading, json("real/result.json")})
    EXPECT_NO_THROW(validate_against(schema("result"), result)) << result.dump(1);
}

TEST_F(Schemas, DescribeASweepAndWhatDoesNotFit) {
  const Json sweep = printed(
      "sweep " + file() +
      " --quiet --json --backend sim --set train.epochs=2 --set "
      R"('cluster={"file": "dgx-1", "gpus": 2}' --set 'sweep={"cluster.device_bytes": ["1 GiB", "64 KiB"]}')"
      " --out " +
      in("sweep").string());

  EXPECT_NO_THROW(validate_against(schema("result"), sweep)) << sweep.dump(1);
  ASSERT_EQ(sweep["sweep"].size(), 2U);
  EXPECT_TRUE(sweep["sweep"][1].contains("out_of_memory"));
  for (const Json& one : sweep["sweep"])
    EXPECT_NO_THROW(validate_against(schema("result"), one)) << one.dump(1);
  std::istringstream lines(read("sweep/results.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_EQ(Json::parse(line)["schema_version"], 1);
    EXPECT_EQ(Json::parse(line)["result"]["schema_version"], 1);
  }
}

TEST_F(Schemas, DescribeAPlan) {
  const Json plan = printed("plan " + file() + " --json");
  const Json tight = printed("plan " + file() + R"( --json --set 'cluster.device_bytes="64 KiB"')");

  EXPECT_NO_THROW(validate_against(schema("plan"), plan)) << plan.dump(1);
  EXPECT_NO_THROW(validate_against(schema("plan"), tight)) << tight.dump(1);
  EXPECT_TRUE(tight.contains("does_not_fit"));
  EXPECT_TRUE(plan["tiles"].is_null());
  const Json tiled = printed("plan " + file() + " --json --set strategy.type=spmm_1d");
  EXPECT_NO_THROW(validate_against(schema("plan"), tiled)) << tiled.dump(1);
  EXPECT_FALSE(tiled["tiles"].is_null());
}

TEST_F(Schemas, DescribeTheBatchThatFitsWhichARunTakes) {
  for (const std::string word : {"fit", "fit_drawn"}) {
    const std::string options =
        file() + " --json --set train.epochs=3 --set train.eval_every=0" +
        R"( --set 'cluster.device_bytes="128 KiB"' --set 'strategy={"type": "mini_batch", )" +
        R"("fanouts": [2, 2], "batch": ")" + word + "\"}'";
    const Json plan = printed("plan " + options);
    EXPECT_NO_THROW(validate_against(schema("plan"), plan)) << plan.dump(1);
    EXPECT_EQ(plan["fits"], true);
    EXPECT_GT(plan["batches"]["steps"], 1);

    printed("run " + options + " --quiet --out " + in(word).string());

    EXPECT_EQ(json(word + "/config.json")["strategy"]["batch"], plan["fitted"]["strategy.batch"]);
    // Complete, with a number where the file has a word; where numbers are made is no part of it.
    for (const std::string other : {"", " --set strategy.relabel=device"})
      printed("run " + options + other + " --quiet --resume --out " + in(word).string());
  }
  EXPECT_TRUE(printed("plan " + file() + " --json")["fitted"].is_null());
}

/// Rows of features that batches pull lie in the memory of hosts.
TEST_F(Schemas, DescribeWhatAPlanHoldsOnHosts) {
  const auto plan = [&](const char* host_bytes) {
    return printed(
        "plan " + file() + R"( --json --set 'strategy={"type": "mini_batch", "fanouts": [2, 2]}')" +
        R"( --set 'cluster={"file": "dgx-1", "gpus": 2, "host_bytes": )" + host_bytes + "}'");
  };
  const Json roomy = plan("\"1 GiB\""), tight = plan("100");
  for (const Json& one : {roomy, tight})
    EXPECT_NO_THROW(validate_against(schema("plan"), one)) << one.dump(1);
  const Json& host = roomy["host_memory"]["server_host"];
  EXPECT_GT(host["peak_bytes"], 0);
  EXPECT_EQ(host["room_bytes"], 1 << 29) << "two ranks share it";
  EXPECT_EQ(roomy["fits"], true);
  EXPECT_EQ(tight["fits"], false);
  EXPECT_EQ(tight["does_not_fit"], "store/features");
}

/// Whatever batches are of, there is a bound of their memory, and what does not fit is refused.
TEST_F(Schemas, APlanBoundsTheBatchesOfEveryOption) {
  for (const std::string option :
       {"--set strategy.cooperative=true", "--set strategy.learn_features=true",
        R"(--set 'links={"width": 8}')"}) {
    SCOPED_TRACE(option);
    const auto command = [&](std::int64_t device_bytes) {
      return fmt::format(
          R"(plan {} --set 'strategy={{"type": "mini_batch", "batch": 40, "fanouts": [2, 2]}}' )"
          R"(--set 'cluster={{"file": "dgx-1", "gpus": 2, "device_bytes": {}}}' {})",
          file(), device_bytes, option);
    };
    const Json roomy = printed(command(std::int64_t{1} << 30) + " --json");
    EXPECT_NO_THROW(validate_against(schema("plan"), roomy)) << roomy.dump(1);
    const Json& batches = roomy["batches"];
    std::int64_t drawn = 0;
    for (const Json& rank : roomy["ranks"])
      drawn = std::max(drawn, rank["peak_bytes"].get<std::int64_t>());
    const auto bound = batches["peak_bytes_bound"].get<std::int64_t>();
    EXPECT_LT(drawn, bound);
    for (const char* of : {"host_bytes", "pinned_bytes"})
      EXPECT_LE(batches["in_flight"][of]["drawn"], batches["in_flight"][of]["bound"]) << of;
    EXPECT_GT(batches["in_flight"]["host_bytes"]["drawn"], 0);
    EXPECT_EQ(roomy["fits"], true);

    EXPECT_EQ(orrery(command(bound)), 0);
    EXPECT_THAT(read("out"), ::testing::HasSubstr(", which fits too"));
    EXPECT_EQ(orrery(command(bound - 1)), 0);
    EXPECT_THAT(read("out"), ::testing::HasSubstr(", which does not fit"));
    const Json tight = printed(command(drawn - 1) + " --json");
    EXPECT_EQ(tight["fits"], false);
    EXPECT_TRUE(tight.contains("does_not_fit"));
  }
}

/// Each kind of host memory fits into a rank's share, but not all kinds of all ranks together.
TEST_F(Schemas, APlanRefusesWhatTheRanksOfAServerHoldTogether) {
  const auto plan = [&](std::int64_t host_bytes) {
    return printed(fmt::format(
        R"(plan {} --json --set 'strategy={{"type": "mini_batch", "fanouts": [2, 2]}}' )"
        R"(--set 'cluster={{"file": "dgx-1", "gpus": 2, "host_bytes": {}}}')",
        file(), host_bytes));
  };
  const Json roomy = plan(std::int64_t{1} << 30);
  const std::int64_t together = roomy["server_memory"]["peak_bytes"];
  std::int64_t of_largest = 0, largest_kind = 0;
  for (const auto& [kind, memory] : roomy["host_memory"].items()) {
    of_largest += memory["peak_bytes"].get<std::int64_t>();
    largest_kind = std::max(largest_kind, memory["peak_bytes"].get<std::int64_t>());
  }
  EXPECT_GT(roomy["host_memory"].size(), 1U) << "rows of features, and those on their way";
  EXPECT_EQ(roomy["server_memory"]["ranks"], 2);
  EXPECT_EQ(roomy["server_memory"]["room_bytes"], std::int64_t{1} << 30);
  const std::int64_t in_flight = roomy["batches"]["in_flight"]["host_bytes"]["drawn"];
  EXPECT_GT(together, of_largest + 2 * in_flight) << "both ranks count, and batches in flight";
  EXPECT_LE(together, 2 * (of_largest + in_flight));
  ASSERT_LT(2 * largest_kind, together - 1);

  const Json exact = plan(together), tight = plan(together - 1);
  EXPECT_EQ(exact["fits"], true);
  EXPECT_EQ(tight["fits"], false);
  for (const auto& [kind, memory] : tight["host_memory"].items())
    EXPECT_LE(memory["peak_bytes"], memory["room_bytes"]) << kind << " alone fits";
  for (const Json& one : {exact, tight})
    EXPECT_NO_THROW(validate_against(schema("plan"), one)) << one.dump(1);

  const auto text = [&](std::int64_t host_bytes) {
    EXPECT_EQ(orrery(fmt::format(
                  R"(plan {} --set 'strategy={{"type": "mini_batch", "fanouts": [2, 2]}}' )"
                  R"(--set 'cluster={{"file": "dgx-1", "gpus": 2, "host_bytes": {}}}')",
                  file(), host_bytes)),
              0);
    return read("out");
  };
  EXPECT_THAT(text(together - 1), ::testing::AllOf(::testing::HasSubstr("2 ranks of server 0 hold"),
                                                   ::testing::HasSubstr("does NOT fit into"),
                                                   ::testing::HasSubstr("use more servers")));

  const auto simulated = [&](std::int64_t host_bytes) {
    return orrery(fmt::format(
        R"(run {} --quiet --set backend=sim --set 'strategy={{"type": "mini_batch", "fanouts": [2, 2]}}' )"
        R"(--set 'cluster={{"file": "dgx-1", "gpus": 2, "host_bytes": {}}}' --out {})",
        file(), host_bytes, in(std::to_string(host_bytes)).string()));
  };
  EXPECT_EQ(simulated(together), 0) << read("err");
  EXPECT_EQ(simulated(together - 1), 1);
  EXPECT_THAT(read("err"),
              ::testing::AllOf(::testing::HasSubstr("2 ranks of server 0 hold"),
                               ::testing::HasSubstr("of batches that are prepared ahead"),
                               ::testing::HasSubstr("a shorter strategy.pipeline")));

  // A combination of a sweep that does not fit is a result, and the next one is simulated.
  EXPECT_EQ(
      orrery(fmt::format(
          R"(run {} --quiet --set backend=sim --set 'strategy={{"type": "mini_batch", "fanouts": [2, 2]}}' )"
          R"(--set 'cluster={{"file": "dgx-1", "gpus": 2}}' )"
          R"(--set 'sweep={{"cluster.host_bytes": [{}, {}]}}' --out {})",
          file(), together - 1, together, in("both").string())),
      0)
      << read("err");
  const Json both = Json::parse(read("both/sweep.json"))["sweep"];
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0]["out_of_memory"]["tensor"], "all ranks of server 0");
  EXPECT_EQ(both[0]["out_of_memory"]["capacity"], together - 1);
  EXPECT_GT(both[1]["epoch_seconds"], 0);
}

TEST_F(Schemas, DescribeAValidation) {
  ValidationRow row;
  row.file = "a";
  row.real_seconds = 2;
  row.simulated_seconds = 1;

  EXPECT_NO_THROW(validate_against(schema("validation"), validation_json({row})));
  EXPECT_NO_THROW(validate_against(schema("validation"), validation_json({})));
}

TEST_F(Schemas, DescribeAFigure) {
  if (std::system("python3 -c 'import matplotlib' 2>/dev/null || /usr/bin/python3 -c 'import "
                  "matplotlib' 2>/dev/null") != 0)
    GTEST_SKIP() << "matplotlib is missing: apt-get install python3-matplotlib";

  const Json figure = printed("figure mg-gcn/fig8 --json --out " + in("figure").string());

  EXPECT_NO_THROW(validate_against(schema("figure"), figure)) << figure.dump(1);
  EXPECT_NO_THROW(validate_against(schema("figure"), json("figure/figure.json")));
}

// A test that every output passes says nothing unless others fail.
TEST_F(Schemas, RefuseAKeyThatNobodyDescribesAndOneThatIsGone) {
  const Json plan = printed("plan " + file() + " --json");
  Json more = plan, less = plan, other = plan;
  more["ranks"][0]["flop"] = 1;
  less.erase("schema_version");
  other["fits"] = "yes";

  for (const Json& wrong : {more, less, other})
    EXPECT_THROW(validate_against(schema("plan"), wrong), ConfigError);
}

TEST_F(Schemas, AreOfTheVersionThatEveryObjectHas) {
  EXPECT_EQ(printed("cluster show dgx-1 --json")["schema_version"], 1);
  EXPECT_EQ(printed("dataset generate communities --vertices 50 --edges 100 --json --out " +
                    in("set").string())["schema_version"],
            1);
  EXPECT_EQ(printed("dataset info " + in("set").string() + " --json")["schema_version"], 1);
  EXPECT_EQ(json("set/meta.json")["schema_version"], 1);
  EXPECT_EQ(printed("partition " + in("set").string() + " --method block --parts 2 --json --out " +
                    in("parts").string())["schema_version"],
            1);
  EXPECT_EQ(json("parts/meta.json")["schema_version"], 2) << "the second format of parts";
  EXPECT_EQ(json("parts/part-00000/meta.json")["schema_version"], 1) << "a data set";
}

TEST_F(Schemas, HaveAPageThatIsCurrent) {
  EXPECT_EQ(shell(fmt::format("python3 -B '{}/docs/keys.py' --check", ORRERY_SOURCES)), 0)
      << read("err");
}

}  // namespace
}  // namespace orrery
