// Threads as the ranks of a test.
#pragma once

#include "backends/comm_threads/comm_threads.hpp"
#include "tests/support/collectives.hpp"

namespace orrery {

inline testing::Ranks threads(int count) {
  return {count, [count](const auto& body) { ThreadWorld(count).run(body); }};
}

}  // namespace orrery
