// Cuts that a folder keeps are those that are made without it, whatever happens to the folder.
#include "core/partition/kept/kept_cuts.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <functional>

#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#include "core/base/temporary_folder.hpp"
#include "core/partition/kept/cut_file.hpp"
#include "core/partition/kept/cut_key.hpp"
#include "core/partition/kept/cut_report.hpp"
#include "core/partition/kept/digest.hpp"
#include "core/partition/methods/metis.hpp"
#include "core/partition/methods/partitioner.hpp"
#include "core/partition/methods/ptscotch.hpp"
#include "experiments/config/load_problem.hpp"
#include "tests/experiments/config/minimal.hpp"
#include "tests/partition/graphs.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr int kParts = 4;

Dataset some_data(std::uint64_t seed = 1) {
  Dataset data;
  data.graph =
      std::make_shared<const Csr>(symmetric_csr({"random", 600, random_edges(600, 3000, seed)}));
  data.split.assign(600, Split::train);
  return data;
}

PartitionOptions by(const std::string& method, std::uint64_t seed = 1) {
  PartitionOptions options;
  options.method = method;
  options.seed = seed;
  return options;
}

bool is_built(const std::string& method) {
  if (method == "ptscotch") return ptscotch_version() != "none";
  return method != "metis" || metis_version() != "none";
}

std::vector<std::string> kept_methods() {
  std::vector<std::string> names;
  for (const Partitioner& method : partitioners())
    if (is_kept(method.name) && is_built(method.name)) names.push_back(method.name);
  return names;
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class KeptCuts : public ::testing::Test {
 protected:
  MadeCut cut(const PartitionOptions& options = by("spring")) const {
    return make_or_take_cut(data_, kParts, options, folder());
  }
  fs::path folder() const { return temporary_.path() / "cuts"; }
  CutName name(const std::string& method = "spring") const {
    return {key_of_cut(data_, kParts, by(method)), kParts, data_.vertices()};
  }
  fs::path file() const { return folder() / (name().key + ".cut"); }
  std::size_t files() const {
    if (!fs::exists(folder())) return 0;
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder()), {}));
  }
  void write(const std::string& bytes) const {
    std::ofstream(file(), std::ios::binary | std::ios::trunc) << bytes;
  }

  const TemporaryFolder temporary_{"kept-cuts"};
  const Dataset data_ = some_data();
};

TEST_F(KeptCuts, AreThoseThatAreMadeWithoutTheFolderBitForBit) {
  std::size_t kept = 0;
  for (const std::string& method : kept_methods()) {
    const MadeCut anew = make_or_take_cut(data_, kParts, by(method), {});
    const MadeCut first = cut(by(method)), second = cut(by(method));
    EXPECT_FALSE(first.kept) << method;
    EXPECT_TRUE(second.kept) << method;
    EXPECT_EQ(first.partition.owner, anew.partition.owner) << method;
    EXPECT_EQ(second.partition.owner, anew.partition.owner) << method;
    EXPECT_EQ(second.partition.parts, kParts);
    EXPECT_NEAR(second.seconds, first.seconds, 1e-3) << "the time that it took to make";
    EXPECT_EQ(files(), ++kept) << method;
  }
  EXPECT_GE(kept, 7U);
}

/// A new method has to be put on one of the two sides.
TEST_F(KeptCuts, AreThoseOfMethodsThatLookAtEdges) {
  const std::set<std::string> formulas{"hash",         "random",         "block",
                                       "degree_block", "training_block", "file"};
  for (const Partitioner& method : partitioners())
    EXPECT_NE(is_kept(method.name), formulas.contains(method.name)) << method.name;
  EXPECT_FALSE(is_kept("from outside"));
  EXPECT_FALSE(cut(by("hash")).kept);
  EXPECT_FALSE(cut(by("hash")).kept);
  EXPECT_EQ(files(), 0U);
}

TEST_F(KeptCuts, HaveANameForEverythingThatTheyDependOn) {
  std::set<std::string> keys;
  std::size_t variants = 0;
  const auto expect_new = [&](const std::string& what, const Dataset& data, int parts,
                              const std::function<void(PartitionOptions&)>& change) {
    PartitionOptions options = by("metis");
    change(options);
    EXPECT_TRUE(keys.insert(key_of_cut(data, parts, options)).second) << what;
    EXPECT_EQ(keys.size(), ++variants) << what;
  };
  const auto nothing = [](PartitionOptions&) {};
  expect_new("the first", data_, 4, nothing);
  expect_new("parts", data_, 5, nothing);
  expect_new("graph", some_data(2), 4, nothing);
  expect_new("seed", data_, 4, [](auto& o) { o.seed = 2; });
  expect_new("method", data_, 4, [](auto& o) { o.method = "dbh"; });
  expect_new("processes", data_, 4, [](auto& o) { o.method = "ptscotch"; });
  expect_new("more processes", data_, 4, [](auto& o) {
    o.method = "ptscotch";
    o.ptscotch.processes = 3;
  });
  expect_new("another method", data_, 4, [](auto& o) { o.method = "fennel"; });
  expect_new("parameter", data_, 4, [](auto& o) {
    o.method = "fennel";
    o.fennel.gamma = 1.4;
  });
  expect_new("objective", data_, 4, [](auto& o) { o.metis.volume = true; });
  expect_new("levels", data_, 4, [](auto& o) { o.metis.servers = 2; });
  expect_new("balance", data_, 4, [](auto& o) { o.metis.balance = 1.04; });
  expect_new("constraints", data_, 4, [](auto& o) {
    o.metis.constraints = {Constraint::work, Constraint::training};
  });
  Dataset data = some_data();
  data.split.back() = Split::test;
  expect_new("split", data, 4, nothing);
  data = some_data();
  auto typed = std::make_shared<TypedGraph>();
  typed->types = {{"a", 0, 200}, {"b", 200, 400}};
  data.typed = typed;
  expect_new("types", data, 4, nothing);
}

TEST_F(KeptCuts, AreNamedWithoutWhatTheyDoNotDependOn) {
  Dataset data = some_data();
  data.name = "another";
  data.labels.values.assign(600, 1);
  PartitionOptions options = by("spring", 2);  // which draws nothing
  options.fennel.gamma = 1.4;
  options.file = "elsewhere";
  EXPECT_EQ(key_of_cut(data, kParts, options), name().key);
}

TEST_F(KeptCuts, ThatAreDamagedAreMadeAgain) {
  const std::vector<std::int32_t> expected = cut().partition.owner;
  const std::string whole = text_of(file());
  std::vector<std::string> damaged{"", "\n", "another file\n", whole + "x", whole + whole};
  for (std::size_t i = 0; i < whole.size(); i += i < 130 ? 1 : 131) {
    damaged.push_back(whole.substr(0, i));
    damaged.push_back(whole);
    damaged.back()[i] ^= 1;
  }
  damaged.push_back(cut_bytes(name("ldg"), {expected, 1}));
  damaged.push_back(cut_bytes({name().key, kParts + 1, 600}, {expected, 1}));
  damaged.push_back(cut_bytes({name().key, kParts, 599}, {std::vector<std::int32_t>(599), 1}));
  damaged.push_back(cut_bytes(name(), {std::vector<std::int32_t>(600, kParts), 1}));
  damaged.push_back(cut_bytes(name(), {std::vector<std::int32_t>(600, -1), 1}));
  for (const std::string& bytes : damaged) {
    write(bytes);
    const MadeCut made = cut();
    EXPECT_FALSE(made.kept) << bytes.substr(0, 130);
    EXPECT_EQ(made.partition.owner, expected);
    EXPECT_TRUE(cut().kept) << "the damaged file is replaced";
  }
}

TEST_F(KeptCuts, AreMadeWhereSomethingElseLies) {
  const std::vector<std::int32_t> expected = cut().partition.owner;
  const auto expect_made = [&](const std::string& what) {
    const MadeCut made = cut();
    EXPECT_FALSE(made.kept) << what;
    EXPECT_EQ(made.partition.owner, expected) << what;
    fs::remove_all(file());
  };
  fs::remove(file());
  fs::create_directory(file());
  expect_made("a folder");
  ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);
  expect_made("a pipe");
  fs::create_symlink(file(), file());
  expect_made("a link to itself");
}

TEST_F(KeptCuts, AreLostWhereTheFolderCannotBeWritten) {
  const std::vector<std::int32_t> expected =
      make_or_take_cut(data_, kParts, by("spring"), {}).partition.owner;
  std::ofstream(temporary_.path() / "a file") << "text";
  for (const fs::path& nowhere :
       {temporary_.path() / "a file", temporary_.path() / "a file" / "below", fs::path("/proc/no"),
        fs::path(std::string(5000, 'x'))})
    for (int again = 0; again < 2; ++again) {
      const MadeCut made = make_or_take_cut(data_, kParts, by("spring"), nowhere);
      EXPECT_FALSE(made.kept) << nowhere;
      EXPECT_EQ(made.partition.owner, expected) << nowhere;
    }
}

TEST_F(KeptCuts, MayBeMadeByProcessesAtOnce) {
  const std::vector<std::int32_t> expected =
      make_or_take_cut(data_, kParts, by("spring"), {}).partition.owner;
  std::array<pid_t, 4> children{};
  for (pid_t& child : children) {
    child = ::fork();
    if (child != 0) continue;
    const ThreadPool alone(1);  // the threads of the parent are not here
    bool same = true;
    for (int i = 0; i < 20; ++i) {
      same = same && cut().partition.owner == expected;
      if (i % 3 == 0) fs::remove(file());
    }
    ::_exit(same ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  cut();
  EXPECT_TRUE(cut().kept);
  EXPECT_EQ(files(), 1U) << "nothing half-written is left";
}

/// Sets ORRERY_CACHE for as long as it lives.
class CacheVariable {
 public:
  explicit CacheVariable(const fs::path& folder) {
    if (const char* before = std::getenv("ORRERY_CACHE")) before_ = before;
    ::setenv("ORRERY_CACHE", folder.c_str(), 1);
  }
  ~CacheVariable() {
    before_ ? ::setenv("ORRERY_CACHE", before_->c_str(), 1) : ::unsetenv("ORRERY_CACHE");
  }
  CacheVariable(const CacheVariable&) = delete;
  CacheVariable& operator=(const CacheVariable&) = delete;

 private:
  std::optional<std::string> before_;
};

TEST_F(KeptCuts, AreOfTheFolderOfTheVariable) {
  const CacheVariable variable(folder());
  EXPECT_EQ(folder_of_cuts(), folder());
  const Experiment experiment = parse_experiments(kMinimal, "test.json",
                                                  {"partition.method=ldg", "cluster.ranks=4",
                                                   "dataset.vertices=1000", "dataset.edges=5000"})
                                    .front();
  const ProblemData data = DatasetCache().load(experiment);
  const std::vector<std::int32_t> expected = make_partition(experiment, data).owner;
  ASSERT_EQ(files(), 1U);

  // A cut that only the folder has shows who reads it.
  const std::string key = key_of_cut(*data.data, 4, experiment.partition);
  const std::vector<std::int32_t> other(expected.size(), 3);
  std::ofstream(folder() / (key + ".cut"), std::ios::binary | std::ios::trunc)
      << cut_bytes({key, 4, std::ssize(other)}, {other, 0.5});
  EXPECT_EQ(make_partition(experiment, data).owner, other);
  {
    const CutsAnew measured;
    EXPECT_EQ(make_partition(experiment, data).owner, expected);
  }
  EXPECT_EQ(make_partition(experiment, data).owner, other);
}

TEST(CutLine, TellsOfCutsThatTakeLong) {
  begin_planning();
  report_cut("metis", {{}, 0.9, false});
  EXPECT_EQ(cut_line(), "");
  report_cut("metis", {{}, 12.3, false});
  EXPECT_THAT(cut_line(), HasSubstr("cut by metis in 12.30 s, "));
  EXPECT_THAT(cut_line(), HasSubstr("% of planning\n"));
  report_cut("metis", {{}, 12.3, true});
  EXPECT_EQ(cut_line(), "cut by metis taken from ORRERY_CACHE, which saved 12.30 s\n");
  begin_planning();
  EXPECT_EQ(cut_line(), "");
}

TEST(Digests, OfContentsAndTheirOrderDiffer) {
  std::set<std::string> seen;
  const auto expect_new = [&](const std::vector<std::string>& contents) {
    Digest digest;
    for (const std::string& content : contents) digest.add(content);
    EXPECT_TRUE(seen.insert(digest.text()).second) << ::testing::PrintToString(contents);
  };
  expect_new({});
  expect_new({""});
  expect_new({"", ""});
  expect_new({"ab", "c"});
  expect_new({"a", "bc"});
  expect_new({"c", "ab"});
  expect_new({std::string(16, '\0')});
  expect_new({std::string(17, '\0')});
  // One bit anywhere in an array, which is taken in blocks of 16 MiB.
  std::vector<std::int32_t> values((20 << 20) / 4);
  for (const std::size_t i : {std::size_t{0}, std::size_t{4} << 20U, values.size() - 1}) {
    values[i] ^= 1;
    Digest digest;
    digest.add(values);
    EXPECT_TRUE(seen.insert(digest.text()).second) << i;
  }
  const auto digest_of = [&](int threads) {
    const ThreadPool pool(threads);
    Digest digest;
    digest.add(values);
    return digest.text();
  };
  EXPECT_EQ(digest_of(1), digest_of(3));
}

/// What each method makes of one graph. Whoever changes a method changes the digest here, and
/// then has to raise kCutsVersion: else folders of users keep on giving the cuts of before.
TEST(CutsVersion, IsThatOfTheCuts) {
  EXPECT_EQ(kCutsVersion, 1);
  const std::map<std::string, std::string> expected{
      {"2ps-l", "02edb17c0de5f42dee865fc506a47cdb"},
      {"dbh", "5dfff3864e4cc191295580b03ed2a7eb"},
      {"fennel", "b67c4283b8106dcb47c30312d676b84a"},
      {"hdrf", "e665d1ea161a99d2e17ca4093f192bdc"},
      {"ldg", "7ace82e5f10f264d5a77a392233b2435"},
      {"powergraph", "cdd25d20d871171f5a78fc9dff23d656"},
      {"spring", "966b6687bd20b600836337446dcf3577"}};
  NamedGraph graph{"a path with chords", 600, random_edges(600, 300, 1)};
  for (Vertex v = 1; v < 600; ++v) graph.edges.push_back({v - 1, v});
  Dataset data;
  data.graph = std::make_shared<const Csr>(symmetric_csr(graph));
  for (const auto& [method, digest_then] : expected) {
    Digest digest;
    digest.add(make_or_take_cut(data, kParts, by(method), {}).partition.owner);
    EXPECT_EQ(digest.text(), digest_then) << method << ": raise kCutsVersion (cut_key.hpp)";
  }
  for (const std::string& method : kept_methods())
    EXPECT_TRUE(method == "metis" || method == "ptscotch" || expected.contains(method))
        << method << ": only METIS and PT-Scotch have versions of their own in the key";
}

}  // namespace
}  // namespace orrery
