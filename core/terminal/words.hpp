// Mistyped words.
#pragma once

#include <string>
#include <vector>

namespace orrery {

/// The candidate with the smallest edit distance if it is close enough, else an empty string.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace orrery
