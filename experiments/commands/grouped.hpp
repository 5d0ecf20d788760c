// Readable numbers.
#pragma once

#include <cstdint>
#include <string>

namespace orrery {

/// 1234567 -> "1,234,567"
inline std::string grouped(std::int64_t n) {
  std::string text = std::to_string(n);
  for (auto i = std::ssize(text) - 3; i > 0; i -= 3) text.insert(static_cast<std::size_t>(i), ",");
  return text;
}

}  // namespace orrery
