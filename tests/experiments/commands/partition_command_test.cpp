// `orrery partition` as it is started by people and scripts.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/partition/edges/edge_file.hpp"
#include "core/partition/methods/cut.hpp"
#include "core/partition/metrics.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class PartitionCommand : public ::testing::Test {
 protected:
  struct Outcome {
    int exit_code;
    std::string text;
    Json last_line() const {
      std::istringstream lines(text);
      std::string line, last;
      while (std::getline(lines, line)) last = line;
      return Json::parse(last);
    }
  };

  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / "orrery_partition_command";
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    std::ofstream text(folder_ / "edges.txt");
    for (Vertex v = 0; v < 400; ++v)  // ten rings of forty, joined by a few edges
      text << v << " " << (v % 40 == 39 ? v - 39 : v + 1) << "\n"
           << v << " " << (v * 7 + 3) / 40 * 40 % 400 << "\n";
  }
  void TearDown() override { fs::remove_all(folder_); }

  static Outcome orrery(const std::string& arguments, const std::string& command = "partition") {
    FILE* pipe = popen((ORRERY_BINARY " " + command + " " + arguments + " 2>&1").c_str(), "r");
    std::string text;
    for (char c; fread(&c, 1, 1, pipe) == 1;) text += c;
    return {WEXITSTATUS(pclose(pipe)), text};
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  fs::path folder_;
};

TEST_F(PartitionCommand, StreamsAnEdgeFileAndWritesTheOwners) {
  const auto text = open_edge_file(folder_ / "edges.txt");
  write_edge_file(*text, folder_ / "edges.bin");
  const Outcome run = orrery(path("edges.bin") + " --method spring --parts 3 --json --owners " +
                             path("owners.txt"));
  ASSERT_EQ(run.exit_code, 0) << run.text;
  const Json json = run.last_line();
  const auto file = open_edge_file(folder_ / "edges.bin");
  const StreamCut cut = spring_partition(*file, 3);
  const CutMetrics metrics = measure_cut(*file, cut.partition, {});

  EXPECT_EQ(json["method"], "spring");
  EXPECT_EQ(json["parts"], 3);
  EXPECT_EQ(json["clusters_before"], cut.before->count);
  EXPECT_EQ(json["clusters_after"], cut.after->count);
  EXPECT_DOUBLE_EQ(json["replication_factor"], metrics.replication_factor);
  EXPECT_DOUBLE_EQ(json["edge_cut"], metrics.edge_cut);
  EXPECT_DOUBLE_EQ(json["balance"], metrics.vertex_balance);
  EXPECT_GT(json["seconds"], 0);
  EXPECT_GT(json["edges_per_second"], 0);
  EXPECT_GT(json["peak_rss_bytes"], 0);
  std::ifstream owners(folder_ / "owners.txt");
  for (const auto expected : cut.partition.owner) {
    std::int32_t owner = -1;
    owners >> owner;
    ASSERT_EQ(owner, expected);
  }
}

TEST_F(PartitionCommand, ATextIsStreamedOnRequest) {
  const Outcome run = orrery(path("edges.txt") + " --stream --method dbh --parts 4 --json");

  ASSERT_EQ(run.exit_code, 0) << run.text;
  EXPECT_EQ(run.last_line()["clusters_before"], nullptr);
  EXPECT_GE(run.last_line()["replication_factor"], 1);
}

TEST_F(PartitionCommand, StreamsVerticesWithTheirNeighboursFromAText) {
  const auto text = open_edge_file(folder_ / "edges.txt");
  EdgeList list{count_edges(*text).vertices(), {}, {}};
  text->rewind();
  for (auto block = text->next(); !block.empty(); block = text->next())
    for (const auto& [u, v] : block) {
      list.source.push_back(u);
      list.destination.push_back(v);
    }
  const Csr graph = symmetrise(build_csr(list));
  for (const std::string method : {"ldg", "fennel"}) {
    const Outcome run = orrery(path("edges.txt") + " --stream --parts 4 --json --method " + method +
                               " --owners " + path("owners.txt"));

    ASSERT_EQ(run.exit_code, 0) << run.text;
    std::ifstream owners(folder_ / "owners.txt");
    PartitionOptions options;
    options.method = method;
    for (const auto expected : partition_graph(graph, 4, options).owner) {
      std::int32_t owner = -1;
      owners >> owner;
      ASSERT_EQ(owner, expected);
    }
  }
}

/// What `orrery plan` says about the same cut: received by all ranks in an epoch.
double planned_bytes(const std::string& arguments) {
  FILE* pipe = popen((ORRERY_BINARY " plan " + arguments + " --json").c_str(), "r");
  std::string text;
  for (char c; fread(&c, 1, 1, pipe) == 1;) text += c;
  pclose(pipe);
  const Json plan = Json::parse(text);
  double sum = 0;
  for (const Json& rank : plan["ranks"])
    sum += rank["bytes"]["internal"].get<double>() + rank["bytes"]["external"].get<double>();
  return sum;
}

TEST_F(PartitionCommand, AnExperimentTellsTheVolumeOfEveryStrategy) {
  std::ofstream(folder_ / "experiment.json") << R"({
    "name": "volumes",
    "dataset": {"generate": "communities", "vertices": 300, "edges": 1500, "features": 8, "classes": 3},
    "model": {"type": "gcn", "layers": 3, "hidden": 16},
    "partition": {"method": "hash"},
    "strategy": {"type": "spmm_1d", "variant": "column"},
    "cluster": {"ranks": 4}})";
  // Model averaging takes no buckets, and nobody trains with it here.
  const Outcome buckets = orrery(path("experiment.json") + " --set train.bucket_bytes=64 --json");
  EXPECT_EQ(buckets.exit_code, 0) << buckets.text;
  EXPECT_EQ(buckets.last_line()["communication"].size(), 4U);
  const Outcome run = orrery(path("experiment.json") + " --json");
  ASSERT_EQ(run.exit_code, 0) << run.text;
  const Json json = run.last_line();
  std::map<std::string, Json> by_strategy;
  for (const Json& one : json["communication"]) by_strategy[one["strategy"]] = one;

  EXPECT_EQ(json["halo_rows_by_hop"].size(), 3U);
  EXPECT_EQ(json["halo_rows_by_hop"][0], json["halo_rows"]);
  ASSERT_EQ(by_strategy.size(), 5U);
  EXPECT_DOUBLE_EQ(by_strategy["spmm_1d"]["bytes_per_epoch"],
                   planned_bytes(path("experiment.json")));
  EXPECT_DOUBLE_EQ(
      by_strategy["full_graph"]["bytes_per_epoch"],
      planned_bytes(path("experiment.json") + " --set 'strategy={\"type\": \"full_graph\"}'"));
  EXPECT_EQ(by_strategy["spmm_2d"]["ranks"], 16);
  EXPECT_GT(by_strategy["spmm_2d"]["bytes_per_epoch"], 0);
  EXPECT_EQ(by_strategy["spmm_15d"]["ranks"], 8);
  EXPECT_EQ(by_strategy["model_averaging"]["ranks"], 4);
  EXPECT_LT(by_strategy["model_averaging"]["bytes_per_epoch"],
            by_strategy["full_graph"]["bytes_per_epoch"]);
}

TEST_F(PartitionCommand, AnExperimentWithAttentionTellsTheVolumeOfTheStrategiesThatCarryIt) {
  std::ofstream(folder_ / "experiment.json") << R"({
    "name": "attention",
    "dataset": {"generate": "communities", "vertices": 300, "edges": 1500, "features": 8, "classes": 3},
    "model": {"type": "gat", "hidden": 16, "heads": 4},
    "partition": {"method": "hash"},
    "strategy": {"type": "full_graph"},
    "cluster": {"ranks": 4}})";
  const Outcome run = orrery(path("experiment.json") + " --json");
  ASSERT_EQ(run.exit_code, 0) << run.text;
  const Json json = run.last_line();
  std::vector<std::string> strategies;
  for (const Json& one : json["communication"]) strategies.push_back(one["strategy"]);

  EXPECT_EQ(strategies,
            (std::vector<std::string>{"full_graph", "spmm_1d", "spmm_15d", "model_averaging"}));
}

/// With five parts, 2D has 25 ranks; with nine it would have 81, more than are recorded.
TEST_F(PartitionCommand, AStrategyThatDoesNotTakeTheCutSaysWhy) {
  std::ofstream(folder_ / "experiment.json") << R"({
    "name": "volumes",
    "dataset": {"generate": "communities", "vertices": 300, "edges": 1500, "features": 8, "classes": 3},
    "model": {"type": "gcn"}, "strategy": {"type": "full_graph"}, "cluster": {"ranks": 9}})";
  const Outcome run = orrery(path("experiment.json"));

  ASSERT_EQ(run.exit_code, 0) << run.text;
  EXPECT_NE(run.text.find("spmm_2d             cannot use this cut: strategy: 81 ranks"),
            std::string::npos)
      << run.text;
}

TEST_F(PartitionCommand, CompareHasARowForEveryMethodAndAPicture) {
  const Outcome run =
      orrery(path("edges.txt") + " --compare all --parts 4 --json --svg " + path("compared.svg"));
  ASSERT_EQ(run.exit_code, 0) << run.text;
  const Json json = run.last_line();
  std::vector<std::string> methods;
  for (const Json& row : json["rows"]) methods.push_back(row["method"]);
  std::ifstream in(folder_ / "compared.svg");
  const std::string svg(std::istreambuf_iterator<char>(in), {});

  for (const auto& method : compared_methods()) {
    if (method == "metis" || method == "ptscotch") continue;  // not in every build
    EXPECT_NE(std::find(methods.begin(), methods.end(), method), methods.end()) << method;
    EXPECT_NE(svg.find(">" + method + "<"), std::string::npos) << method;
  }
}

TEST_F(PartitionCommand, AComparisonIsToldEvenWhereItCannotBeDrawn) {
  const Outcome run =
      orrery(path("edges.txt") + " --compare all --parts 4 --svg /no/such/folder/a.svg");

  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.text.find("edges in 4 parts\nmethod"), std::string::npos) << run.text;
  EXPECT_NE(run.text.find("orrery: error: /no/such/folder/a.svg: cannot be written"),
            std::string::npos);
}

/// Exact strategies on parts of a data set that was never in memory, and on the whole.
TEST_F(PartitionCommand, StreamedPartsTrainToTheLossOfTheWhole) {
  ASSERT_EQ(orrery("generate communities --vertices 600 --edges 3000 --features 12 --classes 4 "
                   "--out " +
                       path("set"),
                   "dataset")
                .exit_code,
            0);
  const auto loss = [&](const std::string& dataset) {
    std::ofstream(folder_ / "one.json")
        << R"({"name": "one", "model": {"type": "gcn", "hidden": 8}, "strategy": {"type": )"
        << R"("full_graph"}, "train": {"epochs": 5}, "cluster": {"ranks": 3}, "dataset": )"
        << dataset << "}";
    return orrery(path("one.json") + " --json --out " + path("result") + " --force", "run");
  };
  const Outcome whole = loss("{\"path\": \"" + path("set") + "\"}");
  ASSERT_EQ(whole.exit_code, 0) << whole.text;
  for (const std::string hops : {"1", "2"}) {
    const Outcome cut = orrery(path("set") +
                               " --stream --method spring --parts 3 --json --force "
                               "--hops " +
                               hops + " --out " + path("parts"));
    ASSERT_EQ(cut.exit_code, 0) << cut.text;
    EXPECT_GT(cut.last_line()["writing"]["bytes"], 0);
    EXPECT_GT(cut.last_line()["training_balance"], 0.9);
    fs::remove_all(folder_ / "result");
    const Outcome parts = loss("{\"parts\": \"" + path("parts") + "\"}");
    ASSERT_EQ(parts.exit_code, 0) << parts.text;

    EXPECT_NEAR(parts.last_line()["loss"].get<double>(), whole.last_line()["loss"].get<double>(),
                1e-5);
    fs::remove_all(folder_ / "result");
  }

  orrery(path("set") + " --stream --method dbh --parts 3 --force --hops 0 --out " + path("parts"));
  EXPECT_NE(
      loss("{\"parts\": \"" + path("parts") + "\"}")
          .text.find("orrery: error: dataset.parts: hold no neighbours of their vertices (hops 0)"),
      std::string::npos);
}

/// RGCN and RGAT on streamed parts of a typed data set, which have its relations, and on the whole.
TEST_F(PartitionCommand, StreamedPartsOfATypedGraphTrainToTheLossOfTheWhole) {
  ASSERT_EQ(
      orrery("generate typed-communities --vertices 600 --edges 5000 --features 12 --classes 4 "
             "--out " +
                 path("set"),
             "dataset")
          .exit_code,
      0);
  const auto loss = [&](const std::string& model, const std::string& dataset) {
    std::ofstream(folder_ / "one.json")
        << R"({"name": "one", "model": {"type": ")" << model << R"(", "hidden": 8}, "strategy": )"
        << R"({"type": "full_graph"}, "train": {"epochs": 5}, "cluster": {"ranks": 3}, "dataset": )"
        << dataset << "}";
    return orrery(path("one.json") + " --json --out " + path("result") + " --force", "run");
  };
  for (const std::string symmetric : {"false", "true"}) {
    const Outcome cut =
        orrery(path("set") + " --stream --method hash --parts 3 --json --force --out " +
               path("parts") + " --set dataset.symmetric=" + symmetric);
    ASSERT_EQ(cut.exit_code, 0) << cut.text;
    EXPECT_EQ(cut.text.find("note:"), std::string::npos) << cut.text;
    EXPECT_EQ(cut.last_line()["type_balances"].size(), 3U);
    for (const std::string model : {"rgcn", "rgat"}) {
      const Outcome whole =
          loss(model, "{\"path\": \"" + path("set") + "\", \"symmetric\": " + symmetric + "}");
      ASSERT_EQ(whole.exit_code, 0) << whole.text;
      const Outcome parts = loss(model, "{\"parts\": \"" + path("parts") + "\"}");
      ASSERT_EQ(parts.exit_code, 0) << parts.text;

      EXPECT_NEAR(parts.last_line()["loss"].get<double>(), whole.last_line()["loss"].get<double>(),
                  1e-5)
          << model;
    }
  }

  Json untyped;
  std::ifstream(folder_ / "set" / "meta.json") >> untyped;
  for (const char* key : {"vertex_types", "vertex_type_counts", "relations"}) untyped.erase(key);
  std::ofstream(folder_ / "set" / "meta.json") << untyped;
  fs::remove(folder_ / "set" / "edge_relations.npy");
  const Outcome cut =
      orrery(path("set") + " --stream --method hash --parts 3 --force --out " + path("parts"));
  ASSERT_EQ(cut.exit_code, 0) << cut.text;
  EXPECT_NE(loss("rgcn", "{\"parts\": \"" + path("parts") + "\"}")
                .text.find("error: dataset.parts: have edges without"),
            std::string::npos);
}

TEST_F(PartitionCommand, KeysThatARunCannotHonourAreRefused) {
  std::ofstream(folder_ / "one.json")
      << R"({"name": "one", "model": {"type": "gcn"}, "strategy": {"type": "full_graph"},
             "train": {"epochs": 1}, "cluster": {"ranks": 2},
             "dataset": {"generate": "communities", "vertices": 60, "edges": 200}})";
  const auto told = [&](const std::string& settings, const std::string& command = "run") {
    return orrery(path("one.json") + " " + settings + " --out " + path(command), command).text;
  };

  for (const std::string hops : {"0", "2"})
    EXPECT_NE(told("--set partition.hops=" + hops).find("error: partition.hops: is for parts"),
              std::string::npos);
  EXPECT_NE(told("--set partition.parts=3").find("error: partition.parts: found 3, but 2 ranks"),
            std::string::npos);
  EXPECT_NE(told("--set partition.parts=many").find("error: partition.parts: found \"many\""),
            std::string::npos);
  EXPECT_NE(told("--set partition.working_bytes=9").find("error: partition.working_bytes: is for"),
            std::string::npos);
  EXPECT_NE(told("--stream --method spring", "partition").find("error: dataset.generate: makes"),
            std::string::npos);
  ASSERT_NE(told("--method hash", "partition").find("Try next"), std::string::npos);
  EXPECT_NE(told("--method hash", "partition").find("exists already"), std::string::npos);
  EXPECT_NE(orrery(path("one.json") + " --set partition.hops=2 --set 'dataset={\"parts\": \"" +
                       path("partition") + "\"}'",
                   "run")
                .text.find("error: partition: the parts are cut already"),
            std::string::npos);
  // The method that a strategy cuts by on its own is none of the file's.
  EXPECT_NE(
      orrery(path("one.json") + R"( --set 'strategy={"type": "mini_batch", "fanouts": [2, 2]}')" +
                 " --set 'dataset={\"parts\": \"" + path("partition") + "\"}'",
             "run")
          .text.find("error: dataset.parts: mini_batch draws neighbours among all edges"),
      std::string::npos);
}

TEST_F(PartitionCommand, DevicesAndDataSayHowManyParts) {
  const auto file = open_edge_file(folder_ / "edges.txt");
  const std::int64_t bytes = 16 * count_edges(*file).edges;  // both directions
  const std::int64_t room = 1000;                            // a third of the device
  int expected = 3;
  while (expected * room < bytes) expected += 3;

  const Json json = orrery(path("edges.txt") +
                           " --stream --method dbh --json --set cluster.ranks=3 --set "
                           "cluster.device_bytes=3000")
                        .last_line();
  EXPECT_EQ(json["parts"], expected);
  EXPECT_NE(json["parts_reason"].get<std::string>().find("3 devices with 2.93 KiB each"),
            std::string::npos)
      << json;
  EXPECT_EQ(orrery(path("edges.txt") + " --stream --method dbh --json").last_line()["parts"], 1);
  EXPECT_EQ(orrery(path("edges.txt") + " --stream --method dbh --json --set partition.parts=5")
                .last_line()["parts"],
            5);
  EXPECT_NE(orrery(path("edges.txt") + " --stream --method dbh --parts 3")
                .text.find("\n  number of parts     3: --parts\n"),
            std::string::npos);
}

TEST_F(PartitionCommand, MistakesAreToldInOneLine) {
  EXPECT_EQ(orrery(path("edges.txt") + " --stream --method metis --parts 2").text,
            "orrery: error: partition.method: \"metis\" does not cut a stream of edges, use one "
            "of: hash, fennel, ldg, dbh, powergraph, hdrf, 2ps-l, spring\n");
  EXPECT_EQ(orrery(path("edges.txt") + " --compare all --method dbh --parts 2").text,
            "orrery: error: --compare: and --method exclude each other\n");
  EXPECT_EQ(orrery(path("edges.txt") + " --method dbh --parts 2 --svg x.svg").text,
            "orrery: error: --svg: draws a comparison: give --compare all\n");
  EXPECT_EQ(orrery(path("edges.txt") + " --stream --method dbh --parts 2 --out " +
                   path("edges.txt/parts"))
                .text,
            "orrery: error: " + path("edges.txt/parts") +
                ": expected to create this folder, found: Not a directory\n");
  EXPECT_EQ(orrery(path(".") + " --stream --method dbh --parts 2").text,
            "orrery: error: --stream: needs a file of edges or a data set folder with meta.json "
            "and edges.npy, found " +
                path(".") + "; orrery dataset convert writes one\n");
  std::ofstream(folder_ / "cut.bin") << "123456789";
  EXPECT_EQ(orrery(path("cut.bin") + " --method dbh --parts 2").text,
            "orrery: error: " + path("cut.bin") +
                ":byte 8: expected pairs of int32 (8 bytes each), found 1 extra bytes: the file "
                "is cut short or has another format\n");
}

TEST_F(PartitionCommand, TellsTheBalanceOfEachTypeOfVertices) {
  std::ofstream(folder_ / "typed.json")
      << R"({"name": "typed", "dataset": {"generate": "typed-communities", "vertices": 2000,)"
      << R"( "edges": 16000, "features": 8, "classes": 4}, "model": {"type": "rgcn", "hidden": 8},)"
      << R"( "partition": {"method": "metis", "constraints": ["types", "edges"]},)"
      << R"( "strategy": {"type": "full_graph"}, "cluster": {"ranks": 4}})";
  const Outcome run = orrery(path("typed.json") + " --json");
  if (run.text.find("libmetis") != std::string::npos) GTEST_SKIP() << run.text;
  ASSERT_EQ(run.exit_code, 0) << run.text;
  const Json balances = run.last_line()["type_balances"];

  ASSERT_EQ(balances.size(), 3U);
  for (const char* type : {"paper", "author", "venue"}) {
    EXPECT_GE(balances[type].get<double>(), 1) << type;
    EXPECT_LE(balances[type].get<double>(), 1.1) << type;
  }
  EXPECT_TRUE(orrery(path("edges.txt") + " --method hash --parts 2 --json")
                  .last_line()["type_balances"]
                  .is_null());
}

}  // namespace
}  // namespace orrery
