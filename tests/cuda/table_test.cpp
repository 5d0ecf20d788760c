// The table itself: versions, memory, errors, machines without a device.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "tests/cuda/table_kernels.hpp"

namespace orrery::testing {
namespace {

TEST(CudaTable, OfAGpuIsTestedToo) {
  const CudaLibrary real = real_cuda();
  if (!real.why_not.empty()) GTEST_SKIP() << "the kernels ran emulated only: " << real.why_not;
}

TEST(CudaTable, OfTheRealLibraryWithoutADeviceSaysWhyAndGoesOn) {
  const CudaLibrary real = real_cuda();
  if (real.api == nullptr) GTEST_SKIP() << real.why_not;
  if (real.why_not.empty()) GTEST_SKIP() << "there is a device";
  EXPECT_EQ(real.why_not.rfind("no CUDA device: ", 0), 0U) << real.why_not;
  OrreryDevice* device = nullptr;
  EXPECT_NE(real.api->device_open(0, 1 << 20, &device), kOrreryOk);
  EXPECT_STRNE(real.api->last_error(), "");
  OrreryDeviceInfo info{};
  EXPECT_NE(real.api->device_info(0, &info), kOrreryOk);
}

class CudaTable : public ::testing::TestWithParam<CudaLibrary> {
 protected:
  const OrreryCudaApi& api_ = *GetParam().api;
};

TEST_P(CudaTable, DescribesItsDevices) {
  std::int32_t devices = 0;
  ASSERT_EQ(api_.device_count(&devices), kOrreryOk);
  ASSERT_GE(devices, 1);
  OrreryDeviceInfo info{};
  ASSERT_EQ(api_.device_info(0, &info), kOrreryOk) << api_.last_error();
  EXPECT_STRNE(info.name, "");
  EXPECT_GT(info.memory_bytes, 0);
  EXPECT_EQ(api_.device_info(devices, &info), kOrreryFailed);
  EXPECT_NE(std::string(api_.last_error()).find("invalid device"), std::string::npos)
      << api_.last_error();
}

TEST_P(CudaTable, AnArenaThatIsFullSaysWhatWasAskedAndWhatIsFree) {
  const CudaSession session(api_, 1 << 20);
  void *half = session.allocate(1 << 19), *quarter = session.allocate(1 << 18);
  session.must(api_.release(session.device, half));
  void* p = nullptr;

  EXPECT_EQ(api_.allocate(session.device, 600000, &p), kOrreryOutOfMemory);

  EXPECT_STREQ(api_.last_error(),
               "the arena of 1048576 bytes has no room for 600000: 786432 are free, the largest "
               "hole has 524288");
  OrreryDeviceMemory memory{};
  session.must(api_.device_memory(session.device, &memory));
  EXPECT_EQ(memory.in_use_bytes, 1 << 18);
  EXPECT_EQ(memory.peak_bytes, (1 << 19) + (1 << 18));
  session.must(api_.release(session.device, quarter));
}

TEST_P(CudaTable, ADeviceWithoutRoomForTheArenaSaysSo) {
  OrreryDevice* device = nullptr;

  EXPECT_EQ(api_.device_open(0, std::int64_t{1} << 50U, &device), kOrreryOutOfMemory);

  EXPECT_NE(std::string(api_.last_error())
                .find("the arena of a rank asks for 1125899906842624 bytes of device memory"),
            std::string::npos)
      << api_.last_error();
}

TEST_P(CudaTable, RefusesWhatItDidNotAllocate) {
  const CudaSession session(api_, 1 << 20);
  char* p = session.allocate<char>(1000);

  EXPECT_EQ(api_.release(session.device, p + 256), kOrreryFailed);
  EXPECT_EQ(api_.release_pinned(session.device, p), kOrreryFailed);

  session.must(api_.release(session.device, p));
  EXPECT_EQ(api_.release(session.device, p), kOrreryFailed);
}

TEST_P(CudaTable, RefusesOperandsThatDoNotFit) {
  const CudaSession session(api_);
  const OrreryMatrix a{nullptr, 2, 3, 3, kOrreryF32}, b{nullptr, 2, 4, 4, kOrreryF32};
  const OrreryMatrix whole{nullptr, 2, 3, 3, kOrreryI32};

  EXPECT_EQ(api_.copy(session.stream, a, b, 1, 0), kOrreryFailed);
  EXPECT_EQ(api_.gemm(session.stream, a, b, a, 0, 0, 0, 0), kOrreryFailed);
  EXPECT_EQ(api_.activate(session.stream, a, nullptr, whole, kOrreryNoActivation, {}),
            kOrreryFailed);
  EXPECT_STREQ(api_.last_error(), "this operation needs f32");
}

TEST_P(CudaTable, WorkspacesLieBesideTheArenaAndAreCounted) {
  const CudaSession session(api_);
  auto* x = session.allocate<float>(4 * 100 * 10);
  OrreryDeviceMemory before{}, after{};
  session.must(api_.device_memory(session.device, &before));
  session.must(api_.column_sum(session.stream, {x, 99, 10, 10, kOrreryF32}, x + 990, 0));
  session.must(api_.device_memory(session.device, &after));

  EXPECT_EQ(after.in_use_bytes, before.in_use_bytes);
  EXPECT_EQ(after.beside_bytes, before.beside_bytes + 2 * 10 * 8);
  session.must(api_.release(session.device, x));
}

INSTANTIATE_TEST_SUITE_P(Libraries, CudaTable, ::testing::ValuesIn(cuda_libraries()),
                         [](const auto& test) { return test.param.name; });

TEST(CudaEmulatedTable, HasAVersion) {
  const CudaLibrary library = emulated_cuda();
  EXPECT_EQ(library.api->version, kOrreryCudaVersion);
}

TEST(CudaEmulatedTable, FreshMemoryIsPoisoned) {
  const CudaSession session(*emulated_cuda().api);
  EXPECT_TRUE(std::isnan(*session.allocate<float>(4)));
}

TEST(CudaEmulatedTable, WithoutADriverThereAreNoDevicesAndAReason) {
  const OrreryCudaApi& api = *emulated_cuda().api;
  setenv("ORRERY_EMULATED_DEVICES", "0", 1);
  std::int32_t devices = 7;

  EXPECT_EQ(api.device_count(&devices), kOrreryOk);

  unsetenv("ORRERY_EMULATED_DEVICES");
  EXPECT_EQ(devices, 0);
  EXPECT_STREQ(api.last_error(),
               "no CUDA device: CUDA driver version is insufficient for CUDA runtime version (35)");
}

TEST(CudaEmulatedTable, ALaunchThatFailsIsReported) {
  const CudaSession session(*emulated_cuda().api);
  auto* x = session.allocate<float>(4);
  emulate_failing_launch(2);

  session.must(session.api.fill(session.stream, {x, 1, 1, 1, kOrreryF32}, 1));
  EXPECT_EQ(session.api.fill(session.stream, {x, 1, 1, 1, kOrreryF32}, 1), kOrreryFailed);

  EXPECT_STREQ(session.api.last_error(),
               "a kernel launch failed: unspecified launch failure (719)");
}

}  // namespace
}  // namespace orrery::testing
