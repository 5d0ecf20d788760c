// A limit on reading is kept by all who name the same file.
#include "core/inference/input/storage_rate.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "core/base/error.hpp"

namespace orrery {
namespace {

class StorageRates : public ::testing::Test {
 protected:
  StorageRates()
      : file_(::testing::TempDir() + "storage-rate-" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove(file_);
  }
  ~StorageRates() override { std::filesystem::remove(file_); }
  std::string file_;
};

/// Never sooner; how much later is the machine's affair.
TEST_F(StorageRates, HaveReadersTakeTheirTurns) {
  const StorageRate one("1e6@" + file_), other("1000000@" + file_);
  const auto began = std::chrono::steady_clock::now();

  std::thread reader([&] {
    for (int i = 0; i < 10; ++i) other.pass(5'000);
  });
  for (int i = 0; i < 10; ++i) one.pass(5'000);
  reader.join();

  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(100));
}

TEST_F(StorageRates, HoldTheSlowestOfSeveralLimits) {
  const StorageRate rate("1e9@" + file_ + ",1e6@" + file_ + "-shared");
  const auto began = std::chrono::steady_clock::now();

  rate.pass(50'000);

  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(50));
  std::filesystem::remove(file_ + "-shared");
}

TEST_F(StorageRates, ThatSayNothingAreErrors) {
  for (const std::string& text : std::vector<std::string>{
           "", "100", "@" + file_, "fast@" + file_, "0@" + file_, "-1@" + file_, "inf@" + file_,
           "5@", "5x@" + file_, "5@/no such folder/file"})
    EXPECT_THROW(const StorageRate rate(text), ConfigError) << text;
}

}  // namespace
}  // namespace orrery
