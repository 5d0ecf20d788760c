// Layout of help: groups with their options in order, in lines of at most 100 columns or those of the
// terminal.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace orrery {

/// Prints the help of commands. The value of an option is shown by the name of its type, or by the
/// values that it allows.
class HelpLayout : public CLI::Formatter {
 public:
  HelpLayout() { label("SUBCOMMAND", "COMMAND"); }
  std::string make_help(const CLI::App* command, std::string name,
                        CLI::AppFormatMode mode) const override;
  std::string make_group(std::string title, bool is_positional,
                         std::vector<const CLI::Option*> options) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
};

/// The titles under which options stand, in this order.
inline constexpr const char* kOptions = "Options";
inline constexpr const char* kFiles = "Files";
inline constexpr const char* kOutput = "Output";

/// The value of an option, "FILE" or "cpu|cuda"; empty for a flag.
std::string value_of(const CLI::Option& option);

/// The values that an option allows, if it names them.
std::vector<std::string> choices_of(const CLI::Option& option);

/// The commands below one, without hidden ones, in the order in which they were added.
std::vector<const CLI::App*> commands_of(const CLI::App& command);

/// Words broken into lines of at most `columns`; line breaks of the text are kept.
std::vector<std::string> wrapped_lines(const std::string& text, std::size_t columns);

}  // namespace orrery
