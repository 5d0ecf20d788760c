// Completion of commands, options and keys in a shell.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace orrery {

/// The script that completes the commands of `app` in a shell: "bash", "zsh" or "fish". Keys and
/// values of --set come from the experiment schema.
std::string completion(const CLI::App& app, const std::string& shell);

}  // namespace orrery
