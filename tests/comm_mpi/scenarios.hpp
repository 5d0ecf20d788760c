// What the ranks of a test job do, by name.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "backends/comm_mpi/comm_mpi.hpp"

namespace orrery::testing {

/// What happens in one test job: options that differ from the tests' own, and each rank's part.
struct Scenario {
  std::function<void(MpiWorld&)> part;
  std::function<void(MpiOptions&)> options = [](MpiOptions&) {};
};
using Scenarios = std::map<std::string, Scenario>;

/// Jobs in which something goes wrong.
void add_failures(Scenarios& scenarios);

}  // namespace orrery::testing
