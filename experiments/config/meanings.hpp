// The meaning of words of other programs, and of mistyped words.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace orrery {

/// The candidate that a word means: its meaning elsewhere ("gpu": cuda or nccl, "lr":
/// learning_rate), else the nearest one; an empty string if none is close enough.
std::string meant(const std::string& word, const std::vector<std::string>& candidates);

/// " Did you mean "NAME"?" for that candidate, or an empty string.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates);

/// The paths of all keys of a schema, "train.epochs"; those with fewer components come first.
std::vector<std::string> key_paths(const nlohmann::ordered_json& schema);

/// The paths of the keys whose last component is the word, or, if there are none, what the word
/// means; none for a mistyped word.
std::vector<std::string> paths_meant(const nlohmann::ordered_json& schema, const std::string& word);

/// The settings of a schema that have the word as a value, "kernels=cuda", or, if there are none,
/// its meaning; those with fewer components come first.
std::vector<std::string> settings_meant(const nlohmann::ordered_json& schema,
                                        const std::string& word);

}  // namespace orrery
