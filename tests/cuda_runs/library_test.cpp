// The library that is not there, or not the right one: one line that says what to do.
#include "backends/cuda/library.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <string>

#include "core/base/error.hpp"

namespace orrery {
namespace {

std::string refusal_of(const std::string& file) {
  try {
    cuda::load_api(file);
  } catch (const NotBuilt& error) {
    return error.what();
  }
  return "loaded";
}

TEST(CudaLibrary, ThatIsNotThereIsToldWithItsName) {
  const std::string text = refusal_of("/nowhere/liborrery_cuda.so");

  EXPECT_NE(text.find("/nowhere/liborrery_cuda.so"), std::string::npos) << text;
  EXPECT_NE(text.find("docs/gpu.md"), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(CudaLibrary, OfAnotherVersionIsRefused) {
  const std::string text = refusal_of(ORRERY_LATER_LIBRARY);

  EXPECT_NE(text.find("belongs to another version of Orrery"), std::string::npos) << text;
}

TEST(CudaLibrary, ThatIsSomethingElseIsRefused) {
  const std::string text = refusal_of("libm.so.6");

  EXPECT_NE(text.find("libm.so.6 is no CUDA library of Orrery"), std::string::npos) << text;
}

struct Ended {
  int status;
  std::string errors;
};

/// The program with kernels: cuda, and variables before it.
Ended run_with(const std::string& variables) {
  const std::string command = variables +
                              " '" ORRERY_BINARY "' run '" ORRERY_SOURCES
                              "/configs/quickstart.json' --quiet --set kernels=cuda --out '" +
                              ::testing::TempDir() + "/cuda-refused' 2>&1 >/dev/null";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  std::string errors;
  char part[512];
  for (std::size_t n; (n = std::fread(part, 1, sizeof part, pipe)) > 0;) errors.append(part, n);
  return {WEXITSTATUS(::pclose(pipe)), errors};
}

TEST(KernelsCuda, WithoutTheLibraryAreOneLineAndStatusOne) {
  const Ended ended = run_with("ORRERY_CUDA_LIBRARY=/nowhere.so");

  EXPECT_EQ(ended.status, 1);
  EXPECT_EQ(ended.errors.find("orrery: error: the CUDA library cannot be loaded"), 0U);
  EXPECT_EQ(ended.errors.find('\n'), ended.errors.size() - 1) << ended.errors;
}

TEST(KernelsCuda, WithoutADeviceAreOneLineAndStatusOne) {
  const Ended ended =
      run_with("ORRERY_EMULATED_DEVICES=0 ORRERY_CUDA_LIBRARY='" ORRERY_EMULATED_LIBRARY "'");

  EXPECT_EQ(ended.status, 1);
  EXPECT_EQ(ended.errors.find("orrery: error: kernels: cuda needs a GPU, and there is none ("), 0U)
      << ended.errors;
  EXPECT_EQ(ended.errors.find('\n'), ended.errors.size() - 1) << ended.errors;
}

}  // namespace
}  // namespace orrery
