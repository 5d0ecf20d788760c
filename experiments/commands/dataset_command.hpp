// The command `orrery dataset info|generate|convert|sample-check|get`.
#pragma once

namespace CLI {
class App;
}

namespace orrery {

/// Mounts `dataset` and its subcommands on the command line. Callbacks do their work while `app`
/// parses. The result (0, or 1 if `get` finds no such set or samples are wrong) is left in
/// `exit_code`. `app` and `exit_code` must outlive the parse.
///
/// Errors    thrown out of app.parse(): CLI::ParseError (wrong use), ConfigError (impossible
///           parameters), DataError (unreadable input, unwritable output)
void add_dataset_command(CLI::App& app, int& exit_code);

}  // namespace orrery
