// How the programs are compiled, read from the programs: options that make remaining faults harder
// to exploit.
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/base/child_process.hpp"

namespace orrery {
namespace {

class Hardening : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("readelf --version > /dev/null 2>&1") != 0)
      GTEST_SKIP() << "readelf is missing: apt-get install binutils";
  }
  static std::string read(const char* what) {
    const auto read = run_program({"readelf", "--wide", what, ORRERY_BINARY}, "/dev/null");
    return read && read->succeeded() ? read->output : "";
  }
  static bool has(const std::string& text, const char* words) {
    return text.find(words) != std::string::npos;
  }
};

TEST_F(Hardening, TheProgramLiesWhereTheSystemPutsIt) {
  EXPECT_TRUE(has(read("--file-header"), "DYN (Position-Independent Executable file)"));
}

TEST_F(Hardening, AddressesOfFunctionsAreReadOnlyOnceItRuns) {
  EXPECT_TRUE(has(read("--program-headers"), "GNU_RELRO"));
  EXPECT_TRUE(has(read("--dynamic"), "BIND_NOW"));
}

TEST_F(Hardening, WritingPastAnEndEndsTheProgram) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers look for this themselves";
#endif
  const std::string symbols = read("--dyn-syms");

  EXPECT_TRUE(has(symbols, "__stack_chk_fail")) << "-fstack-protector-strong";
  EXPECT_TRUE(has(symbols, "__snprintf_chk")) << "-D_FORTIFY_SOURCE=2";
}

TEST_F(Hardening, NothingOnTheStackIsExecuted) {
  const std::string headers = read("--program-headers");
  const auto stack = headers.find("GNU_STACK");

  ASSERT_NE(stack, std::string::npos);
  EXPECT_TRUE(has(headers.substr(stack, headers.find('\n', stack) - stack), " RW "));
}

}  // namespace
}  // namespace orrery
