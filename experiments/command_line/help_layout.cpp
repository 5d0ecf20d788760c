#include "experiments/command_line/help_layout.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "core/terminal/terminal.hpp"

namespace orrery {
namespace {

constexpr int kColumns = 100, kLeastColumns = 60;
constexpr std::size_t kNames = 30;

/// Those of the terminal within bounds; without a terminal the most.
std::size_t columns() {
  const int terminal = columns_of(STDOUT_FILENO);
  return static_cast<std::size_t>(terminal == 0 ? kColumns
                                                : std::clamp(terminal, kLeastColumns, kColumns));
}

/// A name and its explanation, which has a column of its own.
std::string entry(const std::string& name, const std::string& text) {
  const std::string indent(kNames, ' ');
  std::string out = fmt::format("  {}", name);
  bool beside = out.size() + 2 <= kNames;
  for (const std::string& line : wrapped_lines(text, columns() - kNames)) {
    out += beside ? std::string(kNames - std::min(kNames, out.size()), ' ') : "\n" + indent;
    out += line;
    beside = false;
  }
  return out + "\n";
}

}  // namespace

std::vector<std::string> wrapped_lines(const std::string& text, std::size_t columns) {
  std::vector<std::string> lines;
  std::istringstream paragraphs(text);
  for (std::string paragraph; std::getline(paragraphs, paragraph);) {
    std::istringstream words(paragraph);
    std::string line;
    for (std::string word; words >> word;) {
      if (!line.empty() && line.size() + 1 + word.size() > columns)
        lines.push_back(std::exchange(line, {}));
      line += line.empty() ? word : fmt::format(" {}", word);
    }
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> choices_of(const CLI::Option& option) {
  std::string names = option.get_type_name();
  char between = '|';  // "cpu|cuda": the option itself names its values
  if (const auto open = names.find(":{"); open != std::string::npos) {
    names = names.substr(open + 2, names.rfind('}') - open - 2);  // "TEXT:{cpu,cuda}" of a check
    between = ',';
  } else if (names.find(between) == std::string::npos) {
    return {};
  }
  std::vector<std::string> choices;
  std::istringstream list(names);
  for (std::string name; std::getline(list, name, between);) choices.push_back(name);
  std::sort(choices.begin(), choices.end());
  return choices;
}

std::string value_of(const CLI::Option& option) {
  if (option.get_type_size() == 0 || option.get_items_expected_max() == 0) return "";
  if (const auto choices = choices_of(option); !choices.empty())
    return fmt::format("{}", fmt::join(choices, "|"));
  std::string type = option.get_type_name();
  type = type.substr(0, type.find(':'));
  if (type == "INT" || type == "UINT") return "N";
  return type == "FLOAT" ? "X" : type;
}

std::vector<const CLI::App*> commands_of(const CLI::App& command) {
  return command.get_subcommands(
      [](const CLI::App* sub) { return !sub->get_name().empty() && !sub->get_group().empty(); });
}

std::string HelpLayout::make_help(const CLI::App* command, std::string name,
                                  CLI::AppFormatMode mode) const {
  std::string out =
      fmt::format("{}\n", fmt::join(wrapped_lines(make_description(command), columns()), "\n"));
  out += make_usage(command, std::move(name));
  const auto group = [&](const char* title, bool positional) {
    const auto options = command->get_options([&](const CLI::Option* option) {
      return option->nonpositional() != positional && (positional || option->get_group() == title);
    });
    if (!options.empty()) out += make_group(title, positional, options);
  };
  group("What it takes", true);
  for (const char* title : {kOptions, kFiles, kOutput}) group(title, false);
  out += make_subcommands(command, mode);
  const std::string footer = make_footer(command);
  return footer.empty() ? out : fmt::format("{}\n{}", out, footer);
}

std::string HelpLayout::make_group(std::string title, bool is_positional,
                                   std::vector<const CLI::Option*> options) const {
  if (!is_positional)
    std::sort(options.begin(), options.end(), [](const CLI::Option* a, const CLI::Option* b) {
      return a->get_name(false, true) < b->get_name(false, true);
    });
  std::string out = fmt::format("\n{}:\n", title);
  for (const CLI::Option* option : options) out += make_option(option, is_positional);
  return out;
}

std::string HelpLayout::make_option(const CLI::Option* option, bool is_positional) const {
  std::string value = is_positional ? "" : value_of(*option);
  const bool crowded = value.size() > columns() - 20;  // choices that do not fit behind the name
  if (crowded) value = "NAME";
  std::string text = option->get_description();
  std::vector<std::string> notes;
  if ((is_positional || crowded) && !choices_of(*option).empty())
    notes.push_back(fmt::format("one of {}", fmt::join(choices_of(*option), ", ")));
  if (!option->get_default_str().empty())
    notes.push_back(fmt::format("default: {}", option->get_default_str()));
  if (!is_positional && option->get_required()) notes.emplace_back("required");
  if (!option->get_excludes().empty()) {
    std::vector<std::string> others;
    for (const CLI::Option* other : option->get_excludes()) others.push_back(other->get_name());
    notes.push_back(fmt::format("not with {}", fmt::join(others, ", ")));
  }
  if (!notes.empty()) text += fmt::format(" ({})", fmt::join(notes, "; "));
  std::string name = option->get_name(is_positional, !is_positional);
  if (is_positional && option->get_items_expected_max() > 1) name += "...";
  name = name.substr(0, name.find('{'));  // "--no-x{false}" of a flag that unsets
  if (const auto comma = name.find(','); comma != std::string::npos) name.insert(comma + 1, " ");
  return entry(value.empty() ? name : fmt::format("{} {}", name, value), text);
}

std::string HelpLayout::make_subcommand(const CLI::App* command) const {
  return entry(command->get_name(), command->get_description());
}

}  // namespace orrery
