// The kind of host tasks that read files: in a simulation their bytes take the storage's time.
#pragma once

#include <string_view>

namespace orrery {

inline constexpr std::string_view kReadFiles = "read files";

}  // namespace orrery
