// Mistyped words.
#pragma once

#include <string>
#include <vector>

namespace orrery {

/// The candidate with the smallest edit distance if it is close enough, else an empty string.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

/// The candidate that differs from the word by a letter, or by two in a longer word; else an empty string.
/// For candidates of which most mean something else.
std::string slip_of(const std::string& word, const std::vector<std::string>& candidates);

/// "the unknown vertex type "authorr"; did you mean "author"? there are paper, author", for the kind "vertex
/// type". `meant`: candidates that the word stands for, if they are known better than by their letters.
std::string unknown(const std::string& kind, const std::string& word,
                    const std::vector<std::string>& candidates,
                    std::vector<std::string> meant = {});

}  // namespace orrery
