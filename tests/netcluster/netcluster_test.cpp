// The cluster of network namespaces: its links are as slow as they were asked to be, and nothing of
// it stays behind, however it ends. Needs root; skipped with a reason where it cannot work.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

const std::string kScript = std::string(ORRERY_SOURCES) + "/experiments/netcluster";
const std::string kBench = std::string(ORRERY_BUILD) + "/experiments/bench/link_bench";

/// What a file holds; nothing when there is none, or when it is of a process that ends meanwhile:
/// reads of such a file in /proc fail half-way, which a stream's own buffer would throw.
std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// Whether a command of the shell succeeds; what it prints is not of interest.
bool succeeds(const std::string& command) {
  return std::system(("{ " + command + "; } >/dev/null 2>&1").c_str()) == 0;
}

/// Asks until it is so, for some seconds.
template <class Question>
bool becomes_true(const Question& question, int seconds) {
  for (const auto end = Clock::now() + std::chrono::seconds(seconds); Clock::now() < end;) {
    if (question()) return true;
    std::this_thread::sleep_for(milliseconds(20));
  }
  return false;
}

/// Why there can be no cluster here; nothing when there can.
std::optional<std::string> obstacle() {
  if (::geteuid() != 0) return "only root may make network namespaces";
  for (const char* tool : {"ip", "tc", "mpirun.openmpi"})
    if (!succeeds("command -v " + std::string(tool))) return std::string(tool) + " is missing";
  const std::string name = "netcluster-probe-" + std::to_string(::getpid());
  const bool first = !fs::exists("/run/netns");  // the first namespace makes it a mount point
  const bool works = succeeds("ip netns add " + name + " && ip -n " + name +
                              " link add probe0 type veth peer name probe1 && tc -n " + name +
                              " qdisc add dev probe0 root handle 1: htb default 10");
  succeeds("ip netns del " + name);
  if (first) succeeds("umount /run/netns && rmdir /run/netns");
  if (!works) return "this system makes no network namespaces with shaped links";
  return std::nullopt;
}

/// How many processes run `sleep` with this argument; each test has its own.
int sleeping(const std::string& seconds) {
  const std::string wanted = std::string("sleep") + '\0' + seconds + '\0';
  int count = 0;
  for (const auto& entry : fs::directory_iterator("/proc"))
    if (text_of(entry.path() / "cmdline") == wanted) ++count;
  return count;
}

/// A netcluster that runs beside the test.
class Netcluster {
 public:
  explicit Netcluster(std::vector<std::string> arguments) {
    std::string name = (fs::temp_directory_path() / "orrery-test-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    const std::string out = folder_ / "out", error = folder_ / "error";
    arguments.insert(arguments.begin(), kScript);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT, 0600), 1);
      ::dup2(::open(error.c_str(), O_WRONLY | O_CREAT, 0600), 2);
      ::execv(argv[0], argv.data());
      ::_exit(126);
    }
  }
  ~Netcluster() {
    if (!ended_) {
      ::kill(pid_, SIGTERM);
      wait();
    }
    fs::remove_all(folder_);
  }
  Netcluster(const Netcluster&) = delete;
  Netcluster& operator=(const Netcluster&) = delete;

  void signal(int number) const { ::kill(pid_, number); }

  /// Its exit code when it ends within some seconds; minus the signal that killed it.
  std::optional<int> wait(int seconds = 60) {
    int status = 0;
    ended_ = becomes_true([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; }, seconds);
    if (!ended_) return std::nullopt;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  std::string out() const { return text_of(folder_ / "out"); }
  std::string error() const { return text_of(folder_ / "error"); }

  /// Namespaces and files that carry its name.
  std::vector<std::string> traces() const {
    const std::string prefix = "orrery-" + std::to_string(pid_) + "-";
    std::vector<std::string> found;
    for (const char* place : {"/run/netns", "/dev/shm", "/tmp"})
      if (fs::exists(place))
        for (const auto& entry : fs::directory_iterator(place))
          if (entry.path().filename().string().rfind(prefix, 0) == 0) found.push_back(entry.path());
    return found;
  }

 private:
  fs::path folder_;
  pid_t pid_ = -1;
  bool ended_ = false;
};

using None = std::vector<std::string>;

class NetclusterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static const std::optional<std::string> reason = obstacle();
    if (reason) GTEST_SKIP() << *reason;
    ::setenv("ORRERY_LINK_BENCH", kBench.c_str(), 1);
  }
  /// Arguments of `sleep` that no other process has.
  static std::string own_seconds(int test) {
    return "60." + std::to_string(::getpid()) + std::to_string(test);
  }
};

TEST_F(NetclusterTest, LinksAreAsSlowAsTheRateAndServersAreFastInside) {
  if (!fs::exists(kBench)) GTEST_SKIP() << "link_bench was not built: no libopenmpi-dev";
  const double rate = 25e6;
  // Of up to three measurements: the machine may be busy.
  double most_of_both = 0, most_worked = 0;
  constexpr double kCopying = 5e-11;  // seconds a byte: the least that a core can work for it
  for (int i = 0; i < 3 && (most_of_both <= 1.1 || most_worked <= kCopying); ++i) {
    Netcluster cluster(
        {"--servers", "2", "--ranks-per-server", "2", "--rate", "200mbit", "--json"});

    ASSERT_EQ(cluster.wait(), 0) << cluster.error();

    const auto measured = nlohmann::json::parse(cluster.out());
    const double external = measured["external"]["bytes_per_second"];
    const double both = measured["external"]["both_bytes_per_second"];
    EXPECT_EQ(measured["rate_bytes_per_second"], rate);
    EXPECT_LE(external, 1.08 * rate);  // what an idle link has saved up, as the script allows
    EXPECT_LE(both, 2 * 1.08 * rate);
    EXPECT_EQ(cluster.traces(), None{});
    if (external <= 0.8 * rate || both <= 1.1 * external) continue;
    most_of_both = both / external;
    EXPECT_GT(measured["internal"]["bytes_per_second"], 10 * external);
    const auto& core = measured["external"]["core_seconds_per_byte"];  // null: there is one core
    most_worked = core.is_null() ? 1 : std::max(most_worked, core.get<double>());
  }
  EXPECT_GT(most_worked, kCopying) << "seconds that a core works for a byte";
  EXPECT_GT(most_of_both, 1.1) << "slower than the rate, or messages that meet take turns";
}

TEST_F(NetclusterTest, FailsWhenMessagesGoRoundTheLinks) {
  const fs::path fake = fs::temp_directory_path() / ("orrery-fake-" + std::to_string(::getpid()));
  std::ofstream(fake) << "#!/bin/sh\n[ $OMPI_COMM_WORLD_RANK != 0 ] || echo '{\"internal\":null,"
                         "\"external\":{\"latency_seconds\":1e-6,\"bytes_per_second\":14000000}}'";
  fs::permissions(fake, fs::perms::owner_all);
  ::setenv("ORRERY_LINK_BENCH", fake.c_str(), 1);
  Netcluster cluster({"--rate", "100mbit", "--json", "--measure", "--", "echo", "not reached"});

  EXPECT_EQ(cluster.wait(), 1);

  fs::remove(fake);
  EXPECT_NE(cluster.error().find("bypasses the shaping"), std::string::npos) << cluster.error();
  EXPECT_EQ(cluster.out().find("not reached"), std::string::npos) << cluster.out();
  EXPECT_EQ(cluster.traces(), None{});
}

TEST_F(NetclusterTest, TheJobHasTheFolderAndTheEnvironmentOfItsCaller) {
  ::setenv("ORRERY_TEST", "a b$c", 1);
  const std::string expected =
      fs::current_path().string() + " a b$c " + std::getenv("PATH") + " : 'x  y'\n";
  Netcluster cluster({"--ranks-per-server", "1", "--", "sh", "-c",
                      R"(echo "$(pwd -P) $ORRERY_TEST $PATH $1 $2")", "sh", ":", "'x  y'"});

  EXPECT_EQ(cluster.wait(), 0) << cluster.error();

  EXPECT_EQ(cluster.out(), expected + expected);
  EXPECT_EQ(cluster.traces(), None{});
}

TEST_F(NetclusterTest, ServersHaveTheSameTcpOnEveryMachine) {
  Netcluster cluster({"--ranks-per-server", "1", "--", "sh", "-c",
                      "cd /proc/sys/net/ipv4 && echo $(cat tcp_congestion_control "
                      "tcp_slow_start_after_idle) $OMPI_MCA_btl_tcp_sndbuf"});

  EXPECT_EQ(cluster.wait(), 0) << cluster.error();

  EXPECT_EQ(cluster.out(), "reno 0 131072\nreno 0 131072\n");
  EXPECT_EQ(cluster.traces(), None{});
}

TEST_F(NetclusterTest, TwoAtOnceDoNotMeet) {
  const std::vector<std::string> arguments{"--servers", "3",  "--ranks-per-server", "1", "--",
                                           "sh",        "-c", "sleep 0.5; hostname"};
  Netcluster one(arguments), other(arguments);

  EXPECT_EQ(one.wait(), 0) << one.error();
  EXPECT_EQ(other.wait(), 0) << other.error();

  for (const Netcluster* cluster : {&one, &other}) {
    for (const char* server : {"server0\n", "server1\n", "server2\n"})
      EXPECT_NE(cluster->out().find(server), std::string::npos) << cluster->out();
    EXPECT_EQ(cluster->traces(), None{});
  }
}

TEST_F(NetclusterTest, ExitsWithTheCodeOfTheJob) {
  Netcluster cluster({"--", "sh", "-c", "exit 7"});

  EXPECT_EQ(cluster.wait(), 7);

  EXPECT_EQ(cluster.traces(), None{});
}

TEST_F(NetclusterTest, EndsTheJobAndCleansUpWhenInterrupted) {
  for (const int number : {SIGINT, SIGTERM}) {
    const std::string seconds = own_seconds(number);
    Netcluster cluster({"--", "sleep", seconds});
    ASSERT_TRUE(becomes_true([&] { return sleeping(seconds) == 4; }, 20)) << cluster.error();

    cluster.signal(number);

    EXPECT_EQ(cluster.wait(10), 128 + number) << cluster.error();
    EXPECT_EQ(sleeping(seconds), 0);
    EXPECT_EQ(cluster.traces(), None{});
  }
}

/// As when a machine is lost: mpirun by itself would wait for it for hours.
TEST_F(NetclusterTest, EndsTheJobOfAServerWhoseLinkIsDown) {
  const std::string seconds = own_seconds(1);
  Netcluster cluster({"--", "sleep", seconds});
  ASSERT_TRUE(becomes_true([&] { return sleeping(seconds) == 4; }, 20)) << cluster.error();
  std::string network;
  for (const std::string& trace : cluster.traces())
    if (trace.ends_with("-switch")) network = fs::path(trace).filename();

  ASSERT_TRUE(succeeds("ip -n " + network + " link set port1 down"));

  const std::optional<int> status = cluster.wait(30);
  ASSERT_TRUE(status.has_value());
  EXPECT_NE(*status, 0);
  EXPECT_EQ(sleeping(seconds), 0);
  EXPECT_EQ(cluster.traces(), None{});
}

TEST_F(NetclusterTest, RemovesWhatAKilledOneLeftBehind) {
  const std::string seconds = own_seconds(0);
  Netcluster killed({"--", "setsid", "sleep", seconds});
  ASSERT_TRUE(becomes_true([&] { return sleeping(seconds) == 4; }, 20)) << killed.error();

  killed.signal(SIGKILL);
  EXPECT_EQ(killed.wait(), -SIGKILL);
  EXPECT_NE(killed.traces(), None{});
  Netcluster next({"--", "true"});

  EXPECT_EQ(next.wait(), 0) << next.error();
  EXPECT_EQ(sleeping(seconds), 0);
  EXPECT_EQ(killed.traces(), None{});
  EXPECT_EQ(next.traces(), None{});
}

/// The losses of a sweep's combinations by label, as its log keeps them.
std::map<std::string, double> losses_in(const fs::path& folder) {
  std::map<std::string, double> losses;
  std::ifstream log(folder / "results.jsonl");
  for (std::string line; std::getline(log, line);) {
    const auto told = nlohmann::json::parse(line);
    losses[told["label"]] = told["result"]["loss"];
  }
  return losses;
}

/// A link is down for most of a second, again and again, while every strategy trains over it, also those
/// that sample, or use rows of earlier epochs.
TEST_F(NetclusterTest, LinksThatDropForAWhileChangeNoLoss) {
  const std::string programs = std::string(ORRERY_BUILD) + "/experiments/";
  if (!fs::exists(programs + "orrery-mpi")) GTEST_SKIP() << "orrery-mpi was not built";
  std::string name = (fs::temp_directory_path() / "orrery-test-XXXXXX").string();
  const fs::path folder = ::mkdtemp(name.data());
  std::ofstream(folder / "e.json") << R"({"name": "drops", "seed": 5,
      "dataset": {"generate": "communities", "vertices": 600, "edges": 4000, "features": 16},
      "model": {"type": "gcn", "layers": 2, "hidden": 16}, "cluster": {"servers": 2, "ranks_per_server": 2},
      "train": {"epochs": 80},
      "sweep": {"strategy": [
          {"type": "full_graph"}, {"type": "spmm_1d"}, {"type": "spmm_15d"}, {"type": "spmm_2d"},
          {"type": "model_averaging"}, {"type": "shared_preloading"},
          {"type": "mini_batch", "fanouts": [5, 5], "batch": 120},
          {"type": "full_graph", "staleness": 1}, {"type": "spmm_1d", "staleness": 2},
          {"type": "full_graph", "boundary_sampling": 0.5}]}})";
  const std::string experiment = (folder / "e.json").string();
  ASSERT_TRUE(succeeds(programs + "orrery sweep " + experiment + " --quiet --out " +
                       (folder / "undisturbed").string()));

  Netcluster cluster({"--rate", "none", "--", programs + "orrery-mpi", "sweep", experiment,
                      "--backend", "mpi", "--quiet", "--out", (folder / "made").string()});
  const auto first_epoch = [&] {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder / "made", none))
      if (fs::exists(entry.path() / "epochs.jsonl")) return true;
    return false;
  };
  ASSERT_TRUE(becomes_true(first_epoch, 40)) << cluster.error();
  std::string network;
  for (const std::string& trace : cluster.traces())
    if (trace.ends_with("-switch")) network = fs::path(trace).filename();
  int drops = 0;
  std::optional<int> status;
  while (!(status = cluster.wait(1)) && drops < 30) {
    const std::string port = "ip -n " + network + " link set port1 ";
    if (!succeeds(port + "down")) continue;
    std::this_thread::sleep_for(milliseconds(700));
    if (succeeds(port + "up")) ++drops;
  }
  if (!status) status = cluster.wait(120);  // beside other work it takes longer than all drops

  EXPECT_EQ(status, 0) << cluster.error();
  EXPECT_GE(drops, 2);
  const auto whole = losses_in(folder / "undisturbed"), dropped = losses_in(folder / "made");
  EXPECT_EQ(whole.size(), 10U);
  ASSERT_EQ(dropped.size(), whole.size());
  for (const auto& [label, loss] : whole)
    EXPECT_NEAR(dropped.at(label), loss, 1e-4 * loss) << label;
  EXPECT_EQ(cluster.traces(), None{});
  fs::remove_all(folder);
}

TEST(NetclusterUsage, MistakesAreExitCodeTwoAndNamed) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> mistakes{
      {{"--sevrers", "2"}, "--sevrers"},
      {{"--servers", "0", "true"}, "--servers"},
      {{"--ranks-per-server", "x"}, "'x'"},
      {{"--rate", "fast", "true"}, "'fast'"},
      {{"--rate"}, "--rate"},
      {{"--storage", "quick", "true"}, "--storage"},
      {{"--shared-storage", "0bit", "true"}, "--shared-storage"},
      {{"--json", "--", "true"}, "--measure"},
      {{"--", "/no/such/program"}, "/no/such/program"},
  };
  for (const auto& [arguments, named] : mistakes) {
    Netcluster cluster(arguments);

    EXPECT_EQ(cluster.wait(), 2);

    EXPECT_NE(cluster.error().find(named), std::string::npos) << cluster.error();
  }
}

TEST(NetclusterUsage, HelpHasAnExample) {
  Netcluster cluster({"--help"});

  EXPECT_EQ(cluster.wait(), 0);

  EXPECT_NE(cluster.out().find("Example: experiments/netcluster"), std::string::npos);
}

}  // namespace
