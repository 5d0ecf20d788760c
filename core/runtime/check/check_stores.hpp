// The checks about rows in stores, see check.hpp.
#pragma once

#include <span>
#include <vector>

#include "core/runtime/check/check.hpp"

namespace orrery {

/// Faults in one rank's use of stores:
///  - opened twice, closed without having been opened, or with other rows, never closed;
///  - pulls and pushes of rows of another width, or that no event orders between the rank's own
///    Expose and Withdraw;
///  - rows that are written or released while they are exposed.
std::vector<Finding> find_store_problems(const Program& program);

/// Faults between the ranks: rows requested from an owner that exposes none; rows that their owner
/// reads itself, other than by Pull, while any rank pushes to them in the same exposure (in any
/// order: read them after Withdraw).
///
/// Requires  the programs of all ranks, in rank order, whose collectives match
std::vector<Finding> find_store_problems(std::span<const Program> programs);

}  // namespace orrery
