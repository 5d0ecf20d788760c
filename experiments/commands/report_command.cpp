#include <CLI/CLI.hpp>
#include <memory>

#include "experiments/commands/commands.hpp"
#include "experiments/commands/python_script.hpp"

namespace orrery {

void add_report_command(CLI::App& app) {
  struct Options {
    std::string folder, out, csv, tex;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "report", "Make one self-contained HTML page of a result folder, measured or simulated");
  command
      ->add_option(
          "DIR", options->folder,
          "The folder of a run, a sweep or of orrery advise --out; a name without the date "
          "means the latest")
      ->required();
  command->add_option("--out", options->out, "Write this file (default: DIR/report.html)")
      ->type_name("FILE");
  command
      ->add_option(
          "--csv", options->csv,
          "Also write a table with a line for each run: settings, seconds, bytes, accuracy")
      ->type_name("FILE");
  command
      ->add_option("--tex", options->tex,
                   "Also write such a table for LaTeX, in units for people (package booktabs)")
      ->type_name("FILE");
  command->add_flag("--json", options->json,
                    "Print one JSON object as the last line of standard output");
  command->footer("Example: orrery report results/quickstart");
  command->callback([options] {
    std::vector<std::string> arguments{options->folder};
    if (!options->out.empty()) arguments.insert(arguments.end(), {"--out", options->out});
    if (!options->csv.empty()) arguments.insert(arguments.end(), {"--csv", options->csv});
    if (!options->tex.empty()) arguments.insert(arguments.end(), {"--tex", options->tex});
    if (options->json) arguments.emplace_back("--json");
    become_python_script("report.py", arguments, {});
  });
}

}  // namespace orrery
