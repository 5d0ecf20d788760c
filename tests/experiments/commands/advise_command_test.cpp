// `orrery advise`: what it prints and writes, and what it cannot be asked.
#include <gmock/gmock.h>

#include "experiments/config/validate_json.hpp"
#include "tests/experiments/commands/started_program.hpp"

namespace orrery {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;

class AdviseCommand : public testing::StartedProgram {
 protected:
  void SetUp() override {
    ASSERT_NE(orrery("version"), 127);
    if (read("out").find("SimGrid") == std::string::npos) GTEST_SKIP() << "no simulator is built";
  }
  std::string file() const {
    return experiment(R"(, "backend": "threads", "cluster": {"file": "dgx-1", "gpus": 4})");
  }
  const std::string few_ =
      "--search model.order=auto --search train.bucket_bytes=0 --search cluster.gpus=4 "
      "--no-what-if";
};

TEST_F(AdviseCommand, TellsTheFastestPlansAndWritesThem) {
  ASSERT_EQ(orrery(fmt::format("advise {} {} --best 2 --vary model.layers=2,4 --out {} --json",
                               file(), few_, in("plans").string())),
            0)
      << read("err");
  const Json told = Json::parse(read("out"));
  std::stringstream schema;
  schema << std::ifstream(ORRERY_SOURCES "/experiments/config/schemas/advice.json").rdbuf();
  EXPECT_NO_THROW(validate_against(schema.str(), told));
  const Json& best = told["answers"][0]["best"];
  ASSERT_EQ(told["answers"].size(), 3U);
  ASSERT_GE(best.size(), 2U);
  EXPECT_LE(best[0]["epoch_seconds"], best[1]["epoch_seconds"]);
  EXPECT_EQ(told["answers"][2]["setting"], "model.layers=4");
  EXPECT_GT(told["answers"][2]["best"][0]["epoch_seconds"],
            told["answers"][1]["best"][0]["epoch_seconds"]);
  // An answer is an experiment file, of the backend that was asked for, whose simulation takes as
  // long as was said.
  const Json written = json("plans/best-1.json");
  EXPECT_EQ(written["backend"], "threads");
  ASSERT_EQ(orrery(fmt::format("run {} --backend sim --json --quiet --out {}",
                               in("plans/best-1.json").string(), in("made").string())),
            0)
      << read("err");
  const Json& interval = best[0]["interval"];
  EXPECT_LT(interval["low_seconds"], best[0]["epoch_seconds"]);
  EXPECT_GT(interval["high_seconds"], best[0]["epoch_seconds"]);
  EXPECT_EQ(json("plans/advice.json"), told);
  EXPECT_NEAR(Json::parse(read("out"))["mean_epoch_seconds"].get<double>(),
              best[0]["epoch_seconds"].get<double>(), 1e-12);
}

TEST_F(AdviseCommand, PrintsTablesWithReasons) {
  ASSERT_EQ(orrery(fmt::format("advise {} {} --vary train.epochs=0,2", file(), few_)), 0)
      << read("err");
  const std::string out = read("out");
  EXPECT_THAT(out, HasSubstr("learn what whole-graph training learns"));
  EXPECT_THAT(out, HasSubstr("1. limited by"));
  EXPECT_THAT(out, HasSubstr("Closed forms"));
  EXPECT_THAT(out, HasSubstr("as it is"));
  EXPECT_THAT(out, HasSubstr("train.epochs=0"));  // refused, and the others are answered
  EXPECT_THAT(out, HasSubstr("simulated"));
}

TEST_F(AdviseCommand, AsksWhatWouldChangeTheOrder) {
  ASSERT_EQ(orrery(fmt::format("advise {} --search model.order=auto --search train.bucket_bytes=0 "
                               "--search strategy.type=full_graph,spmm_1d --json",
                               file())),
            0)
      << read("err");
  const Json answers = Json::parse(read("out"))["answers"];

  ASSERT_EQ(answers.size(), 4U);
  EXPECT_TRUE(answers[0]["what_if"].is_null());
  EXPECT_THAT(answers[1]["what_if"], HasSubstr("twice as fast"));
  EXPECT_THAT(answers[1]["setting"], HasSubstr("cluster.link_factors."));
  EXPECT_EQ(answers[2]["what_if"], "16.0 GiB more memory a device");
  EXPECT_EQ(answers[3]["what_if"], "half of the ranks");
  EXPECT_LE(answers[1]["best"][0]["epoch_seconds"], answers[0]["best"][0]["epoch_seconds"]);
  EXPECT_TRUE(answers[0]["same_plan"].is_null());
  // All plans have room already, so more of it changes nothing and is not searched.
  EXPECT_EQ(answers[2]["same_plan"], true);
  EXPECT_EQ(answers[2]["replayed"], 0);
  EXPECT_EQ(answers[2]["best"][0]["epoch_seconds"], answers[0]["best"][0]["epoch_seconds"]);
  // Half of the ranks, no fewer, are among what is searched anyhow.
  EXPECT_EQ(answers[3]["setting"], "cluster.gpus=2");
  EXPECT_GE(answers[3]["best"][0]["epoch_seconds"], answers[0]["best"][0]["epoch_seconds"]);
  EXPECT_THAT(answers[3]["best"][0]["plan"], HasSubstr("cluster.gpus=2"));
  for (std::size_t i : {1, 3}) {
    EXPECT_TRUE(answers[i]["same_plan"].is_boolean());
    EXPECT_GE(answers[i]["plan_as_is"]["epoch_seconds"], answers[i]["best"][0]["epoch_seconds"]);
  }
  for (const Json& answer : answers) EXPECT_TRUE(answer["failed"].is_null()) << answer["failed"];
}

TEST_F(AdviseCommand, ProposesNothingThatPlanRefuses) {
  ASSERT_EQ(orrery(fmt::format("advise {} {} --set backend=sim --set cluster.device_bytes=220000 "
                               "--best 50 --out {} --json",
                               file(), few_, in("tight").string())),
            0)
      << read("err");
  const Json refused = Json::parse(read("out"))["answers"][0]["refused"];
  EXPECT_TRUE(std::any_of(refused.begin(), refused.end(), [](const Json& plan) {
    return plan["too_large"] == true;
  })) << "all plans have room";

  int plans = 0;
  for (const auto& entry : std::filesystem::directory_iterator(in("tight"))) {
    if (entry.path().filename() == "advice.json") continue;
    EXPECT_EQ(orrery(fmt::format("plan {} --json", entry.path().string())), 0)
        << entry.path() << ": " << read("err");
    ++plans;
  }
  EXPECT_GT(plans, 3);
}

/// This machine, as a calibration that says nothing of its errors would describe it.
class AdviseHere : public AdviseCommand {
 protected:
  void SetUp() override {
    AdviseCommand::SetUp();
    const auto write = [&](const std::string& kind, const char* name, const auto& change) {
      Json file =
          Json::parse(std::ifstream(fmt::format(ORRERY_SOURCES "/configs/{}/{}.json", kind, name)));
      change(file);
      std::filesystem::create_directories(in("configs/" + kind));
      std::ofstream(in("configs/" + kind + "/this-machine.json")) << file;
    };
    write("clusters", "r5-16-25gbe", [](Json& cluster) {
      cluster["servers"]["value"] = 1;
      cluster["device_types"]["r5-16"]["cores"] = {{"value", 2}, {"source", "made up"}};
      cluster["device_types"]["r5-16"]["profile"] = "this-machine";
      cluster["server"].erase("host_cores");  // a machine that is a device has its own
    });
    write("devices", "r5-16", [](Json& profile) {
      profile.erase("errors");
      const Json mpi = profile["libraries"]["mpi"];
      profile["libraries"]["threads"] = mpi;
    });
  }
  int advise(const std::string& more, const std::string& arguments) const {
    return shell(fmt::format("cd '{}' && '{}' advise {} --measure --no-what-if {}",
                             folder_.string(), ORRERY_BINARY,
                             experiment(R"(, "train": {"epochs": 3}, )" + more), arguments));
  }
};

TEST_F(AdviseHere, NamesTheFastestMeasuredPlan) {
  ASSERT_EQ(advise(R"("backend": "threads", "cluster": {"ranks": 2})",
                   "--search strategy.type=full_graph,spmm_1d --search model.order=auto "
                   "--search train.bucket_bytes=0 --search partition.method=block "
                   "--search cluster.ranks=2 --out plans --json"),
            0)
      << read("err");
  const Json told = Json::parse(read("out"));
  std::stringstream schema;
  schema << std::ifstream(ORRERY_SOURCES "/experiments/config/schemas/advice.json").rdbuf();
  EXPECT_NO_THROW(validate_against(schema.str(), told));
  const Json& answer = told["answers"][0];
  ASSERT_EQ(answer["measuring"]["plans"], 2);
  EXPECT_GE(answer["measuring"]["turns"], 3);
  EXPECT_LE(answer["measuring"]["turns"], 9);
  EXPECT_GE(answer["measuring"]["in_all_turns"], 1);
  EXPECT_EQ(told["simulated"], false);
  const Json &first = answer["best"][0], &second = answer["best"][1];
  EXPECT_GT(first["measured_seconds"], 0);
  EXPECT_LE(first["measured_seconds"], second["measured_seconds"]);
  EXPECT_TRUE(first["verdict"].is_null());
  EXPECT_TRUE(second["verdict"] == "as_fast" || second["verdict"] == "apart") << second["verdict"];
  // The choice is a file that runs here as it was measured, without what described this machine.
  const Json written = json("plans/best-1.json");
  EXPECT_EQ(written["backend"], "threads");
  EXPECT_EQ(written["cluster"], Json::object({{"ranks", 2}}));
  EXPECT_EQ(written["train"]["epochs"], 3);
  EXPECT_FALSE(written.contains("simulation"));
  EXPECT_THAT(first["plan"], HasSubstr(written["strategy"]["type"].get<std::string>()));
  EXPECT_EQ(orrery(fmt::format("run {} --quiet --out {}", in("plans/best-1.json").string(),
                               in("made").string())),
            0)
      << read("err");

  ASSERT_EQ(advise(R"("backend": "threads", "cluster": {"ranks": 2})",
                   "--search strategy.type=full_graph,spmm_1d --search model.order=auto "
                   "--search cluster.ranks=2"),
            0)
      << read("err");
  EXPECT_THAT(read("out"), HasSubstr("measured"));
  EXPECT_THAT(read("out"), HasSubstr("Measured on this machine"));
}

TEST_F(AdviseHere, RefusesToMeasureWhatDoesNotRunHere) {
  const auto refused = [&](const std::string& more, const std::string& words) {
    EXPECT_EQ(advise(more, ""), 2) << more;
    EXPECT_THAT(read("err"), HasSubstr(words));
  };
  refused(R"("backend": "threads", "cluster": {"file": "dgx-1", "gpus": 4})",
          "describes another one, \"dgx-1\": leave cluster.file out");
  refused(R"("backend": "sim", "cluster": {"file": "this-machine", "ranks": 2})",
          "needs a backend that runs for real");
  refused(R"("cluster": {"servers": 2})", "validate.netcluster");
}

TEST_F(AdviseCommand, RefusesWhatItCannotAnswer) {
  const auto refused = [&](const std::string& more, const std::string& words) {
    EXPECT_EQ(orrery(fmt::format("advise {} {}", file(), more)), 2) << more;
    EXPECT_THAT(read("err"), HasSubstr(words));
  };
  refused("--search model.hidden=8", "model.hidden");
  refused("--vary strategy.type=spmm_1d", "use --search");
  refused("--search cluster.gpus=2 --vary cluster.gpus=4", "already searched");
  refused("--vary model.layers=", "KEY=VALUE");
  refused("--vary model.laiers=2,3", "Did you mean \"layers\"");
  refused("--best 0", "--best");
  refused("--seconds 0", "--seconds");
  refused("--set cluster.gpus=9", "cluster");
  refused("--out " + folder_.string(), "exists already");
  EXPECT_EQ(orrery("advise -"), 2);
  EXPECT_THAT(read("err"), HasSubstr("standard input"));
  // Nothing can be carried out: an error, with a reason.
  EXPECT_EQ(orrery(fmt::format("advise {} {} --set cluster.device_bytes=1000", file(), few_)), 1);
  EXPECT_THAT(read("err"), HasSubstr("none of"));
}

}  // namespace
}  // namespace orrery
