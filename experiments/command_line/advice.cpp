#include "experiments/command_line/advice.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/terminal/words.hpp"
#include "experiments/command_line/help_layout.hpp"
#include "experiments/config/meanings.hpp"
#include "experiments/config/validate_json.hpp"

namespace orrery {
namespace {

using Words = std::vector<std::string>;

const CLI::App& innermost(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : innermost(*parsed.front());
}

Words option_names(const CLI::App& command) {
  Words names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  return names;
}

/// The setting of an experiment that an option of another program stands for; empty: none.
std::string setting_for(const std::string& name, const std::string& value) {
  const auto& schema = experiment_schema();
  if (const auto settings = settings_meant(schema, name); !settings.empty() && value.empty())
    return settings.front();
  Words paths = paths_meant(schema, name);
  if (paths.empty()) {
    Words keys;
    for (const std::string& path : key_paths(schema))
      keys.push_back(path.substr(path.rfind('.') + 1));
    paths = paths_meant(schema, nearest(name, keys));
  }
  if (paths.empty()) return "";
  return fmt::format("{}={}", paths.front(), value.empty() ? "VALUE" : value);
}

}  // namespace

std::string overview(const CLI::App& app) {
  return app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal);
}

void require_known_command(const CLI::App& command, const std::string& word) {
  if (word.empty() || word[0] == '-') return;
  Words names;
  for (const CLI::App* sub : commands_of(command)) names.push_back(sub->get_name());
  if (names.empty())
    throw ConfigError(word, fmt::format("{} has no commands of its own", command.get_name()));
  if (std::find(names.begin(), names.end(), word) != names.end()) return;
  throw ConfigError(
      word, fmt::format("unknown command.{} Known commands: {}{}", did_you_mean(word, names),
                        fmt::join(names, ", "), command.get_parent() == nullptr ? ", test" : ""));
}

std::string parsed_command(const CLI::App& app) {
  std::string path = app.get_name();
  for (const CLI::App* command : app.get_subcommands()) path += " " + parsed_command(*command);
  return path;
}

std::string advice_on(const CLI::App& app, const Words& words) {
  const CLI::App& command = innermost(app);
  const std::string path = parsed_command(app);
  const auto option = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word.size() > 1 && word[0] == '-';
  });
  const Words known = option_names(command);
  const bool has_settings = std::find(known.begin(), known.end(), "set") != known.end();
  if (option == words.end()) {
    if (has_settings && words.front().rfind("=", 0) == 0)
      return fmt::format("{}: was not expected; write --set KEY=VALUE without spaces beside the =",
                         words.front());
    if (has_settings && words.front().find('=') != std::string::npos)
      return fmt::format("{0}: was not expected. Did you mean --set {0}?", words.front());
    return fmt::format("{}: was not expected; {} --help lists what {} takes", words.front(), path,
                       path);
  }
  const auto equals = option->find('=');
  const std::string given = option->substr(0, equals);
  const std::string name = given.substr(std::min(given.find_first_not_of('-'), given.size()));
  std::string value = equals == std::string::npos ? "" : option->substr(equals + 1);
  if (value.empty() && option + 1 != words.end() && (option + 1)->rfind("--", 0) != 0)
    value = *(option + 1);
  const std::string setting = has_settings ? setting_for(name, value) : "";
  const std::string close = nearest(name, known);
  const bool is_key =
      setting.find("." + name + "=") != std::string::npos || setting.rfind(name + "=", 0) == 0;
  std::string instead;
  if (!setting.empty() && (is_key || close.empty()))
    instead = fmt::format("--set '{}'", setting);
  else if (!close.empty())
    instead = fmt::format("--{}", close);
  return fmt::format("{}: {} has no such option.{} {} --help lists its options", given, path,
                     instead.empty() ? "" : fmt::format(" Did you mean {}?", instead), path);
}

}  // namespace orrery
