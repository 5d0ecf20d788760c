// Suggestions for a wrong command line.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace orrery {

/// The help of the program itself, for anything that was parsed.
std::string overview(const CLI::App& app);

/// Checks that a word names a command below `command`, if it has any.
///
/// Errors    ConfigError with the suggested command
void require_known_command(const CLI::App& command, const std::string& word);

/// The fault in words that no option takes, in their order, and what to write instead: "--epochs 5"
/// is "--set train.epochs=5". `app` has parsed what it could.
std::string advice_on(const CLI::App& app, const std::vector<std::string>& words);

/// The parsed command, with those above it: "orrery dataset info".
std::string parsed_command(const CLI::App& app);

}  // namespace orrery
