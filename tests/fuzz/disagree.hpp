// A fault though nothing crashed.
#pragma once

#include <stdexcept>
#include <string>

namespace orrery::fuzz {

/// Two ways to read the same disagree.
[[noreturn]] inline void disagree(const std::string& about) {
  throw std::logic_error("two ways to read disagree about " + about);
}

}  // namespace orrery::fuzz
