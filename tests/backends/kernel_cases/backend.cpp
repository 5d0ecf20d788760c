#include "tests/backends/kernel_cases/backend.hpp"

#include "backends/reference/reference.hpp"

namespace orrery::testing {

void expect_equals_reference(const Script& script, const std::vector<Runner>& ways,
                             double tolerance) {
  World drawn;
  const Op op = script(drawn);
  SCOPED_TRACE(to_string(op));
  const World expected(drawn), first(drawn);

  expected.run(*make_reference_kernels(), op);
  ways.front()(first, op);

  expect_close(first, expected, tolerance);
  for (std::size_t way = 1; way < ways.size(); ++way) {
    const World other(drawn);
    ways[way](other, op);
    expect_same_bits(other, first);
  }
}

}  // namespace orrery::testing
