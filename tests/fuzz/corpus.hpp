// Inputs on disk.
#pragma once

#include <string>
#include <vector>

namespace orrery::fuzz {

/// The inputs that are kept for a target in tests/fuzz/corpus: some that reach far into its reader,
/// and all that broke it once. Sorted by name.
std::vector<std::string> kept_inputs(const std::string& target);

}  // namespace orrery::fuzz
