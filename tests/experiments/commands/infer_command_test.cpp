// `orrery infer` from files to files: what is in the embeddings, what is said of them, and what is
// not there when it fails.
#include <gmock/gmock.h>

#include <limits>
#include <map>
#include <set>

#include "core/base/index.hpp"
#include "core/graph/files/npy.hpp"
#include "experiments/config/validate_json.hpp"
#include "tests/experiments/commands/started_program.hpp"
#include "tests/support/mpirun.hpp"

namespace orrery {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

/// A data set in files, a model trained on it, and inferences with its weights.
class Infer : public testing::StartedProgram {
 protected:
  void SetUp() override {
    ASSERT_EQ(orrery("dataset generate communities --vertices 401 --edges 3000 --features 10 "
                     "--classes 5 --out " +
                     in("data").string()),
              0)
        << read("err");
    std::ofstream(in("e.json")) << R"({"name": "small", "seed": 5, "dataset": {"path": ")"
                                << in("data").string() << R"("},
        "model": {"type": "sage", "layers": 2, "hidden": 7, "dropout": 0.1},
        "strategy": {"type": "full_graph"},
        "train": {"epochs": 20, "learning_rate": 0.05, "checkpoint_every": 20}})";
    ASSERT_EQ(orrery("run " + file() + " --quiet --out " + in("trained").string()), 0)
        << read("err");
  }
  std::string file() const { return in("e.json").string(); }
  /// The arguments of an inference on this many tiles; `more`: further keys of the section.
  std::string arguments(int rows, int columns, const std::string& out,
                        const std::string& more = "") const {
    return fmt::format(
        "infer {} --set cluster.ranks={} --set 'inference={{\"weights\": \"{}\", \"rows\": {}, "
        "\"columns\": {}{}}}' --out {} --quiet --json",
        file(), rows * columns, in("trained").string(), rows, columns, more, in(out).string());
  }
  /// The words of an inference with settings that keeps what it has done; kernels add in a fixed order.
  std::vector<std::string> keeping(const std::vector<std::string>& settings) const {
    std::vector<std::string> words{"infer", file(),           "--quiet", "--keep-layers",
                                   "--set", "train.epochs=1", "--set",   "kernels=reference"};
    for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
    return words;
  }
  /// The same for orrery().
  static std::string in_quotes(const std::vector<std::string>& words) {
    std::string command;
    for (const std::string& word : words) command += " '" + word + "'";
    return command;
  }
  int made_ = 0;  ///< results so far
  /// What the neighbours that vertices [first, end) draw in two layers take: a number for each
  /// vertex, and for those with more neighbours than `fanout` as many places in each layer.
  std::int64_t drawn_bytes(std::int64_t first, std::int64_t end, std::int64_t fanout) const {
    const NpyArray edges(in("data/edges.npy"));
    const std::int64_t count = edges.shape()[1];
    const auto ends = edges.values<std::int32_t>({2, count});
    std::map<std::int32_t, std::set<std::int32_t>> neighbours;
    for (std::int64_t i = 0; i < count; ++i)
      if (ends[at(i)] != ends[at(count + i)]) neighbours[ends[at(count + i)]].insert(ends[at(i)]);
    std::int64_t longer = 0;
    for (const auto& [vertex, others] : neighbours)
      longer += vertex >= first && vertex < end && std::ssize(others) > fanout ? 1 : 0;
    return 4 * (end - first) + 4 * 2 * fanout * longer;
  }
  /// What two layers of `parts` parts take to be counted: a bit for each of 401 vertices, and eight
  /// bytes for each number that is counted; ranks that want whole rows count those, too.
  static std::int64_t counts_bytes(std::int64_t parts, std::int64_t layers) {
    return layers * ((401 + 7) / 8) + 8 * layers * (1 + 2 * parts * parts);
  }
  Json infer(int rows, int columns, const std::string& out, const std::string& more = "") const {
    EXPECT_EQ(orrery(arguments(rows, columns, out, more)), 0) << read("err");
    return Json::parse(read("out"));
  }
  /// The rows of all files, by vertex, as meta.json says.
  std::vector<std::vector<float>> embeddings(const std::string& out) const {
    const Json meta = json(out + "/embeddings/meta.json");
    std::vector<std::vector<float>> rows(meta["vertices"].get<std::size_t>());
    const auto columns = meta["columns"].get<std::int64_t>();
    for (const Json& part : meta["parts"]) {
      const NpyArray array(in(out) / "embeddings" / part["file"].get<std::string>());
      const auto values = array.values<float>({part["vertices"].get<std::int64_t>(), columns});
      for (std::int64_t i = 0; i < part["vertices"].get<std::int64_t>(); ++i) {
        auto& row = rows[static_cast<std::size_t>(part["first_vertex"].get<std::int64_t>() + i)];
        EXPECT_TRUE(row.empty()) << "a vertex is in two files";
        row.assign(values.begin() + i * columns, values.begin() + (i + 1) * columns);
      }
    }
    return rows;
  }
};

/// A second way: the classes that they give are right as often as the evaluation after the last
/// epoch said.
TEST_F(Infer, WritesWhatTheTrainingEvaluated) {
  infer(2, 3, "made");

  const auto rows = embeddings("made");
  const NpyArray labels(in("data") / "labels.npy");
  const auto label = labels.values<std::int32_t>({401});
  double right = 0;
  for (std::size_t v = 0; v < 401; ++v) {
    ASSERT_EQ(rows[v].size(), 5U);
    const auto best = std::max_element(rows[v].begin(), rows[v].end()) - rows[v].begin();
    right += best == label[v] ? 1 : 0;
  }
  std::istringstream log(read("trained/epochs.jsonl"));
  std::string last;
  for (std::string line; std::getline(log, line);) last = line;
  const Json evaluated = Json::parse(last);  // of 70, 15 and 15 % of the vertices
  EXPECT_GT(evaluated["test_accuracy"], 0.3) << "no more than a guess among five";
  EXPECT_NEAR(
      right,
      281 * evaluated["train_accuracy"].get<double>() +
          60 * (evaluated["val_accuracy"].get<double>() + evaluated["test_accuracy"].get<double>()),
      1e-6);
}

TEST_F(Infer, WritesTheSameOnAnyTilesAndReceivesWhatItPlans) {
  infer(1, 1, "one");
  const auto expected = embeddings("one");
  for (const auto& [rows, columns] : {std::pair{4, 1}, std::pair{1, 4}, std::pair{2, 3}})
    for (const char* more : {"", R"(, "group_bytes": 60, "gemm": "reduce")"}) {
      const std::string out = fmt::format("{}x{}{}", rows, columns, *more == 0 ? "" : "r");
      const Json result = infer(rows, columns, out, more);
      const auto found = embeddings(out);

      for (std::size_t v = 0; v < 401; ++v)
        for (std::size_t c = 0; c < 5; ++c) ASSERT_NEAR(found[v][c], expected[v][c], 1e-5) << out;
      EXPECT_GT(result["received_bytes"].get<double>(), 0);
      EXPECT_EQ(result["received_bytes"], result["planned_received_bytes"]) << out;
    }
}

/// Attention from a checkpoint, and products with the graph by Deal's rivals.
TEST_F(Infer, WritesTheSameByEveryProductAndPlansThoseOfAttention) {
  const std::string gat = R"( --set 'model={"type": "gat", "layers": 2, "hidden": 8, "heads": 2}')";
  ASSERT_EQ(orrery("run " + file() + gat + " --quiet --out " + in("gat").string()), 0)
      << read("err");
  const auto made = [&](bool attention, int rows, int columns, const std::string& more) {
    const std::string out = fmt::format("made{}", ++made_);
    EXPECT_EQ(orrery(arguments(rows, columns, out, more) +
                     (attention ? gat + " --set inference.weights=" + in("gat").string() : "")),
              0)
        << read("err");
    const Json result = Json::parse(read("out"));
    EXPECT_EQ(result["received_bytes"], result["planned_received_bytes"]) << more;
    return embeddings(out);
  };
  const auto near = [](const auto& found, const auto& expected) {
    for (std::size_t v = 0; v < 401; ++v)
      for (std::size_t c = 0; c < 5; ++c) ASSERT_NEAR(found[v][c], expected[v][c], 1e-5);
  };

  const auto weighed = made(true, 1, 1, ""), summed = made(false, 1, 1, "");
  for (const char* sddmm : {"split", "duplicated"})
    near(made(true, 2, 2, fmt::format(R"(, "sddmm": "{}")", sddmm)), weighed);
  for (const char* spmm : {"exchange_graph", "2d"})
    near(made(false, 3, 2, fmt::format(R"(, "spmm": "{}")", spmm)), summed);

  std::stringstream schema;
  schema << std::ifstream(ORRERY_SOURCES "/experiments/config/schemas/inference_plan.json").rdbuf();
  ASSERT_EQ(orrery(arguments(2, 2, "plan") + gat +
                   " --set inference.weights=" + in("gat").string() + " --plan"),
            0)
      << read("err");
  const Json plan = Json::parse(read("out"));
  EXPECT_NO_THROW(validate_against(schema.str(), plan));
  std::set<std::pair<int, std::string>> ways;
  for (const Json& choice : plan["choices"])
    ways.insert({choice["columns"], choice["sddmm"].get<std::string>()});
  EXPECT_EQ(ways,
            (std::set<std::pair<int, std::string>>{
                {1, "split"}, {2, "split"}, {2, "duplicated"}, {4, "split"}, {4, "duplicated"}}));
}

/// The growth of the process is at least what must stay: the graph's columns and offsets, and the
/// features.
TEST_F(Infer, TellsHowFarReadingLetTheProcessGrow) {
  ASSERT_EQ(orrery("dataset generate communities --vertices 40000 --edges 400000 --features 10 "
                   "--classes 5 --force --out " +
                   in("data").string()),
            0)
      << read("err");
  const double edges = static_cast<double>(NpyArray(in("data/edges.npy")).shape()[1]);

  const Json result = infer(2, 1, "made");

  ASSERT_TRUE(result["stages"][0]["peak_bytes"].is_number());
  const double kept = 4 * edges + 8 * 40001, peak = result["stages"][0]["peak_bytes"];
  EXPECT_GT(peak, 0.9 * kept);
  EXPECT_LT(peak, 100 * kept);
}

/// Beside an inference in another way and beside one in the planner's own.
TEST_F(Infer, SaysWhichWayReceivesFewestBytes) {
  const auto without_quiet = [&](int rows, int columns, const std::string& out,
                                 const std::string& more) {
    std::string words = arguments(rows, columns, out, more);
    words.resize(words.find(" --quiet"));
    EXPECT_EQ(orrery(words), 0) << read("err");
    return read("out");
  };
  ASSERT_EQ(orrery(arguments(1, 4, "plan") + " --plan"), 0) << read("err");
  const Json best = Json::parse(read("out"))["choices"][0];
  const std::string other = R"(, "spmm": "2d", "gemm": "reduce")";

  const std::string told = without_quiet(2, 2, "other", other);
  const std::string own =
      without_quiet(best["rows"], best["columns"], "own",
                    fmt::format(R"(, "spmm": "{}", "gemm": "{}")", best["spmm"].get<std::string>(),
                                best["gemm"].get<std::string>()));

  const std::string tiles = fmt::format("{} x {} with ids_then_rows", best["rows"].get<int>(),
                                        best["columns"].get<int>());
  EXPECT_THAT(told, HasSubstr("\nfewest bytes: " + tiles));
  EXPECT_THAT(told, HasSubstr(" (this run: 2 x 2 with 2d, reduce, "));
  EXPECT_THAT(own, HasSubstr("\nfewest bytes: this run's " + tiles));
  const Json result = json("other/result.json")["fewest_bytes"];
  for (const char* key : {"rows", "columns", "spmm", "received_bytes", "peak_bytes"})
    EXPECT_EQ(result[key], best[key]) << key;
  EXPECT_EQ(result["this_run"]["received_bytes"], json("other/result.json")["received_bytes"]);
}

TEST_F(Infer, CountsNoOtherWaysWhereThatTakesLong) {
  const Json result = infer(17, 1, "made");

  EXPECT_TRUE(result["fewest_bytes"].is_null());
}

TEST_F(Infer, TellsOfItsStagesAsItsSchemaSays) {
  std::stringstream schema;
  schema << std::ifstream(ORRERY_SOURCES "/experiments/config/schemas/inference.json").rdbuf();
  const Json result = infer(2, 2, "real", R"(, "fanout": 3)");
  const std::string there = R"( --backend sim --set 'cluster={"file": "dgx-1", "gpus": 4}')";
  ASSERT_EQ(orrery(arguments(2, 2, "sim", R"(, "fanout": 3)") + there), 0) << read("err");
  const Json simulated = Json::parse(read("out"));

  for (const Json& one : {result, simulated, json("real/result.json")})
    EXPECT_NO_THROW(validate_against(schema.str(), one)) << one.dump(1);
  std::vector<std::string> names;
  for (const Json& stage : result["stages"]) names.push_back(stage["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"read", "sample", "features", "layer 1", "layer 2",
                                             "write"}));
  EXPECT_EQ(result["stages"][0]["received_bytes"], 0) << "one process read all";
  EXPECT_EQ(result["stages"][1]["received_bytes"], 0);
  EXPECT_GE(result["stages"][0]["peak_bytes"], 0);
  EXPECT_EQ(result["stages"][1]["peak_bytes"], drawn_bytes(0, 401, 3) + counts_bytes(2, 2));
  EXPECT_LE(result["neighbours"][0], 3 * 401);
  EXPECT_FALSE(std::filesystem::exists(in("sim/embeddings")));
  EXPECT_EQ(simulated["planned_received_bytes"], result["planned_received_bytes"]);
  EXPECT_EQ(simulated["peak_bytes"], result["peak_bytes"]);
  for (const Json& stage : simulated["stages"])
    if (stage["name"] != "features") {
      EXPECT_GT(stage["seconds"].get<double>(), 0) << stage["name"];
    }
}

TEST_F(Infer, TrainsFirstWhereThereAreNoWeights) {
  ASSERT_EQ(orrery("infer " + file() + " --quiet --out " + in("all").string()), 0) << read("err");
  infer(1, 1, "later");

  EXPECT_EQ(read("all/embeddings/part-0000.npy"), read("later/embeddings/part-0000.npy"));
  EXPECT_EQ(json("all/training/result.json")["loss"], json("trained/result.json")["loss"]);
}

/// The data that it was trained on say how many columns there are.
TEST_F(Infer, TakesWeightsOfOneLayerThatIsNotNormalised) {
  const std::string one =
      " --set model.layers=1 --set model.batch_norm=true --set train.optimizer=sgd";
  ASSERT_EQ(orrery("run " + file() + one + " --quiet --out " + in("one").string()), 0)
      << read("err");
  EXPECT_EQ(
      orrery(fmt::format("infer {}{} --set 'inference={{\"weights\": \"{}\"}}' --out {} --quiet",
                         file(), one, in("one").string(), in("made").string())),
      0)
      << read("err");
}

TEST_F(Infer, NeedsNoLabels) {
  infer(2, 1, "labelled");
  std::filesystem::remove(in("data/labels.npy"));
  Json meta = json("data/meta.json");
  meta["has_labels"] = false;
  std::ofstream(in("data/meta.json")) << meta.dump();

  infer(2, 1, "unlabelled");

  EXPECT_EQ(read("unlabelled/embeddings/part-0001.npy"), read("labelled/embeddings/part-0001.npy"));
  EXPECT_EQ(orrery("infer " + file() +
                   " --backend sim --set 'cluster={\"file\": \"dgx-1\", \"gpus\": 2}' --out " +
                   in("sim").string()),
            2);
  EXPECT_THAT(read("err"), HasSubstr("name inference.weights"));
  EXPECT_EQ(orrery("infer " + file() + " --plan"), 0) << "the layout may be chosen before";
  EXPECT_THAT(read("err"), HasSubstr("counted with 7, as model.hidden"));
}

TEST_F(Infer, NeedsFeatures) {
  std::filesystem::remove(in("data/features.npy"));
  Json meta = json("data/meta.json");
  meta["feature_storage"] = {{"kind", "absent"}};
  std::ofstream(in("data/meta.json")) << meta.dump();

  for (const char* more : {"", " --plan"}) {
    EXPECT_EQ(orrery(arguments(2, 1, "made") + more), 2) << more;
    EXPECT_THAT(read("err"), HasSubstr("has no features; set it to {\"random\": width}"));
  }
}

TEST_F(Infer, LeavesNoEmbeddingsWhereADiskIsFull) {
  const int status =
      shell(fmt::format("ulimit -f 4; '{}' {}", ORRERY_BINARY, arguments(1, 2, "full")));

  EXPECT_EQ(status, 1);
  EXPECT_THAT(read("err"), HasSubstr("part-000"));
  for (const auto& entry : std::filesystem::directory_iterator(in("full")))
    EXPECT_EQ(entry.path().filename().string().find("embeddings"), std::string::npos)
        << entry.path();
}

TEST_F(Infer, RefusesWhatDoesNotFit) {
  const auto refused = [&](const std::string& command, const std::string& words) {
    EXPECT_EQ(orrery(command), 2) << command;
    EXPECT_THAT(read("err"), HasSubstr(words));
  };
  const std::string one = arguments(1, 1, "made");
  refused(one + " --set cluster.ranks=3", "1 rows times 1 columns are 1 tiles");
  refused(one + " --set model.hidden=9", "model.hidden: is 9 here, but 7 in");
  refused(one + " --set inference.weights=nowhere", "name a checkpoint, or the folder of a run");
  refused(one + " --set inference.fanout=0", "expected -1 (all neighbours) or at least 1");
  refused(one + R"( --set 'model={"type": "sgc", "layers": 2}')", "no \"sgc\"");
  refused(one + " --set inference.sddmm=split", "not to \"sage\"");
  refused(
      one + R"( --set 'model={"type": "gat", "hidden": 8, "heads": 2}' --set inference.spmm=2d)",
      "has only ids_then_rows");
  refused(one + " --set inference.spmm=exchange_graph --set inference.group_bytes=60",
          "fetches none");
  refused(one + R"( --backend model --set 'cluster={"file": "dgx-1", "gpus": 1}')",
          "threads, mpi or sim");
  refused(one + " --set 'sweep={\"seed\": [1, 2]}'", "choose a combination");
  refused(one + " --backend mpi --set cluster.ranks=2 --set inference.rows=2", "orrery infer");
  refused(one + " --backend mpi", "orrery infer");
  refused(one + R"( --keep-layers --backend sim --set 'cluster={"file": "dgx-1", "gpus": 1}')",
          "computes no layers");
  refused(one + " --plan --resume", "--plan");
  EXPECT_EQ(orrery(one + " --set cluster.device_bytes=5000"), 1);
  EXPECT_THAT(read("err"), HasSubstr("orrery infer --plan shows"));
  EXPECT_EQ(orrery(one), 0) << read("err");
  EXPECT_EQ(orrery(one), 1) << "a result is there";
  EXPECT_EQ(orrery(one + " --force"), 0) << read("err");
}

/// 15 more features take as many weights as 14 more classes.
TEST_F(Infer, RefusesWeightsOfOtherFeaturesAlsoWhereTheirNumberFits) {
  ASSERT_EQ(orrery("run " + file() + R"( --set 'dataset.features={"random": 25}' --quiet --out )" +
                   in("wide").string()),
            0)
      << read("err");

  EXPECT_EQ(orrery(arguments(1, 1, "made") + " --set inference.weights=" + in("wide").string()), 2);
  EXPECT_THAT(read("err"),
              HasSubstr("was trained with 25 feature columns, but the data set has 10"));
}

TEST_F(Infer, ReplacesAResultOnlyWhenItCanMakeAnother) {
  infer(2, 1, "made");
  const std::string before = read("made/result.json"), again = arguments(2, 1, "made") + " --force";
  for (const char* wrong : {" --set model.hidden=9", " --set cluster.device_bytes=5000",
                            " --set dataset.path=nowhere", " --set inference.fanout=0"}) {
    EXPECT_NE(orrery(again + wrong), 0) << wrong;
    EXPECT_EQ(read("made/result.json"), before) << wrong;
    EXPECT_TRUE(std::filesystem::exists(in("made/embeddings/meta.json"))) << wrong;
  }
}

TEST_F(Infer, AdvisesAgainstTooLittleMemoryAndOnMpirunWithAllThatWasAsked) {
  EXPECT_EQ(orrery("infer " + file() +
                   " --set model.hidden=16000000 --set 'dataset={\"generate\": "
                   "\"communities\", \"vertices\": 100000, \"edges\": 200000}' --out " +
                   in("m").string()),
            1);
  EXPECT_THAT(read("err"), HasSubstr("orrery infer --plan shows what each layout holds"));
  EXPECT_FALSE(std::filesystem::exists(in("m"))) << "nothing was trained for it";

  EXPECT_EQ(orrery(arguments(2, 1, "made") + " --backend mpi --keep-layers --anyway"), 2);
  for (const char* asked : {"--anyway", "--keep-layers", "--json", "--quiet"})
    EXPECT_THAT(read("err"), HasSubstr(asked));
}

/// 111 million vertices by their counts.
TEST_F(Infer, SimulatesAGraphThatIsGivenByItsStatistics) {
  const std::string papers = "infer '" ORRERY_SOURCES
                             "/configs/inference/papers100m.json' --quiet "
                             "--json --set cluster.servers=8 --out " +
                             in("papers").string();
  ASSERT_EQ(orrery(papers), 0) << read("err");
  const Json result = Json::parse(read("out"));
  std::stringstream schema;
  schema << std::ifstream(ORRERY_SOURCES "/experiments/config/schemas/inference.json").rdbuf();

  EXPECT_NO_THROW(validate_against(schema.str(), result));
  EXPECT_EQ(result["vertices"], 111059956);
  EXPECT_EQ(result["neighbours"][0], 1615685872);
  EXPECT_GT(result["seconds"], 0);
  ASSERT_EQ(orrery(papers + " --force --set inference.preparation=redistribute"), 0) << read("err");
  const Json in_files = Json::parse(read("out"));
  EXPECT_EQ(in_files["preparation"], "redistribute");
  EXPECT_NEAR(in_files["planned_received_bytes"].get<double>() -
                  result["planned_received_bytes"].get<double>(),
              7 / 8. * 4 * 128 * 111059956, 1e6)
      << "seven of eight rows lie elsewhere";
  EXPECT_EQ(orrery(papers + " --backend threads --set cluster.servers=1"), 2);
  EXPECT_THAT(read("err"), HasSubstr("an inference needs edges"));
}

/// Halved until the rank with the most fits into its memory.
TEST_F(Infer, ChoosesGroupsThatFitIntoTheDevice) {
  const auto planned = [&](const std::string& name, const std::string& device) {
    EXPECT_EQ(orrery(arguments(4, 1, name) +
                     " --backend sim --set model.hidden=64 --set model.order=aggregate_first "
                     R"(--set 'cluster={"file": "dgx-1", "gpus": 4)" +
                     device + "}'"),
              0)
        << read("err");
    return Json::parse(read("out"));
  };
  const auto most = [](const Json& result) {
    const auto bytes = result["peak_bytes"].get<std::vector<std::int64_t>>();
    return *std::max_element(bytes.begin(), bytes.end());
  };
  const Json whole = planned("whole", "");
  const std::int64_t room = most(whole) - 20000;
  const Json fitted = planned("fitted", fmt::format(R"(, "device_bytes": {})", room));

  EXPECT_TRUE(whole["group_bytes"].is_null());
  EXPECT_GT(fitted["group_bytes"].get<int>(), 0);
  EXPECT_LE(most(fitted), room);
  EXPECT_EQ(fitted["planned_received_bytes"], whole["planned_received_bytes"]);
}

/// Killed once a layer is kept, and again: the files are those of a run that nobody disturbed.
TEST_F(Infer, GoesOnAfterBeingKilledAndWritesTheSameFiles) {
  const std::vector<std::string> words =
      keeping({R"(dataset={"generate": "communities", "vertices": 4000, "edges": 20000})",
               "model.hidden=64", "model.layers=4", "cluster.ranks=2",
               R"(inference={"columns": 2, "fanout": 4})"});
  const std::string command = in_quotes(words);
  const auto killed_after = [&](int layer, bool resume) {
    auto started = words;
    started.insert(started.end(), {"--out", in("killed").string()});
    if (resume) started.push_back("--resume");
    const pid_t child = start(started);
    const auto kept = [&](int rank) {
      return std::filesystem::exists(in("killed/layers") /
                                     fmt::format("layer-{}-rank-{}.bin", layer, rank));
    };
    while (!(kept(0) && kept(1)) && ::waitpid(child, nullptr, WNOHANG) == 0) ::usleep(200);
    ::kill(child, SIGKILL);
    wait_for(child);
    EXPECT_TRUE(kept(0) && kept(1)) << "it ended before it was killed";
    EXPECT_FALSE(std::filesystem::exists(in("killed/embeddings")));
  };
  killed_after(1, false);
  killed_after(2, true);
  // As if its training had been killed while it wrote the last file.
  const auto half = in("killed/training") / "timeline.json.part";
  std::ofstream(half) << "{";

  ASSERT_EQ(orrery(command + " --resume --json --out " + in("killed").string()), 0) << read("err");
  const Json resumed = Json::parse(read("out"));
  ASSERT_EQ(orrery(command + " --out " + in("whole").string()), 0) << read("err");

  EXPECT_GE(resumed["resumed_after_layer"], 2);
  EXPECT_EQ(resumed["received_bytes"], resumed["planned_received_bytes"]);
  for (const char* name : {"meta.json", "part-0000.npy", "part-0001.npy"})
    EXPECT_EQ(read(std::string("killed/embeddings/") + name),
              read(std::string("whole/embeddings/") + name));
  EXPECT_FALSE(std::filesystem::exists(in("killed/layers")));
  EXPECT_FALSE(std::filesystem::exists(half));
  EXPECT_EQ(orrery(command + " --resume --out " + in("killed").string()), 0);
  EXPECT_THAT(read("err"), HasSubstr("nothing to resume"));

  // Half of a result file is refused with an error that names the file.
  const std::string result = read("killed/result.json");
  std::ofstream(in("killed/result.json")) << result.substr(0, result.size() / 2);
  EXPECT_EQ(orrery(command + " --resume --json --out " + in("killed").string()), 1);
  EXPECT_THAT(read("err"), HasSubstr("killed/result.json:"));
  EXPECT_THAT(read("err"), ::testing::Not(HasSubstr("json.exception")));
  std::ofstream(in("killed/result.json")) << result;

  // The inference was ended after it wrote its result and before it removed the layers.
  std::filesystem::create_directories(in("killed/layers"));
  EXPECT_EQ(orrery(command + " --resume --out " + in("killed").string()), 0);
  EXPECT_FALSE(std::filesystem::exists(in("killed/layers")));
}

/// Killed behind each stage up to the first layer: what was finished is not done again, and what is
/// damaged, or belongs to other edges, is not taken.
TEST_F(Infer, TakesOverEveryStageThatItHadFinished) {
  ASSERT_EQ(orrery("dataset generate communities --vertices 4000 --edges 40000 --features 64 "
                   "--classes 5 --out " +
                   in("big").string()),
            0)
      << read("err");
  const std::vector<std::string> words =
      keeping({"dataset.path=" + in("big").string(), "model.hidden=96", "model.layers=4",
               "cluster.ranks=2", R"(inference={"rows": 2, "fanout": 4,
                    "order": ["aggregate_first", "auto", "transform_first", "auto"]})"});
  const std::string command = in_quotes(words);
  const auto killed_after = [&](const std::string& name, bool resume) {
    auto started = words;
    started.insert(started.end(), {"--out", in("killed").string()});
    if (resume) started.push_back("--resume");
    const pid_t child = start(started);
    const auto kept = in("killed/layers") / name;
    while (!std::filesystem::exists(kept) && ::waitpid(child, nullptr, WNOHANG) == 0) ::usleep(200);
    ::kill(child, SIGKILL);
    wait_for(child);
    EXPECT_TRUE(std::filesystem::exists(kept)) << name;
    EXPECT_FALSE(std::filesystem::exists(in("killed/embeddings"))) << name;
  };
  killed_after("input.json", false);  // before any stage is done
  killed_after("rows-0.bin", true);
  const std::string rows = read("killed/layers/rows-0.bin");
  killed_after("draws-0.bin", true);
  EXPECT_EQ(read("killed/layers/rows-0.bin"), rows);
  killed_after("layer-1-rank-0.bin", true);

  const std::string resume = command + " --resume --json --out " + in("killed").string();
  std::string other = rows;
  other[other.size() / 2] ^= 1;
  std::ofstream(in("killed/layers/rows-0.bin"), std::ios::binary) << other;
  EXPECT_EQ(orrery(resume), 1);
  EXPECT_THAT(read("err"), HasSubstr("rows-0.bin: is damaged"));
  std::ofstream(in("killed/layers/rows-0.bin"), std::ios::binary) << rows;
  const std::string edges = read("big/edges.npy");
  other = edges;
  std::swap(other[other.size() - 4], other[other.size() - 40]);
  other[other.size() - 8] ^= 1;
  std::ofstream(in("big/edges.npy"), std::ios::binary) << other;
  EXPECT_EQ(orrery(resume), 2);
  EXPECT_THAT(read("err"), HasSubstr("contents of the edges"));
  std::ofstream(in("big/edges.npy"), std::ios::binary) << edges;

  ASSERT_EQ(orrery(resume), 0) << read("err");
  const Json resumed = Json::parse(read("out"));
  ASSERT_EQ(orrery(command + " --json --out " + in("whole").string()), 0) << read("err");
  const Json whole = Json::parse(read("out"));

  const Json taken = resumed["taken_over"];
  ASSERT_GE(taken.size(), 2U);
  EXPECT_EQ(taken[0], "read");
  EXPECT_EQ(taken[1], "sample");
  EXPECT_EQ(taken.size() > 2, resumed["resumed_after_layer"].is_number());
  EXPECT_EQ(whole["taken_over"], Json::array());
  for (const char* name : {"meta.json", "part-0000.npy", "part-0001.npy"})
    EXPECT_EQ(read(std::string("killed/embeddings/") + name),
              read(std::string("whole/embeddings/") + name));
  EXPECT_FALSE(std::filesystem::exists(in("killed/layers")));
}

TEST_F(Infer, RemovesNoLayersOfOthers) {
  infer(1, 1, "made");
  std::filesystem::create_directories(in("made/layers"));
  std::ofstream(in("made/layers/thesis.tex")) << "mine";
  std::ofstream(in("made/layers/layer-1-rank-0.bin")) << "left";

  ASSERT_EQ(orrery(arguments(1, 1, "made") + " --force --keep-layers"), 0) << read("err");

  EXPECT_EQ(read("made/layers/thesis.tex"), "mine");
  EXPECT_FALSE(std::filesystem::exists(in("made/layers/layer-1-rank-0.bin")));
}

/// The values of layers depend on the numbers in the files, and on the order in which they are
/// added.
TEST_F(Infer, ResumesNoOtherDataOrOrderOfSums) {
  std::vector<std::string> words = keeping({"model.hidden=400", "model.layers=3"});
  words.insert(words.end(), {"--out", in("kept").string()});
  const pid_t child = start(words);
  const auto kept = in("kept/layers/layer-1-rank-0.bin");
  while (!std::filesystem::exists(kept) && ::waitpid(child, nullptr, WNOHANG) == 0) ::usleep(100);
  ::kill(child, SIGKILL);
  wait_for(child);
  ASSERT_TRUE(std::filesystem::exists(kept)) << "it ended before it was killed";
  const std::string command = in_quotes(words);

  EXPECT_EQ(orrery(command + " --resume --set strategy.column_tiles=2"), 2);
  EXPECT_THAT(read("err"), HasSubstr("column_tiles"));
  const std::string text = read("data/features.npy");
  const auto write = [&](const std::string& bytes) {
    std::ofstream(in("data/features.npy"), std::ios::binary) << bytes;
  };
  std::string other = text;
  other[other.size() - 3] ^= 1;
  write(other);
  EXPECT_EQ(orrery(command + " --resume"), 2);
  EXPECT_THAT(read("err"), HasSubstr("contents of the data set"));
  write(text);
  EXPECT_EQ(orrery(command + " --resume"), 0) << read("err");
}

/// The listed ways equal those that are counted and simulated one by one; the one that receives
/// least comes first.
TEST_F(Infer, PlansTheWayThatReceivesLeast) {
  std::stringstream schema;
  schema << std::ifstream(ORRERY_SOURCES "/experiments/config/schemas/inference_plan.json").rdbuf();
  const std::string sim =
      R"( --backend sim --set simulation.library=mpi --set 'cluster={"file": "r5-16-25gbe", "gpus": 4)";
  ASSERT_EQ(orrery(arguments(2, 1, "plan") + " --plan" + sim + "}'"), 0) << read("err");
  const Json plan = Json::parse(read("out"));

  EXPECT_NO_THROW(validate_against(schema.str(), plan));
  EXPECT_FALSE(std::filesystem::exists(in("plan")));
  std::set<std::pair<int, int>> tiles;
  double before = 0;
  int number = 0;
  for (const Json& choice : plan["choices"]) {
    const int rows = choice["rows"], columns = choice["columns"];
    tiles.insert({rows, columns});
    EXPECT_EQ(rows * columns, 4);
    EXPECT_GE(choice["received_bytes"], before);
    before = choice["received_bytes"];
    if (choice["seconds"].is_null()) continue;  // else every way would be recorded twice
    const std::string gemm = choice["gemm"], spmm = choice["spmm"];
    ASSERT_EQ(orrery(arguments(rows, columns, fmt::format("way{}", ++number),
                               fmt::format(R"(, "gemm": "{}", "spmm": "{}", "order": {})", gemm,
                                           spmm, choice["order"].dump())) +
                     sim + "}'"),
              0)
        << read("err");
    const Json alone = Json::parse(read("out"));
    EXPECT_EQ(alone["planned_received_bytes"], choice["received_bytes"]);
    EXPECT_NEAR(choice["seconds"].get<double>(), alone["seconds"].get<double>(), 1e-9);
  }
  EXPECT_EQ(tiles, (std::set<std::pair<int, int>>{{1, 4}, {2, 2}, {4, 1}}));
  EXPECT_TRUE(plan["choices"][0]["seconds"].is_number());

  const std::int64_t room = plan["choices"][0]["peak_bytes"];
  ASSERT_EQ(orrery(arguments(4, 1, "plan") + " --plan" + sim +
                   fmt::format(R"(, "device_bytes": {}}}')", room)),
            0)
      << read("err");
  bool fitted = true;
  for (const Json& choice : Json::parse(read("out"))["choices"]) {
    EXPECT_EQ(choice["fits"], choice["peak_bytes"] <= room);
    EXPECT_TRUE(fitted || !choice["fits"].get<bool>()) << "those that fit come first";
    fitted = choice["fits"];
  }
}

TEST_F(Infer, ResumesNoOtherInference) {
  // The files that a killed start leaves.
  const std::string keep = arguments(1, 2, "kept") + " --keep-layers";
  ASSERT_EQ(orrery(keep + " --set kernels=reference"), 0) << read("err");
  std::filesystem::remove(in("kept/result.json"));
  std::filesystem::create_directories(in("kept/layers"));
  std::ofstream(in("kept/layers/inference.json")) << R"({"seed": 6})";

  EXPECT_EQ(orrery(keep + " --resume"), 2);
  EXPECT_THAT(read("err"), HasSubstr("start anew without --resume"));
  EXPECT_EQ(orrery(keep), 0) << read("err");
}

/// The graph and the features of the data set once more, as files of edges and rows in no order.
class InferFromFiles : public Infer {
 protected:
  void SetUp() override {
    Infer::SetUp();
    const NpyArray edges(in("data/edges.npy")), features(in("data/features.npy"));
    edges_ = edges.shape()[1];
    const auto ends = edges.values<std::int32_t>({2, edges_});
    std::ofstream first(in("first.bin"), std::ios::binary), second(in("second.txt"));
    for (std::size_t i = 0; i < at(edges_); ++i) {
      const std::uint64_t pair[] = {static_cast<std::uint64_t>(ends[i]),
                                    static_cast<std::uint64_t>(ends[at(edges_) + i])};
      if (i % 2 == 0) first.write(reinterpret_cast<const char*>(pair), sizeof pair);
      if (i % 2 == 1) second << pair[0] << " " << pair[1] << "\n";
    }
    std::filesystem::create_directories(in("rows"));
    const auto values = features.values<float>({401, 10});
    for (const int half : {0, 1}) {  // those of odd vertices, from the last on; then the others
      std::vector<float> rows;
      std::vector<std::int32_t> ids;
      for (int v = 400; v >= 0; --v) {
        if (v % 2 == half) continue;
        ids.push_back(v);
        rows.insert(rows.end(), values.begin() + 10 * v, values.begin() + 10 * (v + 1));
      }
      const auto count = static_cast<std::int64_t>(ids.size());
      NpyWriter of_rows =
          NpyWriter::create<float>(in(fmt::format("rows/rows-{}.npy", half)), {count, 10});
      of_rows.append(std::span<const float>(rows));
      of_rows.close();
      NpyWriter of_ids =
          NpyWriter::create<std::int32_t>(in(fmt::format("rows/ids-{}.npy", half)), {count});
      of_ids.append(std::span<const std::int32_t>(ids));
      of_ids.close();
    }
  }
  /// --set that takes the edges from these files.
  std::string edges_of(const std::string& file, const std::string& format,
                       const std::string& more = "") const {
    return fmt::format(
        R"( --set 'dataset={{"edge_list": {{"files": "{}", "format": "{}"{}}}, "features": {{"random": 10}}}}')",
        in(file).string(), format, more);
  }
  std::string rows_in(const std::string& files) const {
    return fmt::format(R"( --set 'dataset.features={{"files": "{}"}}')", in(files).string());
  }
  std::int64_t edges_ = 0;
};

/// The same graph in every form, by threads: the same embeddings as of the data set, bit by bit.
TEST_F(InferFromFiles, WritesTheSameOfEdgesInAnyForm) {
  std::filesystem::copy(in("data/edges.npy"), in("all.npy"));
  const std::string random = R"( --set 'dataset.features={"random": 10}')";
  ASSERT_EQ(orrery(arguments(2, 2, "set") + random), 0) << read("err");
  const std::string stated = R"(, "vertices": 401)";
  std::stringstream schema;
  schema << std::ifstream(ORRERY_SOURCES "/experiments/config/schemas/inference.json").rdbuf();
  for (const std::string& more : {std::string(), stated}) {
    ASSERT_EQ(orrery(arguments(2, 2, "list" + std::to_string(more.size())) +
                     edges_of("all.npy", "auto", more)),
              0)
        << read("err");
    const Json result = Json::parse(read("out"));
    EXPECT_NO_THROW(validate_against(schema.str(), result));
    EXPECT_EQ(embeddings("list" + std::to_string(more.size())), embeddings("set"));
    EXPECT_EQ(result["stages"][0]["name"], "read edges");
    EXPECT_EQ(result["stages"][1]["name"], "build the distributed CSR");
    EXPECT_GE(result["stages"][0]["file_bytes"], (more.empty() ? 2 : 1) * 8 * edges_);
    EXPECT_EQ(result["stages"][0]["peak_bytes"], 8 * edges_);
    EXPECT_EQ(result["stages"][0]["received_bytes"], 0);
  }
}

TEST_F(InferFromFiles, RefusesWhatItCannotRead) {
  const auto told = [&](const std::string& more, const std::string& words) {
    EXPECT_NE(orrery(arguments(1, 1, "made") + more), 0) << more;
    EXPECT_THAT(read("err"), HasSubstr(words)) << more;
    EXPECT_FALSE(std::filesystem::exists(in("made/embeddings")));
  };
  std::ofstream(in("empty.bin"));
  const std::uint64_t wide[] = {1, (std::uint64_t{1} << 32U) + 2};
  std::ofstream(in("wide.bin"), std::ios::binary)
      .write(reinterpret_cast<const char*>(wide), sizeof wide);
  told(edges_of("empty.bin", "uint32"), "expected edges, found none");
  told(edges_of("wide.bin", "uint64"), "found 1 and 4294967298");
  told(edges_of("first.bin", "auto"), "dataset.edge_list.format");
  told(edges_of("absent.txt", "text"), "cannot be opened");
  told(edges_of("second.txt", "text") + " --set dataset.features=3", "dataset.features");
  told(rows_in("data"), "rows-NAME.npy");
  told(rows_in("rows") + " --set dataset.features_type=float16", "float16");
  told(rows_in("rows") + R"( --set inference.spmm=2d)", "ids_then_rows");
  told(" --set inference.preparation=scan", "dataset.features.files");
  told(edges_of("second.txt", "text") + " --set inference={}", "inference.weights");
  for (const char* command : {"run ", "plan "}) {
    EXPECT_NE(orrery(command + file() + edges_of("second.txt", "text")), 0);
    EXPECT_THAT(read("err"), HasSubstr("is only for orrery infer")) << command;
  }
}

TEST_F(InferFromFiles, RefusesRowsThatAreNotFinite) {
  const auto bytes = std::filesystem::file_size(in("rows/rows-1.npy"));
  std::fstream rows(in("rows/rows-1.npy"), std::ios::in | std::ios::out | std::ios::binary);
  const float infinite = std::numeric_limits<float>::infinity();
  rows.seekp(static_cast<std::streamoff>(bytes - sizeof infinite));
  rows.write(reinterpret_cast<const char*>(&infinite), sizeof infinite);
  rows.close();
  for (const char* way : {"scan", "redistribute", "fused"}) {
    EXPECT_EQ(orrery(arguments(2, 2, "made", fmt::format(R"(, "preparation": "{}")", way)) +
                     rows_in("rows")),
              1);
    EXPECT_THAT(read("err"), HasSubstr("rows-1.npy:row ")) << way;
    EXPECT_THAT(read("err"), HasSubstr("expected a finite number, found inf")) << way;
    EXPECT_FALSE(std::filesystem::exists(in("made/embeddings")));
  }
}

TEST_F(InferFromFiles, PreparesRowsInAnyOfThreeWays) {
  ASSERT_EQ(orrery(arguments(2, 2, "set")), 0) << read("err");
  const auto expected = embeddings("set");
  std::map<std::string, Json> results;
  for (const std::string& way : std::vector<std::string>{"scan", "redistribute", "fused"}) {
    ASSERT_EQ(orrery(arguments(2, 2, way, R"(, "preparation": ")" + way + "\"") + rows_in("rows")),
              0)
        << read("err");
    const Json result = results[way] = Json::parse(read("out"));
    EXPECT_EQ(result["received_bytes"], result["planned_received_bytes"]) << way;
    EXPECT_EQ(result["preparation"], way);
    const auto found = embeddings(way);
    for (std::size_t v = 0; v < 401; ++v)
      for (std::size_t c = 0; c < 5; ++c) ASSERT_NEAR(found[v][c], expected[v][c], 1e-5) << way;
  }
  const auto read_bytes = [&](const std::string& way) {
    for (const Json& stage : results[way]["stages"])
      if (stage["name"] == "features") return stage["file_bytes"].get<double>();
    return -1.0;
  };
  EXPECT_EQ(read_bytes("fused"), 401 * 10 * 4);
  EXPECT_EQ(read_bytes("redistribute"), 401 * 10 * 4);
  EXPECT_EQ(read_bytes("scan"), 4 * 401 * 10 * 4);

  std::stringstream schema;
  schema << std::ifstream(ORRERY_SOURCES "/experiments/config/schemas/inference_plan.json").rdbuf();
  ASSERT_EQ(orrery(arguments(2, 2, "plan") + rows_in("rows") + " --plan"), 0) << read("err");
  const Json plan = Json::parse(read("out"));
  EXPECT_NO_THROW(validate_against(schema.str(), plan));
  std::set<std::string> ways;
  double before = 0;
  for (const Json& choice : plan["choices"]) {
    ways.insert(choice["preparation"]);
    const double bytes =
        choice["received_bytes"].get<double>() + choice["file_bytes"].get<double>();
    EXPECT_GE(bytes, before);
    before = bytes;
    if (choice["rows"] == 2 && choice["columns"] == 2 && choice["gemm"] == "ring" &&
        choice["spmm"] == "ids_then_rows" && choice["order"] == "auto") {
      EXPECT_EQ(choice["received_bytes"],
                results[choice["preparation"].get<std::string>()]["received_bytes"]);
    }
  }
  EXPECT_EQ(ways, (std::set<std::string>{"fused", "redistribute", "scan"}));
}

Json stage_of(const Json& result, const std::string& name) {
  for (const Json& stage : result["stages"])
    if (stage["name"] == name) return stage;
  ADD_FAILURE() << "no stage " << name;
  return {};
}

/// Never sooner than their bytes over the rate; how much later depends on the machine.
TEST_F(InferFromFiles, ReadsNoFasterThanTheStorage) {
  const std::string files = fmt::format(
      R"( --set 'dataset={{"edge_list": {{"files": "{}", "format": "uint64", "vertices": 401}}, "features": {{"files": "{}"}}}}')",
      in("first.bin").string(), in("rows").string());
  ASSERT_EQ(orrery(arguments(1, 1, "fast") + files), 0) << read("err");
  ::setenv("ORRERY_STORAGE", ("2e5@" + in("storage").string()).c_str(), 1);
  const int status = orrery(arguments(1, 1, "slow") + files);
  ::setenv("ORRERY_STORAGE", "fast", 1);
  const int refused = orrery(arguments(1, 1, "none") + files);
  ::unsetenv("ORRERY_STORAGE");

  EXPECT_EQ(refused, 2);
  EXPECT_THAT(read("err"), HasSubstr("ORRERY_STORAGE: found \"fast\", expected RATE@FILE"));
  ASSERT_EQ(status, 0);
  const Json result = json("slow/result.json");
  EXPECT_EQ(stage_of(result, "features")["file_bytes"], 401 * 10 * 4);
  for (const char* stage : {"read edges", "features"})
    EXPECT_GE(stage_of(result, stage)["seconds"].get<double>(),
              stage_of(result, stage)["file_bytes"].get<double>() / 2e5)
        << stage;
  EXPECT_EQ(read("slow/embeddings/part-0000.npy"), read("fast/embeddings/part-0000.npy"));
}

/// Seconds of reading are bytes over the rates that the cluster file names.
TEST_F(InferFromFiles, TakeTheTimeOfTheStorageInSimulations) {
  const auto features = [&](const std::string& way, const Json& storage) {
    Json cluster = Json::parse(std::ifstream(ORRERY_SOURCES "/configs/clusters/r5-16-25gbe.json"));
    cluster.erase("storage");
    for (const auto& [key, value] : storage.items())
      cluster["storage"][key] = {{"value", value}, {"source", "a test"}};
    std::ofstream(in("cluster.json")) << cluster;
    EXPECT_EQ(orrery(arguments(2, 2, way, R"(, "preparation": ")" + way + "\"") + rows_in("rows") +
                     fmt::format(" --backend sim --set simulation.library=mpi --set "
                                 R"('cluster={{"file": "{}", "servers": 4}}' --force)",
                                 in("cluster.json").string())),
              0)
        << read("err");
    return stage_of(Json::parse(read("out")), "features")["seconds"];
  };
  constexpr double kRate = 1e3, kAll = 401 * 10 * 4, kShare = 101 * 10 * 4;  // the first rank's

  EXPECT_TRUE(features("scan", {}).is_null()) << "nobody says how fast files come";
  EXPECT_NEAR(features("scan", {{"bytes_per_second", kRate}}).get<double>(), kAll / kRate, 0.01);
  EXPECT_NEAR(
      features("fused", {{"bytes_per_second", kRate}, {"latency_seconds", 1}}).get<double>(),
      1 + kShare / kRate, 0.05);
  EXPECT_NEAR(
      features("redistribute", {{"bytes_per_second", 1e9}, {"shared_bytes_per_second", kRate}})
          .get<double>(),
      kAll / kRate, 0.01);
}

TEST_F(InferFromFiles, PlansWhatHasNoLabelsAndNoWeights) {
  ASSERT_EQ(orrery("infer " + file() + edges_of("second.txt", "text") +
                   " --set cluster.ranks=4 --plan --json"),
            0)
      << read("err");
  EXPECT_THAT(read("err"), HasSubstr("counted with 7, as model.hidden"));
  EXPECT_GT(Json::parse(read("out"))["choices"].size(), 2U);
}

#ifdef ORRERY_MPIRUN
TEST_F(InferFromFiles, WritesTheSameOverMpi) {
  const std::string files = fmt::format(
      R"( --set 'dataset={{"edge_list": {{"files": "{}", "format": "uint64", "symmetric": true}}, "features": {{"files": "{}"}}}}')",
      in("first.bin").string(), in("rows").string());
  for (const char* more :
       {R"(, "preparation": "fused", "group_bytes": 200)", R"(, "preparation": "redistribute")"}) {
    for (const char* old : {"threads", "mpi"}) std::filesystem::remove_all(in(old));
    ASSERT_EQ(orrery(arguments(2, 2, "threads", more) + files), 0) << read("err");
    const int status = shell(testing::mpirun(4) + "'" ORRERY_MPI "' " +
                             arguments(2, 2, "mpi", more) + files + " --backend mpi");
    ASSERT_EQ(status, 0) << read("err");
    for (const char* file : {"part-0000.npy", "part-0001.npy", "part-0002.npy", "part-0003.npy"})
      EXPECT_EQ(read(std::string("mpi/embeddings/") + file),
                read(std::string("threads/embeddings/") + file))
          << more;
    const Json result = json("mpi/result.json");
    EXPECT_EQ(result["received_bytes"], result["planned_received_bytes"]) << more;
    EXPECT_GT(result["stages"][1]["received_bytes"], 0);
  }
}

/// A job that ended before its first layer: each part's rows and neighbours are taken over.
TEST_F(InferFromFiles, TakesOverRowsAndNeighboursOverMpi) {
  const std::string job = testing::mpirun(4) + "'" ORRERY_MPI "' " +
                          arguments(2, 2, "mpi", R"(, "fanout": 3)") +
                          edges_of("first.bin", "uint64") + " --backend mpi --keep-layers";
  std::filesystem::create_directories(in("mpi/embeddings"));
  std::ofstream(in("mpi/.lock"));
  std::ofstream(in("mpi/embeddings/thesis.tex")) << "mine";  // in the way of the rows
  EXPECT_NE(shell(job), 0);
  for (const char* name : {"rows-0.bin", "rows-1.bin", "draws-0.bin", "draws-1.bin"})
    EXPECT_TRUE(std::filesystem::exists(in("mpi/layers") / name)) << name;
  std::filesystem::remove_all(in("mpi/embeddings"));

  ASSERT_EQ(shell(job + " --resume"), 0) << read("err");
  const Json resumed = json("mpi/result.json");
  ASSERT_EQ(
      orrery(arguments(2, 2, "threads", R"(, "fanout": 3)") + edges_of("first.bin", "uint64")), 0)
      << read("err");

  EXPECT_EQ(resumed["taken_over"], (Json{"read edges", "build the distributed CSR", "sample"}));
  for (std::size_t stage : {0, 1, 2}) EXPECT_EQ(resumed["stages"][stage]["received_bytes"], 0);
  for (const char* file : {"part-0000.npy", "part-0001.npy", "part-0002.npy", "part-0003.npy"})
    EXPECT_EQ(read(std::string("mpi/embeddings/") + file),
              read(std::string("threads/embeddings/") + file));
}

/// Rounded alike, whether one process reads all or each a range.
TEST_F(InferFromFiles, WritesTheSameOfHalfFeaturesOverMpi) {
  const std::string half = " --set dataset.features_type=float16";
  ASSERT_EQ(orrery(arguments(2, 1, "threads") + half), 0) << read("err");
  ASSERT_EQ(shell(testing::mpirun(2) + "'" ORRERY_MPI "' " + arguments(2, 1, "mpi") + half +
                  " --backend mpi"),
            0)
      << read("err");
  for (const char* file : {"part-0000.npy", "part-0001.npy"})
    EXPECT_EQ(read(std::string("mpi/embeddings/") + file),
              read(std::string("threads/embeddings/") + file));
  ASSERT_EQ(orrery(arguments(2, 1, "wide")), 0) << read("err");
  EXPECT_NE(read("wide/embeddings/part-0000.npy"), read("threads/embeddings/part-0000.npy"));
}

TEST_F(Infer, WritesTheSameFilesOverMpi) {
  const std::string gat = R"( --set 'model={"type": "gat", "layers": 2, "hidden": 8, "heads": 2}')";
  ASSERT_EQ(orrery("run " + file() + gat + " --quiet --out " + in("gat").string()), 0)
      << read("err");
  const std::string weighed = gat + " --set inference.weights=" + in("gat").string();
  const auto edges = NpyArray(in("data/edges.npy")).shape()[1];
  using Way = std::pair<std::string, std::string>;
  for (const auto& [more, model] :
       {Way{R"(, "fanout": 4, "group_bytes": 200)", ""}, Way{R"(, "spmm": "2d")", ""},
        Way{R"(, "spmm": "exchange_graph")", ""}, Way{R"(, "fanout": 4)", weighed}}) {
    for (const char* old : {"threads", "mpi"}) std::filesystem::remove_all(in(old));
    ASSERT_EQ(orrery(arguments(2, 2, "threads", more) + model), 0) << read("err");
    const int status = shell(testing::mpirun(4) + "'" ORRERY_MPI "' " +
                             arguments(2, 2, "mpi", more) + model + " --backend mpi");
    ASSERT_EQ(status, 0) << read("err");

    EXPECT_EQ(read("mpi/embeddings/meta.json"), read("threads/embeddings/meta.json"));
    for (const char* file : {"part-0000.npy", "part-0001.npy", "part-0002.npy", "part-0003.npy"})
      EXPECT_EQ(read(std::string("mpi/embeddings/") + file),
                read(std::string("threads/embeddings/") + file));
    const Json result = json("mpi/result.json");
    // Each rank read a quarter of the edges; the part of an edge's destination has two ranks.
    EXPECT_EQ(result["stages"][0]["name"], "read edges");
    EXPECT_EQ(result["stages"][0]["file_bytes"], 8 * edges);
    EXPECT_EQ(result["stages"][0]["received_bytes"], 0) << "no number had to be told";
    EXPECT_EQ(result["stages"][0]["peak_bytes"], 8 * ((edges + 3) / 4));
    EXPECT_GT(result["stages"][1]["received_bytes"], 0);
    EXPECT_GT(result["stages"][1]["peak_bytes"], 0);
    // Each of four ranks is told the counts of three: one word, and for each layer its neighbours,
    // and the rows and entries of each pair of parts; and of each rank and part the rows wanted.
    const bool lists = more.find("2d") != std::string::npos || !model.empty();
    EXPECT_EQ(result["stages"][2]["name"], "sample");
    EXPECT_EQ(result["stages"][2]["received_bytes"],
              4 * 3 * 8 * (1 + 2 * (1 + 2 * 2 * 2 + (lists ? 4 * 2 : 0))));
    if (more.find("fanout") != std::string::npos && !lists) {
      EXPECT_EQ(result["stages"][2]["peak_bytes"],
                std::max(drawn_bytes(0, 201, 4), drawn_bytes(201, 401, 4)) + counts_bytes(2, 2));
    }
    EXPECT_TRUE(result["fewest_bytes"].is_null()) << "no process has all rows";
    EXPECT_FALSE(json("threads/result.json")["fewest_bytes"].is_null());
    EXPECT_EQ(result["received_bytes"], result["planned_received_bytes"]) << more;
    EXPECT_EQ(result["peak_bytes"], json("threads/result.json")["peak_bytes"]);
  }
}
#endif

}  // namespace
}  // namespace orrery
