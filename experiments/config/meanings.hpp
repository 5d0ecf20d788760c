// What people mean who use the words of another program, or mistype ours.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace orrery {

/// The candidate that a word means: what it stands for elsewhere ("gpu": cuda or nccl, "lr":
/// learning_rate), else the nearest one; an empty string where none is close enough.
std::string meant(const std::string& word, const std::vector<std::string>& candidates);

/// " Did you mean "NAME"?" for the candidate that is meant, or an empty string.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates);

/// The paths of all keys of a schema, "train.epochs", those of fewer components first.
std::vector<std::string> key_paths(const nlohmann::ordered_json& schema);

/// The paths of the keys whose last component is the word, or, where there is none, what the word
/// stands for; a mistyped one has none.
std::vector<std::string> paths_meant(const nlohmann::ordered_json& schema, const std::string& word);

/// The settings of a schema that have the word as a value, "kernels=cuda", or, where there are none,
/// what it stands for; those of fewer components first.
std::vector<std::string> settings_meant(const nlohmann::ordered_json& schema,
                                        const std::string& word);

}  // namespace orrery
