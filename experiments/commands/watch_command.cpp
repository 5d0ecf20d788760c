#include <CLI/CLI.hpp>
#include <memory>

#include "core/base/child_process.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/python_script.hpp"

namespace orrery {

void add_watch_command(CLI::App& app) {
  struct Options {
    std::string folder;
    bool once = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "watch", "Show a run or a sweep while it goes on: loss, accuracies, seconds, memory by rank");
  command->add_option("DIR", options->folder, "The folder of a run or a sweep")->required();
  command->add_flag("--once", options->once, "Show what is there now, and end");
  command->footer("Example: orrery watch results/mine");
  command->callback([options] {
    std::vector<std::string> arguments{options->folder, "--program", this_program().string()};
    if (options->once) arguments.emplace_back("--once");
    become_python_script("watch.py", arguments, {"rich"});
  });
}

}  // namespace orrery
