// The arrows between the rooms point one way: every #include is read and held against the table
// below. Names stand for one thing each.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;

/// The rooms from the ground up, each with the rooms below it whose headers it may include besides
/// its own. A room is a folder.
const std::vector<std::pair<std::string, std::set<std::string>>> kRooms{
    {"core/terminal", {}},
    {"core/base", {"core/terminal"}},
    {"core/pch", {}},
    {"core/graph", {"core/base"}},
    {"core/graph/files", {"core/terminal", "core/base"}},
    {"core/graph/edges", {"core/base", "core/graph", "core/graph/files"}},
    {"core/graph/generate", {"core/base", "core/graph", "core/graph/files"}},
    {"core/graph/read",
     {"core/terminal", "core/base", "core/graph", "core/graph/files", "core/graph/edges",
      "core/graph/generate"}},
    {"core/partition/edges", {"core/base", "core/graph", "core/graph/files"}},
    {"core/partition", {"core/base", "core/graph", "core/partition/edges"}},
    {"core/partition/methods",
     {"core/base", "core/graph", "core/graph/files", "core/partition/edges", "core/partition"}},
    {"core/partition/kept",
     {"core/terminal", "core/base", "core/graph", "core/graph/files", "core/partition",
      "core/partition/methods"}},
    {"core/partition/parts",
     {"core/base", "core/graph", "core/graph/files", "core/graph/read", "core/partition/edges",
      "core/partition"}},
    {"core/sample", {"core/base", "core/graph", "core/partition"}},
    {"core/sample/bounds", {"core/base", "core/graph"}},
    {"core/sample/cache", {"core/base", "core/graph"}},
    {"core/sample/links",
     {"core/terminal", "core/base", "core/graph", "core/partition", "core/sample"}},
    {"core/ops", {"core/base", "core/graph"}},
    {"core/cluster", {"core/base", "core/ops"}},
    {"core/runtime", {"core/base", "core/graph", "core/ops", "core/cluster"}},
    {"core/runtime/check", {"core/base", "core/runtime"}},
    {"core/runtime/execute", {"core/base", "core/ops", "core/cluster", "core/runtime"}},
    {"core/model",
     {"core/base", "core/graph", "core/graph/edges", "core/sample/links", "core/ops",
      "core/runtime"}},
    {"core/model/relation", {"core/base", "core/model"}},
    {"core/model/network", {"core/base", "core/runtime", "core/model", "core/model/relation"}},
    {"core/strategy/config", {"core/base", "core/model", "core/sample"}},
    {"core/strategy/structure",
     {"core/terminal", "core/base", "core/graph", "core/graph/edges", "core/strategy/config",
      "core/partition", "core/partition/methods", "core/partition/parts", "core/sample",
      "core/sample/bounds", "core/sample/cache", "core/sample/links", "core/ops", "core/model"}},
    {"core/strategy/edges",
     {"core/base", "core/graph/edges", "core/sample", "core/runtime", "core/model",
      "core/strategy/structure"}},
    {"core/strategy/store",
     {"core/base", "core/graph/edges", "core/graph/files", "core/sample", "core/sample/cache",
      "core/ops", "core/runtime", "core/model", "core/strategy/structure", "core/strategy/edges"}},
    {"core/strategy/product",
     {"core/base", "core/runtime", "core/model", "core/strategy/structure", "core/strategy/edges",
      "core/strategy/store"}},
    {"core/strategy/batches",
     {"core/base", "core/model", "core/strategy/config", "core/strategy/structure",
      "core/strategy/product"}},
    {"core/strategy",
     {"core/base", "core/partition", "core/sample/links", "core/runtime", "core/model",
      "core/strategy/config", "core/strategy/structure", "core/strategy/edges",
      "core/strategy/store", "core/strategy/product", "core/strategy/batches"}},
    {"core/strategy/train",
     {"core/base", "core/sample/links", "core/runtime", "core/model", "core/model/network",
      "core/strategy/edges", "core/strategy/store", "core/strategy/product", "core/strategy"}},
    {"core/inference/layout", {"core/model", "core/ops", "core/sample"}},
    {"core/inference/input",
     {"core/base", "core/graph", "core/graph/files", "core/partition/edges"}},
    {"core/inference/sharing", {"core/base", "core/graph", "core/sample"}},
    {"core/inference",
     {"core/base", "core/graph", "core/graph/files", "core/sample", "core/runtime",
      "core/runtime/execute", "core/model", "core/model/network", "core/strategy/structure",
      "core/strategy/product", "core/inference/layout", "core/inference/input"}},
    {"core/cost", {"core/base"}},
    {"sim/price", {"core/base", "core/ops"}},
    {"sim/network", {"core/base"}},
    {"sim/cores", {"core/base", "sim/network"}},
    {"sim/collectives", {"core/base", "core/cluster", "sim/price"}},
    {"sim/replay",
     {"core/terminal", "core/base", "core/ops", "core/cluster", "core/runtime", "sim/price",
      "sim/network", "sim/cores", "sim/collectives"}},
    {"sim/traces", {"core/base", "core/ops", "sim/collectives", "sim/replay"}},
    {"backends/reference", {"core/base", "core/ops", "core/runtime/execute"}},
    {"backends/cpu", {"core/base", "core/ops", "core/runtime/execute"}},
    {"backends/cpu/isa", {"backends/cpu"}},
    {"backends/comm_threads", {"core/base", "core/runtime/execute"}},
    {"backends/comm_mpi",
     {"core/terminal", "core/base", "core/ops", "core/cluster", "core/runtime",
      "core/runtime/execute"}},
    {"backends/ptscotch", {"core/partition/methods"}},
    {"backends/cuda", {"core/base", "core/runtime", "core/runtime/execute"}},
    {"backends/cuda/device", {"core/base", "backends/cuda"}},
    {"experiments/pch", {}},
    {"experiments/execute",
     {"core/terminal", "core/base", "core/cluster", "core/runtime", "core/runtime/check",
      "core/runtime/execute", "backends/reference", "backends/cpu", "backends/comm_threads",
      "backends/comm_mpi", "backends/cuda"}},
    {"experiments/config/sweep", {"core/terminal", "core/base"}},
    {"experiments/config",
     {"experiments/config/sweep", "core/terminal", "core/base", "core/graph", "core/graph/edges",
      "core/graph/read", "core/partition", "core/partition/methods", "core/partition/kept",
      "core/sample/links", "core/cluster", "core/runtime", "core/model", "core/strategy/config",
      "core/inference/layout", "core/strategy", "core/strategy/train", "sim/price",
      "backends/cuda"}},
    {"experiments/predict",
     {"core/terminal", "core/base", "core/partition", "core/ops", "core/cluster", "core/runtime",
      "core/runtime/check", "core/model", "core/strategy", "core/strategy/structure",
      "core/strategy/train", "core/cost", "sim/price", "sim/replay", "experiments/execute",
      "experiments/config"}},
    {"experiments/predict/servers",
     {"core/base", "core/partition", "core/partition/parts", "core/runtime", "experiments/config",
      "experiments/predict"}},
    {"experiments/results",
     {"core/terminal", "core/base", "core/graph/files", "core/runtime", "core/model/network",
      "core/strategy/train", "experiments/execute", "experiments/config", "experiments/predict",
      "experiments/predict/servers"}},
    {"experiments/score",
     {"core/base", "core/graph", "core/graph/files", "core/strategy", "core/strategy/train",
      "experiments/execute", "experiments/config", "experiments/results"}},
    {"experiments/calibrate",
     {"core/terminal",
      "core/base",
      "core/graph",
      "core/graph/files",
      "core/graph/generate",
      "core/sample",
      "core/sample/links",
      "core/ops",
      "core/runtime",
      "core/runtime/execute",
      "core/strategy/product",
      "core/strategy/train",
      "sim/price",
      "backends/cpu",
      "backends/comm_threads",
      "backends/comm_mpi",
      "backends/cuda",
      "experiments/execute",
      "experiments/config",
      "experiments/predict",
      "experiments/results"}},
    {"experiments/run",
     {"core/terminal", "core/base", "core/graph/files", "core/graph/read", "core/partition/kept",
      "core/partition/parts", "core/strategy/config", "core/strategy/store", "core/runtime",
      "backends/comm_mpi", "backends/cuda", "experiments/execute", "experiments/config",
      "experiments/predict", "experiments/predict/servers", "experiments/results",
      "experiments/calibrate", "experiments/score"}},
    {"experiments/infer/kept",
     {"core/base", "core/graph/files", "core/inference", "experiments/results"}},
    {"experiments/infer/sharing",
     {"core/terminal", "core/base", "core/graph", "core/inference/sharing", "experiments/config",
      "experiments/results"}},
    {"experiments/infer",
     {"experiments/infer/kept", "core/terminal", "core/base", "core/graph/files", "core/graph/read",
      "core/runtime", "core/inference/input", "core/inference", "experiments/execute",
      "experiments/config", "experiments/predict", "experiments/results", "experiments/run"}},
    {"experiments/commands",
     {"core/terminal",
      "core/base",
      "core/graph",
      "core/graph/edges",
      "core/graph/files",
      "core/graph/generate",
      "core/graph/read",
      "core/partition/edges",
      "core/partition",
      "core/partition/methods",
      "core/partition/kept",
      "core/partition/parts",
      "core/sample",
      "core/cluster",
      "core/strategy/train",
      "core/cost",
      "experiments/config",
      "core/strategy/store",
      "experiments/predict",
      "experiments/predict/servers",
      "experiments/results",
      "experiments/calibrate",
      "experiments/run",
      "experiments/infer",
      "experiments/infer/sharing",
      "experiments/score",
      "sim/traces"}},
    {"experiments/advise",
     {"core/partition/methods", "core/terminal", "core/base", "core/graph/files", "core/ops",
      "core/strategy/config", "sim/price", "experiments/execute", "experiments/config",
      "experiments/predict", "experiments/predict/servers", "experiments/results",
      "experiments/calibrate", "experiments/run", "experiments/commands"}},
    {"experiments/starve",
     {"core/terminal", "core/base", "core/runtime", "core/strategy/config",
      "core/strategy/structure", "backends/comm_mpi", "experiments/execute", "experiments/config",
      "experiments/predict", "experiments/results", "experiments/calibrate", "experiments/run",
      "experiments/commands"}},
    {"experiments/command_line",
     {"core/terminal", "core/base", "backends/cuda", "experiments/config", "experiments/results",
      "experiments/commands"}},
    {"experiments",
     {"core/terminal", "core/base", "core/graph/files", "experiments/execute", "experiments/run",
      "experiments/command_line"}},
    {"experiments/bench",
     {"core/base",
      "core/graph",
      "core/graph/files",
      "core/graph/generate",
      "core/graph/read",
      "core/partition/edges",
      "core/partition",
      "core/partition/methods",
      "core/sample",
      "core/ops",
      "core/runtime",
      "core/runtime/execute",
      "core/model",
      "core/strategy/structure",
      "core/strategy",
      "core/strategy/train",
      "core/inference/input",
      "core/inference",
      "backends/reference",
      "backends/cpu",
      "backends/comm_threads",
      "backends/comm_mpi",
      "backends/cuda",
      "experiments/execute",
      "experiments/config",
      "experiments/predict",
      "experiments/infer"}},
    {"python/extension",
     {"core/base", "core/graph", "core/partition", "core/partition/methods", "core/sample",
      "core/ops", "core/runtime/execute", "backends/cpu"}},
};

/// Headers of libraries, by how their names begin, and the rooms that may see them.
const std::map<std::string, std::set<std::string>> kLibraries{
    {"metis.h", {"core/partition/methods"}},
    {"oneapi/", {"backends/cpu"}},
    {"boost/graph", {"core/cluster"}},
    {"cblas.h", {"backends/cpu"}},
    {"omp.h", {"backends/cpu"}},
    {"CLI/",
     {"experiments", "experiments/command_line", "experiments/commands", "experiments/advise",
      "experiments/starve"}},
    {"valijson/", {"experiments/config"}},
    {"mpi.h", {"backends/comm_mpi", "backends/ptscotch"}},
    {"scotch/", {"backends/ptscotch"}},
    {"cub/", {"backends/cuda/device"}},
    {"cublas", {"backends/cuda/device"}},
    {"cuda", {"backends/cuda/device"}},
    {"cusparse", {"backends/cuda/device"}},
    {"nanobind/", {"python/extension"}},
    {"nccl.h", {"backends/cuda/device"}},
    {"google/protobuf/", {"sim/traces"}},
    {"simgrid/", {"sim/network"}},
};
/// Programs that measure such a library itself, without anything of ours above it.
const std::set<std::pair<std::string, std::string>> kMeasuring{
    {"experiments/bench/link_bench.cpp", "mpi.h"},
};

/// The folder of a path: a room.
std::string room_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

struct Include {
  std::string from, header;
};

/// All C++ and CUDA sources of the project but its tests.
std::vector<std::string> all_sources() {
  const std::set<std::string> kinds{".cpp", ".hpp", ".cu", ".cuh", ".h"};
  const fs::path root = ORRERY_SOURCES;
  std::vector<std::string> paths;
  for (const char* top : {"core", "backends", "sim", "experiments", "python"})
    for (const auto& entry : fs::recursive_directory_iterator(root / top))
      if (kinds.contains(entry.path().extension()))
        paths.push_back(fs::relative(entry.path(), root).string());
  return paths;
}

std::string text_of(const std::string& path) {
  std::ifstream in(fs::path(ORRERY_SOURCES) / path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<Include> all_includes() {
  std::vector<Include> list;
  const std::regex line_form(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  for (const std::string& path : all_sources()) {
    std::istringstream in(text_of(path));
    std::smatch found;
    for (std::string line; std::getline(in, line);) {
      if (!std::regex_search(line, found, line_form)) continue;
      const std::string header = found[2];
      const bool beside = found[1] == "\"" && header.find('/') == std::string::npos;
      list.push_back({path, beside ? room_of(path) + "/" + header : header});
    }
  }
  return list;
}

TEST(Rooms, StandInTheTableAboveTheRoomsThatTheyMayInclude) {
  std::set<std::string> below;
  for (const auto& [room, allowed] : kRooms) {
    for (const std::string& other : allowed)
      EXPECT_TRUE(below.contains(other)) << room << " may include " << other;
    EXPECT_TRUE(below.insert(room).second) << room << " stands there twice";
  }
  for (const std::string& path : all_sources())
    EXPECT_TRUE(below.contains(room_of(path))) << path << ": its room is not in the table";
}

TEST(Rooms, IncludeOnlyWhatLiesBelowThem) {
  const std::map<std::string, std::set<std::string>> allowed(kRooms.begin(), kRooms.end());
  const auto includes = all_includes();
  EXPECT_GT(includes.size(), 2000U) << "the sources were not found";
  std::map<std::string, std::set<std::string>> used;
  for (const auto& [from, header] : includes) {
    const std::string room = room_of(from), other = room_of(header);
    if (!allowed.contains(other) || room == other) continue;
    EXPECT_TRUE(allowed.at(room).contains(other)) << from << " includes " << header;
    used[room].insert(other);
  }
  for (const auto& [room, others] : kRooms)
    for (const std::string& other : others)
      EXPECT_TRUE(used[room].contains(other)) << room << " no longer includes " << other;
}

TEST(Rooms, HoldAFewFilesEach) {
  // Rooms whose files all follow one pattern may hold more.
  const std::set<std::string> patterned{"backends/cuda",         "backends/cuda/device",
                                        "experiments/calibrate", "core/partition/methods",
                                        "core/graph/read",       "experiments/commands"};
  std::map<std::string, int> files;
  for (const std::string& path : all_sources()) ++files[room_of(path)];
  for (const auto& [room, count] : files)
    EXPECT_LE(count, patterned.contains(room) ? 35 : 26) << room << " is due to be divided";
}

TEST(Rooms, KeepTheirLibrariesToThemselves) {
  for (const auto& [from, header] : all_includes())
    for (const auto& [prefix, homes] : kLibraries)
      if (header.rfind(prefix, 0) == 0 && !kMeasuring.contains({from, prefix})) {
        EXPECT_TRUE(homes.contains(room_of(from))) << from << " includes " << header;
      }
}

TEST(Rooms, KeepTheSimulatorInOneFile) {
  for (const auto& [from, header] : all_includes())
    if (header.rfind("simgrid/", 0) == 0) {
      EXPECT_EQ(from, "sim/network/simgrid_interconnect.cpp");
    }
}

/// The text without comments, strings and characters, which may hold braces.
std::string code_of(const std::string& text) {
  const std::regex no_code(
      R"(//[^\n]*|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+')");
  return std::regex_replace(text, no_code, " ");
}

/// The types that a header defines in namespaces: "orrery::sim::Message". Those within a class
/// cannot meet another one's.
std::vector<std::string> types_of(const std::string& header) {
  struct Scope {
    std::string name;
    bool is_namespace;
  };
  const std::string code = code_of(text_of(header));
  const std::regex token(
      R"(\bnamespace\s+([\w:]+)?\s*\{|\b(?:class|struct|union)\s+(?:alignas\s*\([^)]*\)\s*)?(\w+)(?:\s+final)?\s*(?::[^:;{][^;{]*)?\{|\benum\s+(?:class\s+)?(\w+)[^;{]*\{|\{|\})");
  std::vector<Scope> open;
  std::vector<std::string> types;
  for (std::sregex_iterator it(code.begin(), code.end(), token), end; it != end; ++it) {
    const std::string text = it->str();
    if (text == "}") {
      if (!open.empty()) open.pop_back();
      continue;
    }
    const std::string type = (*it)[2].matched ? (*it)[2] : (*it)[3];
    const bool in_namespaces =
        std::all_of(open.begin(), open.end(), [](const Scope& s) { return s.is_namespace; });
    if (!type.empty() && in_namespaces) {
      std::string name;
      for (const Scope& scope : open) name += scope.name + "::";
      types.push_back(name + type);
    }
    open.push_back({(*it)[1], text.rfind("namespace", 0) == 0});
  }
  return types;
}

/// Two types of one name in one program are undefined behaviour that no compiler sees.
TEST(Names, OfTypesStandForOneTypeEach) {
  std::map<std::string, std::string> header_of;
  for (const std::string& path : all_sources()) {
    const std::string kind = fs::path(path).extension();
    if (kind == ".cpp" || kind == ".cu") continue;
    for (const std::string& type : types_of(path)) {
      const auto [first, fresh] = header_of.try_emplace(type, path);
      EXPECT_TRUE(fresh || first->second == path)
          << type << " is defined in " << first->second << " and in " << path;
    }
  }
  EXPECT_GT(header_of.size(), 300U) << "the headers were not read";
  EXPECT_TRUE(header_of.contains("orrery::sim::Message"));
  EXPECT_TRUE(header_of.contains("orrery::Edge"));
}

/// A header that several rooms have by the same name cannot be told apart in conversation.
TEST(Names, OfHeadersStandForOneThingEach) {
  std::map<std::string, std::string> room_of_name;
  for (const std::string& path : all_sources()) {
    if (fs::path(path).extension() != ".hpp") continue;
    const std::string name = fs::path(path).filename();
    const auto [first, fresh] = room_of_name.try_emplace(name, path);
    EXPECT_TRUE(fresh) << path << " and " << first->second;
  }
}

std::vector<std::string> all_headers() {
  const std::set<std::string> kinds{".hpp", ".cuh", ".h"};
  std::vector<std::string> paths;
  for (const std::string& path : all_sources())
    if (kinds.contains(fs::path(path).extension())) paths.push_back(path);
  return paths;
}

/// "Errors", "Shapes" and their like are found by the eye only at the beginning of a line, with
/// what belongs to them behind and below, aligned.
TEST(Comments, BeginALineWithATag) {
  const std::string tag =
      "(Shapes|Placement|Units|Requires|Errors|Aliasing|Cost|Source|Departs|Rule)";
  const std::regex within("^\\s*//.*\\S(\\s{2,}" + tag + "\\b|[.;:)]\\s+" + tag + "(\\s{2,}|:))");
  const std::regex begins("^\\s*/// " + tag + "\\s+\\S.*"), goes_on("^\\s*/// \\S.*");
  ASSERT_TRUE(std::regex_search("  /// Frees it.   Errors  none", within));
  ASSERT_TRUE(std::regex_search("/// for ever. Requires  all", within));

  for (const std::string& path : all_headers()) {
    std::istringstream in(text_of(path));
    bool tagged = false;
    for (std::string line; std::getline(in, line);) {
      EXPECT_FALSE(std::regex_search(line, within)) << path << ": " << line;
      const bool is_tag = std::regex_match(line, begins);
      EXPECT_FALSE(tagged && !is_tag && std::regex_match(line, goes_on))
          << path << ": goes on below a tag and is not indented: " << line;
      tagged = is_tag;
    }
  }
}

TEST(Comments, BreakNoDeclaration) {
  const std::regex broken(R"(=\n[^\n;]*; *//)");
  ASSERT_TRUE(std::regex_search("bool held =\n    true;  ///< by one", broken));

  for (const std::string& path : all_headers())
    EXPECT_FALSE(std::regex_search(text_of(path), broken)) << path;
}

/// The libraries that a program loads, as the loader lists them.
std::string libraries_of(const std::string& program) {
  const std::string file = ::testing::TempDir() + "libraries.txt";
  if (std::system(("ldd '" + program + "' > '" + file + "'").c_str()) != 0) return "";
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Objects of a program compiled without optimisation bring their own copies of inline functions,
/// and the linker may take these for all.
TEST(Programs, HoldNoCodeThatIsNotOptimised) {
  std::ifstream in(ORRERY_BUILD "/compile_commands.json");
  int of_programs = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.find("\"command\":") == std::string::npos ||
        line.find(" -c ../tests/") != std::string::npos ||
        line.find(" -Itests/") != std::string::npos)
      continue;
    ++of_programs;
    EXPECT_EQ(line.find(" -O0"), std::string::npos) << line;
  }
  EXPECT_GT(of_programs, 200) << "the commands were not read";
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
