#include "experiments/command_line/manual_page.hpp"

#include <fmt/core.h>

#include <sstream>

#include "experiments/command_line/help_layout.hpp"
#include "experiments/config/version.hpp"

namespace orrery {
namespace {

/// Text that roff prints unchanged.
std::string roff(const std::string& text) {
  std::string out;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    begins = c == '\n';
  }
  return out;
}

std::string item(const std::string& name, const std::string& text) {
  return fmt::format(".TP\n{}\n{}\n", name, roff(text));
}

std::string bold(const std::string& text) { return fmt::format("\\fB{}\\fR", roff(text)); }

std::string italic(const std::string& text) { return fmt::format("\\fI{}\\fR", roff(text)); }

std::string option_items(const CLI::App& command) {
  std::string arguments, options;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty() || option->get_name() == "--help") continue;
    std::string text = option->get_description();
    if (!option->get_default_str().empty())
      text += fmt::format(" (default: {})", option->get_default_str());
    const std::string value = value_of(*option);
    if (!option->nonpositional())
      arguments += item(italic(option->get_name(true)), text);
    else
      options += item(value.empty() ? bold(option->get_name())
                                    : fmt::format("{} {}", bold(option->get_name()), italic(value)),
                      text);
  }
  return arguments + options;
}

/// A section for a command, or for each of those below it. The page ends like the help text.
std::string section(const CLI::App& command, const std::string& path) {
  std::string text;
  if (const auto below = commands_of(command); !below.empty()) {
    for (const CLI::App* sub : below)
      text += section(*sub, fmt::format("{} {}", path, sub->get_name()));
    return text;
  }
  text = fmt::format(".SS {}\n{}.\n", roff(path), roff(command.get_description()));
  text += option_items(command);
  if (!command.get_footer().empty())
    text += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(command.get_footer()));
  return text;
}

}  // namespace

std::string manual_page(const CLI::App& app) {
  std::string page = fmt::format(
      ".TH ORRERY 1 \"\" \"Orrery {}\" \"User commands\"\n.SH NAME\norrery \\- train graph neural "
      "networks on many ranks, for real or simulated\n.SH SYNOPSIS\n.B orrery\n.I "
      "COMMAND\n[options]\n"
      ".SH DESCRIPTION\n{}\n.SH COMMANDS\n",
      kVersion, roff(app.get_description()));
  for (const CLI::App* command : commands_of(app)) page += section(*command, command->get_name());
  page += ".SH ENVIRONMENT\n";
  page +=
      item(bold("ORRERY_DATA"),
           "Folders in which data sets are looked up by name, separated by colons; then ./data, "
           "then the working folder.");
  page += item(bold("ORRERY_PYTHON"), "The Python 3 that makes reports and figures.");
  page += item(bold("ORRERY_CUDA_LIBRARY"),
               "The library for NVIDIA GPUs, if it is not beside the program.");
  page += item(bold("ORRERY_MIRROR"),
               "An address from which dataset get takes every file, as $ORRERY_MIRROR/SET/FILE.");
  page +=
      item(bold("ORRERY_PROGRAM"),
           "The program that the Python package starts, in the place of the one that it finds.");
  page += item(bold("ORRERY_STORAGE"),
               "RATE@FILE, in bytes per second: infer reads its files of edges and features no "
               "faster. Processes that name the same FILE share the rate; several have commas "
               "between them.");
  page += item(bold("XDG_DATA_HOME"),
               "Folder of orrery/configs, into which calibrate writes if the program is "
               "installed (default: ~/.local/share).");
  page += item(bold("NO_COLOR"), "Has no effect: no output is coloured.");
  page += ".SH EXIT STATUS\n";
  page += item("0", "Done.") +
          item("1", "Failed or diverged; of run, sweep and infer also: interrupted once.") +
          item("2", "Wrong use: an option, a key or a value.");
  page += item("130",
               "Interrupted: a command that has nothing to keep, such as plan or dataset generate; "
               "run, sweep and infer after a second signal, at once.");
  return page;
}

}  // namespace orrery
