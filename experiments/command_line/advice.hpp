// What a mistaken command line should have been.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace orrery {

/// The help of the program itself, whatever has been parsed.
std::string overview(const CLI::App& app);

/// Checks that a word names a command below `command`, if it has any.
///
/// Errors    ConfigError with the command that is meant
void require_known_command(const CLI::App& command, const std::string& word);

/// What is wrong with words that no option takes, in the order in which they were given, and what
/// to write instead: "--epochs 5" is "--set train.epochs=5". `app` has parsed what it could.
std::string advice_on(const CLI::App& app, const std::vector<std::string>& words);

/// The command that was parsed, with those above it: "orrery dataset info".
std::string parsed_command(const CLI::App& app);

}  // namespace orrery
