// NumPy's name of numbers of 16 bits, for the few files that read or write features.
#pragma once

#include "core/base/half.hpp"
#include "core/graph/files/npy_header.hpp"

namespace orrery {

template <>
constexpr std::string_view npy_dtype<Half>() {
  return "<f2";
}

}  // namespace orrery
