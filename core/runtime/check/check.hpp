// Proves that a set of recorded programs is safe to run, without running them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/runtime/program.hpp"

namespace orrery {

struct Finding {
  int rank = 0;
  std::size_t step = 0;  ///< index in the rank's program
  std::string problem;
};

/// Faults within one rank's program:
///  - races: two accesses to the same elements from different lanes, one of them a write, that no
///    event orders (vector clocks over the lanes and the host, windows compared element by element);
///  - use after release, release twice, wait for an event that was never reached;
///  - leaks: tensors and patterns still held at the end;
///  - stores: see check_stores.hpp.
std::vector<Finding> find_local_problems(const Program& program);

/// Faults between the ranks: collectives of a group that differ in kind, lane, root, sizes or
/// order; sends without a receive; any order over `comm` and `comm2` in which the ranks would
/// deadlock; and stores (see check_stores.hpp).
///
/// Requires  the programs of all ranks, in rank order
std::vector<Finding> find_collective_problems(std::span<const Program> programs);

/// Errors    ProgramError with the first finding and the number of others, if there are any
void throw_findings(const std::vector<Finding>& findings);

/// Both of the above.
///
/// Errors    ProgramError with the first finding and the number of others
void check(std::span<const Program> programs);

}  // namespace orrery
