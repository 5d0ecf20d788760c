// `orrery calibrate --kernels cuda` on an emulated GPU, with hardly any points: that everything is
// measured, written, found again and used. Its times say nothing.
#include "experiments/calibrate/calibrate.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "backends/cpu/cpu.hpp"
#include "backends/cuda/cuda_device.hpp"
#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#include "experiments/calibrate/time_on_lane.hpp"
#include "experiments/config/cluster_file.hpp"
#include "experiments/config/profile_file.hpp"
#include "experiments/config/this_machine.hpp"
#include "sim/price/op_seconds.hpp"
#include "sim/price/price_point.hpp"
#include "sim/price/price_table.hpp"
#include "tests/support/sample_ops.hpp"

namespace orrery::calibrate {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

/// Measured once for all tests.
const Calibration& tiny() {
  static const Calibration calibration = calibrate_gpu(Effort::tiny);
  return calibration;
}

struct Ended {
  int status;
  std::string text;
};
Ended run(const std::string& command) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  std::string text;
  char part[512];
  for (std::size_t n; (n = std::fread(part, 1, sizeof part, pipe)) > 0;) text.append(part, n);
  return {WEXITSTATUS(::pclose(pipe)), text};
}

/// A working directory with one experiment, and with measurements or without.
class Folder {
 public:
  explicit Folder(bool calibrated)
      : path_(fs::path(::testing::TempDir()) / (calibrated ? "gpu_calibrated" : "gpu_unknown")) {
    fs::remove_all(path_);
    fs::create_directories(path_ / "configs/devices");
    fs::create_directories(path_ / "configs/clusters");
    if (calibrated) calibrate::write(tiny(), (path_ / "configs").string());
    std::ofstream(path_ / "small.json")
        << R"({"name": "small", "dataset": {"generate": "rmat", "vertices": 60, "edges": 300,
               "features": 8, "classes": 3}, "model": {"type": "gcn", "hidden": 8},
               "strategy": {"type": "full_graph"}, "train": {"epochs": 3, "eval_every": 0},
               "backend": "threads", "kernels": "cuda", "sweep": {"cluster.ranks": [1, 2]}})";
  }
  ~Folder() { fs::remove_all(path_); }

  void write(const std::string& name, const Json& content) const {
    std::ofstream(path_ / name) << content.dump();
  }
  /// The program with some arguments, in this folder.
  Ended orrery(const std::string& arguments, const std::string& variables = "") const {
    return run("cd '" + path_.string() + "' && " + variables + " '" ORRERY_BINARY "' " + arguments);
  }

 private:
  fs::path path_;
};

/// On one lane of the first GPU.
class OnLane : public ::testing::Test {
 protected:
  OnLane()
      : device_({.gpu = cuda::choose_gpu(0, 1),
                 .device_bytes = 64 * kMiB,
                 .host_kernels = make_cpu_kernels}),
        lane_(device_.open_lane(Lane::compute)) {}

  cuda::CudaDevice device_;
  std::unique_ptr<DeviceLane> lane_;
};

TEST_F(OnLane, AWorkspaceHoldsWhatOneOfTheHostDoes) {
  Workspace host(8 * kMiB), gpu(8 * kMiB, device_, *lane_);
  const auto read = [](Workspace& workspace, const Tensor& t) {
    std::vector<float> values(static_cast<std::size_t>(t.shape.size()));
    workspace.memory().read(t, values.data());
    return values;
  };
  const auto square = [](std::int64_t i) { return i * i; };

  const Tensor few = gpu.input(3, 5), many = gpu.input(1 << 20, 1),
               own = gpu.integers(7, 3, square);

  EXPECT_EQ(read(gpu, few), read(host, host.input(3, 5)));
  for (const float value : read(gpu, many)) ASSERT_LT(std::abs(value), 1.01F);
  EXPECT_EQ(read(gpu, own), read(host, host.integers(7, 3, square)));
}

TEST_F(OnLane, OperationsOfOperandsThatDoNotFitAreAnErrorThatSaysSo) {
  const LaneTiming timing{.workspace_bytes = 512 * kMiB};

  try {
    time_on_lane(device_, {}, timing, [](std::size_t) {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("of the device's memory"), std::string::npos);
  }
}

TEST(GpuCalibrations, HaveATableOfEveryPriceWithoutThreads) {
  for (const std::string& key : sim::price_keys()) {
    ASSERT_TRUE(tiny().profile.tables.contains(key)) << key;
    const sim::PriceTable& table = tiny().profile.tables.at(key);
    EXPECT_EQ(sim::problem_of(table, key), "") << key;
    EXPECT_TRUE(std::isfinite(table.fit_error)) << key;
    for (const sim::PriceTable::Axis& axis : table.axes) EXPECT_NE(axis.name, "threads") << key;
  }
  EXPECT_EQ(tiny().profile.tables.at("spmm").axes.back().name, "skew");
}

TEST(GpuCalibrations, KnowHostCopiesAndTheLibraryOfThreads) {
  const sim::DeviceProfile& profile = tiny().profile;

  ASSERT_EQ(profile.libraries.size(), 1U);
  const sim::Library& threads = profile.libraries.at("threads");
  EXPECT_GT(threads.copy_bytes_per_second.of_largest(), 0);
  EXPECT_GT(threads.collective_seconds, 0);
  EXPECT_GT(profile.issue_seconds, 0);
  EXPECT_GE(profile.communication_slowdown, 1);
  for (const double seconds : {profile.issue_seconds, profile.handover_seconds,
                               profile.sync_seconds, profile.roofline.launch_seconds}) {
    EXPECT_GE(seconds, 0);
    EXPECT_LT(seconds, 1);
  }
}

TEST(GpuCalibrations, MeasureOperationsInsideOfTrainings) {
  const auto samples =
      in_place_of(train_on_gpu(Effort::tiny, [](double, const std::string&) {}), tiny().profile)
          .samples;

  ASSERT_GT(samples.size(), 10U);
  for (const InPlaceSample& sample : samples) {
    EXPECT_GT(sample.priced_seconds, 0) << sample.key;
    EXPECT_GE(sample.measured_seconds, 0) << sample.key;
  }
}

TEST(GpuCalibrations, WriteFilesThatLoadOfAGpuThatRanksShare) {
  const fs::path folder = fs::path(::testing::TempDir()) / "gpu_calibrate_test";
  fs::remove_all(folder);

  const Written files = write(tiny(), folder.string());

  EXPECT_EQ(fs::path(files.profile).filename(), machine_name("cuda") + ".json");
  const Cluster cluster = load_cluster(files.cluster);
  ASSERT_EQ(cluster.devices.size(), 1U);
  EXPECT_EQ(cluster.devices[0].cores, 1);
  EXPECT_EQ(cluster.devices[0].profile, machine_name("cuda"));
  EXPECT_EQ(cluster.devices[0].memory_bytes, tiny().memory_bytes);
  EXPECT_TRUE(cluster.has_hosts());
  EXPECT_EQ(cluster.host.cores, available_cores());
  EXPECT_GT(cluster.host.memory_bytes_per_second, 1e8);
  const sim::DeviceProfile profile = load_profile(files.profile);
  EXPECT_EQ(profile.origin, "measured");
  EXPECT_EQ(profile.host, tiny().profile.host);
  EXPECT_TRUE(profile.host.contains("serve"));
  for (const Op& op : testing::sample_ops(20, 9))
    EXPECT_NEAR(sim::op_seconds(profile, op, 1) / sim::op_seconds(tiny().profile, op, 1), 1, 1e-9);
  fs::remove_all(folder);
}

/// Tests that need the simulator beside the program.
class Simulated : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!ORRERY_HAS_SIMULATOR) GTEST_SKIP() << "this build has no simulator";
  }
};
class GpuSimulation : public Simulated {};
class GpuValidation : public Simulated {};
class GpuForecast : public Simulated {};

/// A rank that has a GPU alone is simulated alike, whether or not ranks may share it.
TEST_F(GpuSimulation, OfOneRankIsThatOfAnAcceleratorOfItsOwn) {
  const Folder folder(true);
  Json alone = cluster_file_of(tiny());
  alone["device_types"][tiny().name].erase("cores");
  folder.write("alone.json", alone);
  const auto epoch = [&](const std::string& cluster) {
    const Ended ended = folder.orrery(
        "run small.json --quiet --json --force --backend sim --set 'sweep={}' --set "
        "'simulation.library=\"threads\"' --set 'cluster={" +
        cluster + "}' --out out 2>&1 | tail -1");
    const Json result = Json::parse(ended.text, nullptr, false);
    EXPECT_TRUE(result.is_object()) << ended.text;
    return result.is_object() ? result["epoch_seconds"].get<double>() : -1;
  };

  const double shared = epoch(R"("file": ")" + tiny().name + R"(", "ranks": 1)");

  EXPECT_GT(shared, 0);
  EXPECT_DOUBLE_EQ(shared, epoch(R"("file": "alone.json", "gpus": 1)"));
}

TEST_F(GpuValidation, PutsSimulatedEpochsBesideThoseOfRanksThatShareTheGpu) {
  const Folder folder(true);

  const Ended ended =
      folder.orrery("validate small.json --quiet --json --out out 2>errors.txt | tail -1");

  const Json all = Json::parse(ended.text, nullptr, false);
  ASSERT_TRUE(all.is_object()) << ended.text;
  EXPECT_TRUE(all["failures"].empty()) << all["failures"].dump();
  ASSERT_EQ(all["rows"].size(), 2U);
  EXPECT_EQ(all["rows"][0]["ranks"], 1);
  EXPECT_EQ(all["rows"][1]["ranks"], 2);
  for (const Json& row : all["rows"]) {
    EXPECT_GT(row["real_seconds"].get<double>(), 0);
    EXPECT_GT(row["simulated_seconds"].get<double>(), 0);
  }
}

TEST_F(GpuValidation, OfAGpuThatIsNotCalibratedSaysHow) {
  const Folder folder(false);

  const Ended ended = folder.orrery("validate small.json --quiet --out out 2>&1 >/dev/null");

  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.text.find("run ./orrery calibrate --kernels cuda first"), std::string::npos)
      << ended.text;
}

TEST_F(GpuValidation, OfRanksOnSeveralGpusIsRefused) {
  const Folder folder(true);

  const Ended ended = folder.orrery("validate small.json --quiet --out out 2>&1 >/dev/null",
                                    "ORRERY_EMULATED_DEVICES=2");

  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.text.find("cluster.ranks=2: kernels: "), std::string::npos) << ended.text;
  EXPECT_NE(ended.text.find("CUDA_VISIBLE_DEVICES"), std::string::npos) << ended.text;
  EXPECT_EQ(ended.text.find("cluster.ranks=1"), std::string::npos) << ended.text;
}

TEST_F(GpuForecast, OnThisMachineIsOnTheGpuOfTheRun) {
  const Folder folder(true);

  const Ended ended = folder.orrery(
      "run small.json --quiet --json --set 'sweep={}' --set 'simulate_on=[\"this-machine\"]' "
      "--out out 2>&1 | tail -1");

  const Json result = Json::parse(ended.text, nullptr, false);
  ASSERT_TRUE(result.is_object()) << ended.text;
  const Json& simulated = result["simulated_on"]["this-machine"];
  EXPECT_TRUE(simulated.contains("error")) << simulated.dump();
}

TEST(CalibrateCommand, WithoutTheLibraryIsOneLineAndStatusOne) {
  const Ended ended = run("ORRERY_CUDA_LIBRARY=/nowhere.so '" ORRERY_BINARY
                          "' calibrate --busy-ok --kernels cuda 2>&1 >/dev/null");

  EXPECT_EQ(ended.status, 1);
  EXPECT_EQ(ended.text.find("orrery: error: the CUDA library cannot be loaded"), 0U) << ended.text;
  EXPECT_EQ(ended.text.find('\n'), ended.text.size() - 1) << ended.text;
}

TEST(CalibrateCommand, WithoutAGpuIsOneLineAndStatusOne) {
  const Ended ended = run("ORRERY_EMULATED_DEVICES=0 '" ORRERY_BINARY
                          "' calibrate --busy-ok --kernels cuda 2>&1 >/dev/null");

  EXPECT_EQ(ended.status, 1);
  EXPECT_EQ(ended.text.find("orrery: error: kernels: cuda needs a GPU"), 0U) << ended.text;
  EXPECT_EQ(ended.text.find('\n'), ended.text.size() - 1) << ended.text;
}

}  // namespace
}  // namespace orrery::calibrate
