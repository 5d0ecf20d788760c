// The kind of host tasks that read files. In a simulation they take the time of the storage.
#pragma once

#include <string_view>

namespace orrery {

inline constexpr std::string_view kReadFiles = "read files";

}  // namespace orrery
