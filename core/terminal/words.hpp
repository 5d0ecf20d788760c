// Mistyped words.
#pragma once

#include <string>
#include <vector>

namespace orrery {

/// The candidate with the smallest edit distance if it is close enough, else an empty string.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

/// "the unknown vertex type "authorr"; did you mean "author"? there are paper, author", for the kind "vertex
/// type".
std::string unknown(const std::string& kind, const std::string& word,
                    const std::vector<std::string>& candidates);

}  // namespace orrery
