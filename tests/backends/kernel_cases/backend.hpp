// What a kernel library is to the cases of this folder: one instantiation of KernelCases runs all
// of them on it.
#pragma once

#include <ostream>
#include <string>

#include "tests/backends/world.hpp"

namespace orrery::testing {

/// Runs an op on a world and expects that no guard has changed.
using Runner = std::function<void(const World&, const Op&)>;

struct Backend {
  std::string name;  ///< also of its instance of each test
  /// Ways to run an op that must agree to the bit: on more threads, or once more.
  std::function<std::vector<Runner>()> open;
  std::string why_not;  ///< why it cannot run here; empty: it can

  friend std::ostream& operator<<(std::ostream& out, const Backend& backend) {
    return out << backend.name;
  }
};

/// Runs the script's op by the reference and in every way, each on a world of its own: the first
/// is near the reference, the others have the bits of the first.
void expect_equals_reference(const Script& script, const std::vector<Runner>& ways,
                             double tolerance = 1e-5);

class KernelCases : public ::testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    if (!GetParam().why_not.empty()) GTEST_SKIP() << GetParam().why_not;
    ways_ = GetParam().open();
  }
  void expect_equals_reference(const Script& script, double tolerance = 1e-5) const {
    testing::expect_equals_reference(script, ways_, tolerance);
  }

  std::vector<Runner> ways_;
};

/// The name of a backend as that of a test's instance.
inline std::string name_of_backend(const ::testing::TestParamInfo<Backend>& test) {
  return test.param.name;
}

}  // namespace orrery::testing
