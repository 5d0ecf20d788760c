#include "experiments/command_line/completion.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <vector>

#include "experiments/command_line/help_layout.hpp"
#include "experiments/config/installed.hpp"
#include "experiments/config/meanings.hpp"
#include "experiments/config/shipped.hpp"
#include "experiments/config/validate_json.hpp"

namespace orrery {
namespace {

using Words = std::vector<std::string>;

/// The words that may stand at a place of the command line.
struct Values {
  enum Kind { nothing, words, files, folders, keys } kind = nothing;
  Words list = {};  ///< of words; beside files, names that are no files
};

/// A command in the form for completion.
struct Completed {
  std::string path;  ///< "dataset info"; empty: the program itself
  const CLI::App* command;
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// In single quotes; a quote inside is escaped for the shell.
std::string quoted(const std::string& text, const std::string& quote) {
  return fmt::format("'{}'", replaced(text, "'", quote));
}

std::vector<Completed> all_commands(const CLI::App& app) {
  std::vector<Completed> list;
  const std::function<void(const CLI::App&, const std::string&)> add =
      [&](const CLI::App& command, const std::string& path) {
        list.push_back({path, &command});
        for (const CLI::App* sub : commands_of(command))
          add(*sub, path.empty() ? sub->get_name() : fmt::format("{} {}", path, sub->get_name()));
      };
  add(app, "");
  return list;
}

Words names_of(const std::vector<const CLI::App*>& commands) {
  Words names;
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  return names;
}

/// The shipped figures: folders of configs/ with a figure.json.
Words figures() {
  namespace fs = std::filesystem;
  const fs::path root = shipped_root() / "configs";
  Words names;
  std::error_code unreadable;
  for (const auto& entry : fs::recursive_directory_iterator(root, unreadable))
    if (entry.path().filename() == "figure.json")
      names.push_back(fs::relative(entry.path().parent_path(), root).string());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<const CLI::Option*> options_of(const CLI::App& command, bool positional) {
  return command.get_options([positional](const CLI::Option* option) {
    return option->nonpositional() != positional && !option->get_group().empty();
  });
}

Values values_of(const CLI::Option& option) {
  if (const auto choices = choices_of(option); !choices.empty()) return {Values::words, choices};
  const std::string value = value_of(option);
  if (value == "KEY=VALUE") return {Values::keys};
  if (value == "FILE") return {Values::files};
  return {value == "DIR" ? Values::folders : Values::nothing};
}

/// Arguments of a command besides options.
Values arguments_of(const Completed& completed, const CLI::App& app) {
  if (const auto below = commands_of(*completed.command); !below.empty())
    return {Values::words, names_of(below)};
  if (completed.path == "help") return {Values::words, names_of(commands_of(app))};
  if (completed.path == "figure") return {Values::words, figures()};
  if (completed.path == "cluster show") return {Values::files, kClusterFiles.names()};
  const auto taken = options_of(*completed.command, true);
  if (taken.empty()) return {};
  if (const auto choices = choices_of(*taken.front()); !choices.empty())
    return {Values::words, choices};
  return {taken.front()->get_name(true) == "DIR" ? Values::folders : Values::files};
}

/// The keys of experiment files with a list of allowed values, and these values.
std::vector<std::pair<std::string, Words>> settings_with_choices() {
  std::vector<std::pair<std::string, Words>> list;
  for (const std::string& path : key_paths(experiment_schema())) {
    const nlohmann::ordered_json* property = &experiment_schema();
    for (std::size_t begin = 0; begin <= path.size();) {
      const auto dot = std::min(path.find('.', begin), path.size());
      property = &(*property)["properties"][path.substr(begin, dot - begin)];
      begin = dot + 1;
    }
    if (property->contains("enum")) list.emplace_back(path, (*property)["enum"].get<Words>());
    if (property->value("type", nlohmann::ordered_json()) == "boolean")
      list.emplace_back(path, Words{"true", "false"});
  }
  return list;
}

/// Keys with a value, "train.epochs=".
Words assignments() {
  Words list;
  for (const std::string& path : key_paths(experiment_schema())) list.push_back(path + "=");
  return list;
}

std::string for_bash(const Values& values) {
  const std::string words =
      values.list.empty()
          ? ""
          : fmt::format(" -W {}", quoted(fmt::format("{}", fmt::join(values.list, " ")), "'\\''"));
  switch (values.kind) {
    case Values::nothing:
      return "";
    case Values::words:
      return words;
    case Values::files:
      return " -f" + words;
    case Values::folders:
      return " -d";
    case Values::keys:
      return " -W \"$keys\"";
  }
  return "";
}

std::string bash(const CLI::App& app) {
  const auto commands = all_commands(app);
  Words paths;
  std::string cases, values;
  for (const Completed& one : commands) {
    if (!one.path.empty()) paths.push_back(quoted(one.path, ""));
    Words names;
    for (const CLI::Option* option : options_of(*one.command, false)) {
      names.push_back(option->get_name());
      const Values taken = values_of(*option);
      if (value_of(*option).empty()) continue;
      values +=
          fmt::format("    '{} {}') how=({}) ;;\n", one.path, option->get_name(), for_bash(taken));
    }
    cases += fmt::format("    '{}') options='{}' arguments=({}) ;;\n", one.path,
                         fmt::join(names, " "), for_bash(arguments_of(one, app)));
  }
  std::string choices;
  for (const auto& [path, words] : settings_with_choices())
    choices += fmt::format("    {}) values='{}' ;;\n", path, fmt::join(words, " "));
  return fmt::format(R"(# Completes the commands of orrery in bash. Made by: orrery completion bash
_orrery() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}}
  local command='' longer options='' values='' key='' i
  local -a arguments=() how=()
  local keys='{}'
  for ((i = 1; i < COMP_CWORD; i++)); do
    longer="${{command:+$command }}${{COMP_WORDS[i]}}"
    case $longer in
    {}) command=$longer ;;
    esac
  done
  # bash takes key=value apart at the sign: the values of a key.
  [ "$previous" != = ] || key=${{COMP_WORDS[COMP_CWORD - 2]}}
  [ "$word" != = ] || key=$previous word=''
  if [ -n "$key" ]; then
    case $key in
{}    esac
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
    return
  fi
  case "$command $previous" in
{}  esac
  case $command in
{}  esac
  case "$command $previous" in *' --'*) [ ${{#how[@]}} = 0 ] || arguments=("${{how[@]}}") ;; esac
  if [[ $word == -* ]]; then
    arguments=(-W "$options")
  elif [ "$previous" = --set ]; then
    compopt -o nospace 2>/dev/null
  else
    case " ${{arguments[*]}} " in *' -f '* | *' -d '*) compopt -o filenames 2>/dev/null ;; esac
  fi
  [ ${{#arguments[@]}} = 0 ] || mapfile -t COMPREPLY < <(compgen "${{arguments[@]}}" -- "$word")
}}
complete -F _orrery orrery ./orrery
)",
                     fmt::join(assignments(), " "), fmt::join(paths, " | "), choices, values,
                     cases);
}

/// Escaped for [ ] and between colons of zsh's _arguments.
std::string zsh_text(const std::string& text) {
  std::string plain = replaced(text, ":", "\\:");
  plain = replaced(replaced(plain, "[", "\\["), "]", "\\]");
  return replaced(plain, "\n", " ");
}

std::string for_zsh(const Values& values) {
  switch (values.kind) {
    case Values::nothing:
      return ": ";
    case Values::words:
      return fmt::format(":({})", fmt::join(values.list, " "));
    case Values::files:
      return ":_files";
    case Values::folders:
      return ":_files -/";
    case Values::keys:
      return ":_orrery_keys";
  }
  return "";
}

std::string zsh_function(const std::string& path) {
  return path.empty() ? "_orrery" : fmt::format("_orrery_{}", replaced(path, " ", "_"));
}

std::string zsh(const CLI::App& app) {
  const std::string quote = "'\\''";
  std::string functions;
  for (const Completed& one : all_commands(app)) {
    std::string arguments, names, below;
    for (const CLI::Option* option : options_of(*one.command, false)) {
      const std::string value = value_of(*option);
      const std::string text = fmt::format(
          "{}{}[{}]{}", option->get_name() == "--set" ? "*" : "", option->get_name(),
          zsh_text(option->get_description()),
          value.empty() ? "" : fmt::format(":{}{}", zsh_text(value), for_zsh(values_of(*option))));
      arguments += fmt::format(" \\\n    {}", quoted(text, quote));
    }
    const auto subs = commands_of(*one.command);
    for (const CLI::App* sub : subs) {
      names += fmt::format(
          "    {}\n",
          quoted(fmt::format("{}:{}", sub->get_name(), zsh_text(sub->get_description())), quote));
      below += fmt::format(
          "        {}) {} ;;\n", sub->get_name(),
          zsh_function(one.path.empty() ? sub->get_name()
                                        : fmt::format("{} {}", one.path, sub->get_name())));
    }
    if (subs.empty()) {
      const Values taken = arguments_of(one, app);
      if (taken.kind != Values::nothing)
        arguments +=
            fmt::format(" \\\n    {}", quoted(fmt::format("*:argument{}", for_zsh(taken)), quote));
      functions += fmt::format("{}() {{\n  _arguments{}\n}}\n", zsh_function(one.path), arguments);
      continue;
    }
    functions += fmt::format(
        "{}() {{\n  local state\n  local -a commands=(\n{}  )\n  _arguments -C{} \\\n    "
        "':command:->command' "
        "'*::argument:->argument'\n  case $state in\n    command) _describe command commands ;;\n  "
        "  argument)\n"
        "      case $words[1] in\n{}      esac ;;\n  esac\n}}\n",
        zsh_function(one.path), names, arguments, below);
  }
  return fmt::format(
      "#compdef orrery\n# Completes the commands of orrery in zsh. Made by: orrery completion zsh\n"
      "_orrery_keys() {{\n  compadd -S '' -- {}\n}}\n{}"
      "if [[ ${{funcstack[1]}} == _orrery ]]; then _orrery \"$@\"; else compdef _orrery orrery; "
      "fi\n",
      fmt::join(assignments(), " "), functions);
}

std::string for_fish(const Values& values) {
  switch (values.kind) {
    case Values::nothing:
      return " -x";
    case Values::words:
      return fmt::format(" -x -a {}",
                         quoted(fmt::format("{}", fmt::join(values.list, " ")), "\\'"));
    case Values::files:
      return " -r -F";
    case Values::folders:
      return " -x -a '(__fish_complete_directories)'";
    case Values::keys:
      return fmt::format(" -x -a '{}'", fmt::join(assignments(), " "));
  }
  return "";
}

std::string fish(const CLI::App& app) {
  const std::string quote = "\\'";
  const auto commands = all_commands(app);
  Words paths;
  std::string lines;
  for (const Completed& one : commands) {
    if (!one.path.empty()) paths.push_back(quoted(one.path, quote));
    const std::string at = fmt::format("complete -c orrery -n '__orrery_at \"{}\"'", one.path);
    for (const CLI::App* sub : commands_of(*one.command))
      lines += fmt::format("{} -a {} -d {}\n", at, sub->get_name(),
                           quoted(sub->get_description(), quote));
    if (commands_of(*one.command).empty()) {
      const Values taken = arguments_of(one, app);
      if (!taken.list.empty())
        lines += fmt::format("{} -a {}\n", at,
                             quoted(fmt::format("{}", fmt::join(taken.list, " ")), quote));
      if (taken.kind == Values::files) lines += at + " -F\n";
      if (taken.kind == Values::folders) lines += at + " -a '(__fish_complete_directories)'\n";
    }
    for (const CLI::Option* option : options_of(*one.command, false))
      lines += fmt::format("{} -l {}{} -d {}\n", at, option->get_lnames().front(),
                           value_of(*option).empty() ? "" : for_fish(values_of(*option)),
                           quoted(option->get_description(), quote));
  }
  return fmt::format(R"(# Completes the commands of orrery in fish. Made by: orrery completion fish
function __orrery_at --description 'whether the command line names this command'
    set -l path
    for word in (commandline -opc)[2..-1]
        if contains -- (string join -- ' ' $path $word) {}
            set path $path $word
        end
    end
    test (string join -- ' ' $path) = "$argv"
end
complete -c orrery -f
{})",
                     fmt::join(paths, " "), lines);
}

}  // namespace

std::string completion(const CLI::App& app, const std::string& shell) {
  return shell == "bash" ? bash(app) : shell == "zsh" ? zsh(app) : fish(app);
}

}  // namespace orrery
