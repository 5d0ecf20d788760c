// The arrows between the rooms point one way: every #include is read and held against the table
// below.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;

/// Which rooms a room may include, besides itself.
const std::map<std::string, std::set<std::string>> kAllowed{
    {"core/base", {}},
    {"core/graph", {"core/base"}},
    {"core/partition", {"core/base", "core/graph"}},
    {"core/sample", {"core/base", "core/graph", "core/partition"}},
    {"core/ops", {"core/base", "core/graph"}},
    {"core/cluster", {"core/base", "core/ops"}},
    {"core/runtime", {"core/base", "core/graph", "core/ops", "core/cluster"}},
    {"core/model", {"core/base", "core/graph", "core/ops", "core/runtime"}},
    {"core/strategy",
     {"core/base", "core/graph", "core/ops", "core/cluster", "core/runtime", "core/partition",
      "core/sample", "core/model"}},
    {"core/cost", {"core/base"}},
    {"sim", {"core/base", "core/graph", "core/ops", "core/cluster", "core/runtime"}},
    {"backends/reference", {"core/base", "core/graph", "core/ops", "core/runtime"}},
    {"backends/cpu", {"core/base", "core/graph", "core/ops", "core/runtime"}},
    {"backends/comm_threads", {"core/base", "core/graph", "core/ops", "core/runtime"}},
    {"backends/comm_mpi", {"core/base", "core/graph", "core/ops", "core/cluster", "core/runtime"}},
    {"backends/cuda", {"core/base", "core/graph", "core/ops", "core/runtime"}},
};
/// Headers of libraries that only some rooms may see.
const std::map<std::string, std::string> kLibraries{
    {"metis.h", "core/partition"},
    {"oneapi/", "backends/cpu"},
    {"boost/graph", "core/cluster"},
    {"cblas.h", "backends/cpu"},
    {"omp.h", "backends/cpu"},
    {"CLI/", "experiments"},
    {"valijson/", "experiments"},
    {"mpi.h", "backends/comm_mpi"},
    {"cuda", "backends/cuda"},
    {"nccl.h", "backends/cuda"},
    {"simgrid/", "sim"},
};
/// Programs that measure such a library itself, without anything of ours above it.
const std::set<std::pair<std::string, std::string>> kMeasuring{
    {"experiments/bench/link_bench.cpp", "mpi.h"},
};

std::string room_of(const std::string& path) {
  if (path.rfind("experiments/", 0) == 0) return "experiments";
  if (path.rfind("sim/", 0) == 0) return "sim";
  const auto slash = path.find('/', path.find('/') + 1);
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

struct Include {
  std::string from, header;
};

std::vector<Include> all_includes() {
  std::vector<Include> list;
  const fs::path root = ORRERY_SOURCES;
  const std::regex line_form(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"])");
  for (const char* top : {"core", "backends", "sim", "experiments"})
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      const std::string extension = entry.path().extension();
      if (extension != ".cpp" && extension != ".hpp") continue;
      std::ifstream in(entry.path());
      std::smatch found;
      for (std::string line; std::getline(in, line);)
        if (std::regex_search(line, found, line_form))
          list.push_back({fs::relative(entry.path(), root).string(), found[1]});
    }
  return list;
}

TEST(Rooms, IncludeOnlyWhatLiesBelowThem) {
  const auto includes = all_includes();
  EXPECT_GT(includes.size(), 300U) << "the sources were not found";
  for (const auto& [from, header] : includes) {
    const std::string room = room_of(from), other = room_of(header);
    const bool ours = header.rfind("core/", 0) == 0 || header.rfind("backends/", 0) == 0 ||
                      header.rfind("sim/", 0) == 0 || header.rfind("experiments/", 0) == 0;
    if (!ours || room == "experiments" || room == other) continue;
    ASSERT_TRUE(kAllowed.contains(room)) << from << ": room " << room << " is not in the table";
    EXPECT_TRUE(kAllowed.at(room).contains(other)) << from << " includes " << header;
  }
}

TEST(Rooms, KeepTheirLibrariesToThemselves) {
  for (const auto& [from, header] : all_includes())
    for (const auto& [prefix, home] : kLibraries)
      if (header.rfind(prefix, 0) == 0 && !kMeasuring.contains({from, prefix})) {
        EXPECT_EQ(room_of(from), home) << from << " includes " << header;
      }
}

TEST(Rooms, KeepTheSimulatorInOneFile) {
  for (const auto& [from, header] : all_includes())
    if (header.rfind("simgrid/", 0) == 0) {
      EXPECT_EQ(from, "sim/simgrid_network.cpp");
    }
}

/// The libraries that a program loads, as the loader lists them.
std::string libraries_of(const std::string& program) {
  const std::string file = ::testing::TempDir() + "libraries.txt";
  if (std::system(("ldd '" + program + "' > '" + file + "'").c_str()) != 0) return "";
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// MPI and the simulator must not share a process: each has a program of its own, and the plain one
/// has neither.
TEST(Programs, LoadOnlyTheirOwnLibraries) {
  const std::string plain = libraries_of(ORRERY_BUILD "/experiments/orrery");
  ASSERT_NE(plain.find("libc.so"), std::string::npos);
  EXPECT_EQ(plain.find("libmpi"), std::string::npos);
  EXPECT_EQ(plain.find("libsimgrid"), std::string::npos);
  for (const char* cuda : {"libcud", "libcublas", "libcusparse", "libnccl", "liborrery_cuda"})
    EXPECT_EQ(plain.find(cuda), std::string::npos) << "loaded only when it is asked for";
  if (!fs::exists(ORRERY_BUILD "/experiments/orrery-mpi")) return;
  const std::string mpi = libraries_of(ORRERY_BUILD "/experiments/orrery-mpi");
  EXPECT_NE(mpi.find("libmpi"), std::string::npos);
  EXPECT_EQ(mpi.find("libsimgrid"), std::string::npos);
  if (!fs::exists(ORRERY_BUILD "/sim/orrery-sim")) return;
  const std::string sim = libraries_of(ORRERY_BUILD "/sim/orrery-sim");
  EXPECT_NE(sim.find("libsimgrid"), std::string::npos);
  EXPECT_EQ(sim.find("libmpi"), std::string::npos);
}

}  // namespace
