#include "core/base/error.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <limits>

#include "core/base/units.hpp"
#include "core/terminal/tell.hpp"

namespace orrery {

namespace {

/// Memory in use and its limit: `capacity` is the largest number if only the system sets a limit.
std::string use_of(std::int64_t in_use, std::int64_t capacity) {
  if (capacity == std::numeric_limits<std::int64_t>::max())
    return fmt::format("{} are in use and the system grants no more", human_bytes(in_use));
  return fmt::format("{} of {} are in use", human_bytes(in_use), human_bytes(capacity));
}

}  // namespace

OutOfMemory::OutOfMemory(std::string tensor_name, std::int64_t asked_bytes,
                         std::int64_t in_use_bytes, std::int64_t capacity_bytes,
                         std::string space_name)
    : Error(fmt::format("out of {}memory: tensor '{}' needs {}, but {}",
                        space_name == "device" ? "" : space_name + " ", tensor_name,
                        human_bytes(asked_bytes), use_of(in_use_bytes, capacity_bytes))),
      tensor(std::move(tensor_name)),
      space(std::move(space_name)),
      asked(asked_bytes),
      in_use(in_use_bytes),
      capacity(capacity_bytes) {}

ProgramError::ProgramError(int at_rank, std::size_t at_step, const std::string& problem)
    : Error(fmt::format("rank {}, step {}: {}", at_rank, at_step, problem)),
      rank(at_rank),
      step(at_step) {}

void assertion_failed(const char* expression, const char* file, int line) {
  tell("{}:{}: impossible state: {} is false. This is a bug in Orrery.\n", file, line, expression);
  std::abort();
}

}  // namespace orrery
