// A directed graph changes what is trained: the run says so, in words and in its config.json.
#include <gtest/gtest.h>

#include "tests/experiments/commands/started_program.hpp"

namespace orrery {
namespace {

class DirectedGraph : public testing::StartedProgram {
 protected:
  /// Two circles that share a vertex, in the folder format, with two classes and no features.
  DirectedGraph() {
    std::filesystem::create_directories(in("data"));
    std::ofstream(in("data/meta.json"))
        << R"({"name": "circles", "num_nodes": 4, "num_edges": 5, "num_classes": 2})";
    write("edges.npy", "(2, 5)", {0, 1, 2, 3, 0, 1, 2, 3, 0, 2});
    write("labels.npy", "(4,)", {0, 1, 0, 1});
  }
  /// A NumPy file of 32-bit numbers.
  void write(const std::string& file, const std::string& shape,
             const std::vector<std::int32_t>& numbers) const {
    std::string header =
        fmt::format("{{'descr': '<i4', 'fortran_order': False, 'shape': {}, }}", shape);
    header += std::string(117 - header.size(), ' ') + "\n";  // 128 bytes with the 10 before it
    std::ofstream out(in("data/" + file), std::ios::binary);
    out.write("\x93NUMPY\x01\x00\x76\x00", 10);
    out << header;
    out.write(reinterpret_cast<const char*>(numbers.data()),
              static_cast<std::streamsize>(4 * numbers.size()));
  }
  /// Counts a forward and backward pass of the graph on two GPUs; nothing is trained.
  void simulate(const std::string& more = "") {
    std::ofstream(in("e.json")) << R"({"name": "d", "backend": "sim",
        "dataset": {"path": ")" << in("data").string()
                                << R"(", "features": {"random": 8}, "split": "random"},
        "model": {"type": "gcn", "hidden": 8}, "strategy": {"type": "spmm_1d"},
        "cluster": {"file": "dgx-1", "gpus": 2}})";
    ASSERT_EQ(orrery("run " + in("e.json").string() + " --force --out " + in("a").string() + more),
              0)
        << read("err");
  }
};

TEST_F(DirectedGraph, IsToldWithTheNormalisationThatItTakes) {
  simulate();

  EXPECT_NE(read("err").find("the graph is directed"), std::string::npos) << read("err");
  EXPECT_NE(read("err").find("dataset.symmetric=true"), std::string::npos) << read("err");
  EXPECT_EQ(json("a/config.json")["model"]["normalisation"], "row");
}

TEST_F(DirectedGraph, ThatItsFolderCallsUndirectedIsAnErrorThatNamesAnEdge) {
  std::ofstream(in("data/meta.json"))
      << R"({"name": "circles", "num_nodes": 4, "num_edges": 5, "num_classes": 2, "directed": false})";
  const std::string arguments = "plan " + experiment(R"(, "strategy": {"type": "full_graph"})") +
                                " --set 'dataset={\"path\": \"" + in("data").string() +
                                "\", \"features\": {\"random\": 8}}'";

  EXPECT_EQ(orrery(arguments), 1);

  // 0 -> 2 is the only edge between these two; all others belong to the circle 0, 1, 2, 3.
  EXPECT_NE(read("err").find("directed"), std::string::npos) << read("err");
  EXPECT_NE(read("err").find("edge 3 -> 0 has no reverse; set dataset.symmetric to true"),
            std::string::npos)
      << read("err");
  EXPECT_EQ(orrery(arguments + " --set dataset.symmetric=true"), 0) << read("err");
  EXPECT_EQ(orrery("dataset info " + in("data").string()), 0) << read("err");
  EXPECT_NE(read("err").find("of meta.json is false, but edge 3 -> 0 has no reverse"),
            std::string::npos)
      << read("err");
}

TEST_F(DirectedGraph, ThatItsFolderCallsUndirectedIsNotCutAsAStreamEither) {
  const auto say = [&](const char* directed) {
    std::ofstream(in("data/meta.json"))
        << R"({"name": "circles", "num_nodes": 4, "num_edges": 5, "num_classes": 2, "directed": )"
        << directed << "}";
  };
  const std::string cut = "partition " + in("data").string() + " --parts 2 --method dbh";
  say("false");

  EXPECT_EQ(orrery(cut), 1);
  const std::string loaded = read("err");
  EXPECT_EQ(orrery(cut + " --stream"), 1);
  EXPECT_EQ(read("err"), loaded);
  EXPECT_NE(loaded.find("is false, but edge 3 -> 0 has no reverse"), std::string::npos) << loaded;
  EXPECT_EQ(orrery(cut + " --stream --set dataset.symmetric=true"), 0) << read("err");
  say("true");
  EXPECT_EQ(orrery(cut + " --stream"), 0) << read("err");
}

TEST_F(DirectedGraph, WithTheReverseOfItsEdgesIsNone) {
  simulate(" --set dataset.symmetric=true");

  EXPECT_EQ(read("err").find("the graph is directed"), std::string::npos) << read("err");
  EXPECT_EQ(json("a/config.json")["model"]["normalisation"], "symmetric");
}

}  // namespace
}  // namespace orrery
