// The command line with all its commands: parsing, help, completion and manual page.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

namespace orrery {

/// Mounts every command. Their work is done while the line is parsed. Exit codes are left in
/// `exit_code`, which must outlive the parse.
///
/// Errors    as plugin_lines()
std::unique_ptr<CLI::App> make_app(int& exit_code);

}  // namespace orrery
