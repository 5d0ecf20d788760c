// Names in experiment files.
#pragma once

#include <algorithm>
#include <string_view>

namespace orrery {

constexpr std::string_view kNameRule = "use small letters, digits, _, - and +";

/// Whether a method or a layer may have this name.
inline bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '+';
  });
}

}  // namespace orrery
