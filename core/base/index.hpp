// Signed numbers as indices of standard containers.
#pragma once

#include <cstddef>

namespace orrery {

/// The index of element i of a standard container. Counts and vertices are signed in this project.
template <class Number>
constexpr std::size_t at(Number i) {
  return static_cast<std::size_t>(i);
}

}  // namespace orrery
