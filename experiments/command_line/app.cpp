#include "experiments/command_line/app.hpp"

#include <fmt/core.h>

#include <map>

#include "core/base/error.hpp"
#include "experiments/command_line/about.hpp"
#include "experiments/command_line/advice.hpp"
#include "experiments/command_line/completion.hpp"
#include "experiments/command_line/help_layout.hpp"
#include "experiments/command_line/manual_page.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/dataset_command.hpp"
#include "experiments/config/plugins.hpp"

namespace orrery {
namespace {

/// Options with the same name mean the same in every command, so they have the same title.
const std::map<std::string, const char*> kGroups{
    {"--out", kFiles},    {"--force", kFiles}, {"--resume", kFiles},
    {"--owners", kFiles}, {"--svg", kFiles},   {"--json", kOutput},
    {"--quiet", kOutput}, {"--help", kOutput}, {"--version", kOutput},
};

/// Sorts the options of all commands below by title: inputs first, output last.
void arrange(CLI::App& command) {
  for (CLI::Option* option : command.get_options())
    if (const auto group = kGroups.find(option->get_name()); group != kGroups.end())
      option->group(group->second);
  for (CLI::App* sub : command.get_subcommands([](CLI::App*) { return true; })) arrange(*sub);
}

void group(CLI::App& app, const char* title, std::initializer_list<const char*> names) {
  for (const char* name : names) app.get_subcommand(name)->group(title);
}

/// The overview, or the help of a command: `words` is its path, such as "dataset info".
std::string help_of(CLI::App& app, const std::vector<std::string>& words) {
  CLI::App* command = &app;
  std::string path = "orrery";
  for (const std::string& word : words) {
    require_known_command(*command, word);
    if (command != &app) path += " " + command->get_name();
    command = command->get_subcommand(word);
  }
  if (command == &app) return overview(app);
  return command->help(path);
}

void add_help_command(CLI::App& app) {
  auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("help", "Explain all commands, or one");
  command->add_option("COMMAND", *words, "The command, such as run, or dataset info");
  command->footer("Example: orrery help dataset info");
  command->callback([words, &app] { fmt::print("{}", help_of(app, *words)); });
}

void add_version_command(CLI::App& app) {
  app.add_subcommand("version", "Print the version and the libraries of this program")
      ->callback([] { fmt::print("{}\n", about()); });
}

void add_completion_command(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "Print the completion script of a shell");
  command->add_option("SHELL", *shell, "The shell")
      ->required()
      ->check(CLI::IsMember({"bash", "fish", "zsh"}));
  command->footer(
      "Examples: source <(orrery completion bash)                                   in ~/.bashrc\n"
      "          orrery completion zsh > ~/.zfunc/_orrery                 a folder of your fpath\n"
      "          orrery completion fish > ~/.config/fish/completions/orrery.fish");
  command->callback([shell, &app] { fmt::print("{}", completion(app, *shell)); });
}

void add_man_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("man", "Print the manual page");
  command->footer("Example: orrery man | man -l -");
  command->callback([&app] { fmt::print("{}", manual_page(app)); });
}

}  // namespace

std::unique_ptr<CLI::App> make_app(int& exit_code) {
  auto app = std::make_unique<CLI::App>(
      "Orrery trains graph neural networks on many ranks, on threads, over MPI or on GPUs.\n"
      "It can also simulate the training on a cluster that a file describes.",
      "orrery");
  app->formatter(std::make_shared<HelpLayout>());
  app->require_subcommand(1);
  app->set_help_flag("-h,--help", "Print this help");
  app->set_version_flag("-V,--version", about,
                        "Print the version and the libraries of this program");
  add_run_command(*app, exit_code);
  add_sweep_command(*app, exit_code);
  add_infer_command(*app, exit_code);
  add_predict_command(*app);
  add_watch_command(*app);
  add_plan_command(*app, exit_code);
  add_advise_command(*app, exit_code);
  add_caches_command(*app, exit_code);
  add_starve_command(*app, exit_code);
  add_trace_command(*app, exit_code);
  add_breakdown_command(*app, exit_code);
  add_validate_command(*app, exit_code);
  add_report_command(*app);
  add_figure_command(*app);
  add_equations_command(*app);
  add_dataset_command(*app, exit_code);
  add_partition_command(*app, exit_code);
  add_cluster_command(*app, exit_code);
  add_calibrate_command(*app, exit_code);
  add_help_command(*app);
  add_version_command(*app);
  add_completion_command(*app);
  add_man_command(*app);
  group(*app, "Experiments",
        {"run", "sweep", "infer", "predict", "plan", "advise", "caches", "starve", "trace",
         "breakdown", "validate"});
  group(*app, "Results", {"watch", "report", "figure", "equations"});
  group(*app, "Graphs and hardware", {"dataset", "partition", "cluster", "calibrate"});
  group(*app, "About", {"help", "version", "completion", "man"});
  arrange(*app);
  std::string footer =
      "orrery help COMMAND explains a command. In a source tree, ./orrery test runs all tests.\n\n"
      "Example: orrery run configs/quickstart.json";
  if (const std::string plugins = plugin_lines(); !plugins.empty())
    footer += "\n\nPlugins:\n" + plugins;
  app->footer(footer);
  return app;
}

}  // namespace orrery
