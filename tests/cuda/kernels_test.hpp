// What the tests of kernels share: every op on a device against the reference.
#pragma once

#include "backends/reference/reference.hpp"
#include "tests/backends/samples.hpp"
#include "tests/cuda/table_kernels.hpp"

namespace orrery::testing {

/// Widths that are whole packs of four, of two and of one, below, at and above those of the groups
/// of lanes.
inline constexpr std::int64_t kWidths[] = {1, 3, 7, 16, 33, 64, 100, 128, 256};

class CudaKernels : public ::testing::TestWithParam<CudaLibrary> {
 protected:
  /// Runs the script's op by the reference, and twice on the device: near the one, equal to the
  /// other bit by bit.
  void expect_equals_reference(const Script& script, double tolerance = 1e-5,
                               const TableOptions& options = {}) {
    World expected, got, again;
    const Op op = script(expected);
    SCOPED_TRACE(to_string(op));
    expected.run(*make_reference_kernels(), op);
    run_by_table(session_, got, script(got), options);
    run_by_table(session_, again, script(again), options);
    expect_close(got, expected, tolerance);
    expect_same_bits(again, got);
  }

  const CudaSession session_{*GetParam().api};
};

}  // namespace orrery::testing
