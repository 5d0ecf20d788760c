// A mapped file that another program cuts short.
#include "core/graph/files/mapped_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace orrery {
namespace {

/// The sum of all bytes of a mapped file that is cut to its first byte after it was mapped.
int sum_of_a_file_that_is_cut(const std::filesystem::path& file) {
  end_when_a_mapped_file_is_cut();
  const MappedFile mapped(file);
  std::filesystem::resize_file(file, 1);
  int sum = 0;
  for (const char c : mapped.bytes()) sum += c;
  return sum;
}

TEST(MappedFileDeathTest, CutShortWhileItIsReadEndsTheProcessWithItsName) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto file = std::filesystem::path(::testing::TempDir()) / "orrery-cut-while-mapped";
  std::ofstream(file) << std::string(1 << 16, 'x');

  EXPECT_EXIT(std::exit(sum_of_a_file_that_is_cut(file)), ::testing::ExitedWithCode(1),
              "orrery: error: .*orrery-cut-while-mapped: cannot be read further: it was cut short");
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace orrery
