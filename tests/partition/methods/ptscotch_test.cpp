// PT-Scotch: a cut by several processes, against brute force, METIS and what is to go wrong.
#include "core/partition/methods/ptscotch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>

#include "core/base/child_process.hpp"
#include "core/base/error.hpp"
#include "core/base/temporary_folder.hpp"
#include "core/graph/read/load.hpp"
#include "core/graph/read/lookup.hpp"
#include "core/partition/methods/cut.hpp"
#include "core/partition/methods/metis.hpp"
#include "core/partition/methods/ptscotch_job.hpp"
#include "tests/partition/graphs.hpp"
#include "tests/partition/part_sizes.hpp"

namespace orrery {
namespace {

using ::testing::HasSubstr;

/// Sets a variable of the environment until it goes.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) before_ = old;
    ::setenv(name, value.c_str(), 1);
  }
  ~Setting() {
    if (before_)
      ::setenv(name_, before_->c_str(), 1);
    else
      ::unsetenv(name_);
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_{};
};

class Ptscotch : public ::testing::Test {
 protected:
  void SetUp() override {
    if (ptscotch_version() == "none") GTEST_SKIP() << "not in this build";
  }
};

PartitionOptions by_ptscotch(int processes = 2, std::uint64_t seed = 1) {
  PartitionOptions options;
  options.method = "ptscotch";
  options.seed = seed;
  options.ptscotch.processes = processes;
  return options;
}

/// Two cliques of six vertices with one edge between them, numbered alternately.
Csr two_cliques() {
  NamedGraph graph{"two cliques", 12, {{0, 1}}};
  for (Vertex v = 0; v < 12; ++v)
    for (Vertex u = v % 2; u < v; u += 2) graph.edges.push_back({u, v});
  return symmetric_csr(graph);
}

/// The least number of cut entries of all cuts into two parts of equally many vertices.
std::int64_t least_cut_in_halves(const Csr& graph) {
  std::int64_t least = graph.nnz();
  for (unsigned half = 0; half < 1U << graph.rows; ++half) {
    if (__builtin_popcount(half) * 2 != graph.rows) continue;
    std::int64_t cut = 0;
    for (std::int64_t v = 0; v < graph.rows; ++v)
      for (const Vertex u : graph.row(v)) cut += (half >> v & 1U) != (half >> u & 1U) ? 1 : 0;
    least = std::min(least, cut);
  }
  return least;
}

TEST_F(Ptscotch, FindsTheLeastCutOfATinyGraph) {
  const Csr graph = two_cliques();
  PartitionOptions options = by_ptscotch();
  options.metis.constraints = {Constraint::vertices};
  for (const int processes : {1, 2, 3}) {
    options.ptscotch.processes = processes;

    const Partition cut = partition_graph(graph, 2, options);

    EXPECT_EQ(sizes_of(cut), (std::vector<std::int64_t>{6, 6})) << processes;
    EXPECT_EQ(std::lround(edge_cut(graph, cut) * static_cast<double>(graph.nnz())),
              least_cut_in_halves(graph))
        << processes;
  }
}

/// Loops, duplicates, isolated vertices, several components, fewer vertices than parts.
TEST_F(Ptscotch, GivesEveryVertexOfEveryGraphAPart) {
  for (const NamedGraph& named : adversarial_graphs())
    for (const int parts : {1, 3, 100}) {
      SCOPED_TRACE(named.name + " into " + std::to_string(parts));
      const Csr graph = graph_of(named, false);

      const Partition cut = partition_graph(graph, parts, by_ptscotch(3));

      ASSERT_EQ(cut.parts, parts);
      ASSERT_EQ(static_cast<std::int64_t>(cut.owner.size()), named.vertices);
      for (const auto owner : cut.owner) ASSERT_TRUE(0 <= owner && owner < parts) << owner;
      const auto used = std::set(cut.owner.begin(), cut.owner.end()).size();
      if (named.vertices <= parts) {
        EXPECT_EQ(static_cast<std::int64_t>(used), parts == 1 ? 1 : named.vertices);
      }
    }
}

TEST_F(Ptscotch, DependsOnTheSeedAndTheNumberOfProcessesAlone) {
  const Csr graph = symmetric_csr({"random", 3000, random_edges(3000, 12000, 9)});
  const auto owners = [&](int processes, std::uint64_t seed) {
    return partition_graph(graph, 5, by_ptscotch(processes, seed)).owner;
  };
  const auto first = owners(2, 1);

  EXPECT_EQ(owners(2, 1), first);
  EXPECT_NE(owners(2, 2), first);
  EXPECT_NE(owners(3, 1), first);
}

/// Weights are not those that a cut has by chance: training vertices lie in a corner of the grid.
TEST_F(Ptscotch, BalancesTheConstraintThatIsAskedFor) {
  constexpr Vertex kSide = 48;
  NamedGraph named{"grid", kSide * kSide, {}};
  for (Vertex v = 0; v < kSide * kSide; ++v) {
    if (v % kSide + 1 < kSide) named.edges.push_back({v, v + 1});
    if (v + kSide < kSide * kSide) named.edges.push_back({v, v + kSide});
  }
  const Csr graph = symmetric_csr(named);
  std::vector<Split> split(kSide * kSide, Split::test);
  std::fill(split.begin(), split.begin() + kSide * 8, Split::train);
  const auto training_balance = [&](Constraint constraint) {
    PartitionOptions options = by_ptscotch();
    options.metis.constraints = {constraint};
    const Partition cut = partition_graph(graph, 4, options, split);
    std::vector<int> trained(4);
    for (std::size_t v = 0; v < split.size(); ++v)
      if (split[v] == Split::train) ++trained[static_cast<std::size_t>(cut.owner[v])];
    return *std::max_element(trained.begin(), trained.end()) * 4.0 / (kSide * 8);
  };

  EXPECT_LE(training_balance(Constraint::training), 1.03);
  EXPECT_GT(training_balance(Constraint::vertices), 1.5);
}

struct Real {
  const char* name;
  int parts;
};

class PtscotchOnRealGraphs : public ::testing::TestWithParam<Real> {};

TEST_P(PtscotchOnRealGraphs, CutsAboutAsFewEdgesAsMetisWithinTheImbalance) try {
  const auto [name, parts] = GetParam();
  if (ptscotch_version() == "none") GTEST_SKIP() << "not in this build";
  if (std::getenv("ORRERY_DATA") == nullptr || !find_dataset(name))
    GTEST_SKIP() << "no " << name << " in the folders of ORRERY_DATA";
  DatasetOptions set;
  set.path = name;
  const Csr graph = symmetrise(*load_dataset(set).graph);
  PartitionOptions options = by_ptscotch();
  const Partition cut = partition_graph(graph, parts, options);
  options.method = "metis";
  const Partition metis = partition_graph(graph, parts, options);
  std::vector<double> work(static_cast<std::size_t>(parts));
  double all = 0;
  for (std::int64_t v = 0; v < graph.rows; ++v) {
    const auto row = graph.row(v);
    const double weight = 1 + static_cast<double>(graph.degree(v)) -
                          static_cast<double>(std::count(row.begin(), row.end(), v));
    work[static_cast<std::size_t>(cut.owner[static_cast<std::size_t>(v)])] += weight;
    all += weight;
  }

  EXPECT_LE(*std::max_element(work.begin(), work.end()) * parts / all, 1.03 + 1e-9);
  EXPECT_GT(*std::min_element(work.begin(), work.end()), 0);
  // At random it would be 1 - 1 / parts, which is more than three times the cut of METIS.
  EXPECT_LE(edge_cut(graph, cut), 1.5 * edge_cut(graph, metis));
  EXPECT_GE(edge_cut(graph, cut), 0.7 * edge_cut(graph, metis));
} catch (const NotBuilt& error) {
  GTEST_SKIP() << error.what();
}

INSTANTIATE_TEST_SUITE_P(Sets, PtscotchOnRealGraphs,
                         ::testing::Values(Real{"cora", 4}, Real{"citeseer", 8}, Real{"pubmed", 16},
                                           Real{"coauthor-cs", 4}),
                         [](const auto& set) {
                           std::string name = set.param.name;
                           std::erase(name, '-');
                           return name;
                         });

/// The rank of a job starts processes that are none of its job.
TEST_F(Ptscotch, WorksWithinAJob) {
  const Csr graph = symmetric_csr({"random", 300, random_edges(300, 900, 9)});
  const auto alone = partition_graph(graph, 3, by_ptscotch()).owner;
  const Setting rank("PMIX_RANK", "0"), space("PMIX_NAMESPACE", "nobody's"),
      server("PMIX_SERVER_URI2", "nobody.0;tcp4://127.0.0.1:1"), world("OMPI_COMM_WORLD_RANK", "0"),
      ess("OMPI_MCA_ess", "^singleton,hnp,tool,env"), slurm("SLURM_JOB_ID", "1"),
      nodes("SLURM_NODELIST", "nowhere[1-2]");

  EXPECT_EQ(partition_graph(graph, 3, by_ptscotch()).owner, alone);
}

TEST_F(Ptscotch, BalancesOneConstraintOnly) {
  PartitionOptions options = by_ptscotch();
  options.metis.constraints = {Constraint::vertices, Constraint::edges};
  try {
    partition_graph(two_cliques(), 2, options);
    ADD_FAILURE() << "two constraints were taken";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.path, "partition.constraints");
    EXPECT_THAT(error.what(), HasSubstr("balances one quantity, found 2"));
  }
}

TEST_F(Ptscotch, SaysThatMpirunIsMissing) {
  const TemporaryFolder programs("programs");
  std::filesystem::create_symlink("/usr/bin/env", programs.path() / "env");
  const Setting path("PATH", programs.path().string());
  try {
    partition_graph(two_cliques(), 2, by_ptscotch());
    ADD_FAILURE() << "it was cut without mpirun";
  } catch (const NotBuilt& error) {
    EXPECT_THAT(error.what(), HasSubstr("needs mpirun, which is not here: install openmpi-bin"));
  }
}

TEST_F(Ptscotch, SaysWhatAFailingJobSaid) {
  const TemporaryFolder programs("programs");
  std::ofstream(programs.path() / "mpirun") << "#!/bin/sh\necho no slots left >&2\nexit 3\n";
  std::filesystem::permissions(programs.path() / "mpirun", std::filesystem::perms::owner_all);
  const Setting path("PATH", programs.path().string() + ":/usr/bin:/bin");
  try {
    partition_graph(two_cliques(), 2, by_ptscotch());
    ADD_FAILURE() << "it was cut by a job that failed";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "ptscotch: the job of 2 processes ended with status 3: no slots left");
  }
}

/// A job of one process may be started without mpirun.
TEST_F(Ptscotch, RefusesAGraphThatExceedsItsIndices) {
  const TemporaryFolder folder("job");
  const auto program = program_beside("backends/ptscotch/orrery-ptscotch");
  ASSERT_TRUE(program);
  const auto run = [&](const PtscotchJob& job) {
    std::ofstream(folder.path() / "job", std::ios::binary)
        .write(reinterpret_cast<const char*>(&job), sizeof job);
    return run_program({*program, folder.path() / "job", folder.path() / "parts"},
                       folder.path() / "errors");
  };
  const auto said = [&] {
    std::ifstream in(folder.path() / "errors");
    return std::string(std::istreambuf_iterator<char>(in), {});
  };

  const auto large = run({4, std::int64_t{1} << 62, 2, 1, 1.03});
  ASSERT_TRUE(large);
  EXPECT_FALSE(large->succeeded());
  EXPECT_THAT(said(),
              ::testing::AnyOf(HasSubstr("4611686018427387904 adjacency entries and vertices of"),
                               HasSubstr("ends too early")))  // where the library counts to 2^63
      << said();
  const auto cut_short = run({4, 6, 2, 1, 1.03});
  ASSERT_TRUE(cut_short);
  EXPECT_FALSE(cut_short->succeeded());
  EXPECT_THAT(said(), HasSubstr("ends too early"));
}

}  // namespace
}  // namespace orrery
