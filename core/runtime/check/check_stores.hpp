// The part of the checks that is about rows in stores, see check.hpp.
#pragma once

#include <span>
#include <vector>

#include "core/runtime/check/check.hpp"

namespace orrery {

/// What is wrong with one rank's use of stores on its own:
///  - opened twice, closed without having been opened, or with other rows, never closed;
///  - pulls and pushes of rows of another width, or that no event orders between the rank's own
///    Expose and Withdraw;
///  - rows that are written or released while they are exposed.
std::vector<Finding> find_store_problems(const Program& program);

/// What is wrong between the ranks: rows asked of an owner that exposes none; rows that their owner
/// reads itself, but by Pull, while anybody pushes to them in the same exposure (whatever the order:
/// read them after Withdraw).
///
/// Requires  the programs of all ranks, in rank order, whose collectives match
std::vector<Finding> find_store_problems(std::span<const Program> programs);

}  // namespace orrery
