#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "core/base/child_process.hpp"
#include "core/base/error.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/python_script.hpp"

namespace orrery {
namespace {

struct FigureOptions {
  std::string name, out;
  double width = 0, font_size = 0;  // inches, points; 0: the figure's own
  bool list = false, all = false, json = false, redraw = false, record = false;
};

[[noreturn]] void become_figure(const FigureOptions& options) {
  if (int{options.list} + int{options.all} + int{!options.name.empty()} != 1)
    throw ConfigError("figure",
                      "needs the NAME of a figure, --list or --all; for example orrery figure "
                      "mg-gcn/table3");
  if (options.list && (options.redraw || options.record || !options.out.empty() ||
                       options.width > 0 || options.font_size > 0))
    throw ConfigError("figure --list", "draws nothing and goes with --json alone");
  // The figure's runs are commands of this same program.
  std::vector<std::string> arguments{"--program", this_program().string()};
  if (options.list) arguments.emplace_back("--list");
  if (options.all) arguments.emplace_back("--all");
  if (options.json) arguments.emplace_back("--json");
  if (options.redraw) arguments.emplace_back("--redraw");
  if (options.record) arguments.emplace_back("--record");
  if (!options.out.empty()) arguments.insert(arguments.end(), {"--out", options.out});
  if (options.width > 0) {
    arguments.emplace_back("--width");
    arguments.push_back(fmt::format("{}", options.width));
  }
  if (options.font_size > 0) {
    arguments.emplace_back("--font-size");
    arguments.push_back(fmt::format("{}", options.font_size));
  }
  if (!options.name.empty()) arguments.push_back(options.name);
  using Names = std::vector<std::string>;
  become_python_script("figure.py", arguments, options.list ? Names{} : Names{"matplotlib"});
}

}  // namespace

void add_figure_command(CLI::App& app) {
  auto options = std::make_shared<FigureOptions>();
  CLI::App* command = app.add_subcommand(
      "figure",
      "Make a figure or table of a paper: its runs, picture, and numbers beside the paper's");
  command->add_option("NAME", options->name,
                      "The figure: a folder of configs/, such as mg-gcn/table3");
  command->add_flag("--list", options->list, "List the figures with their cost and errors");
  command->add_flag("--all", options->all,
                    "Make every figure that --out does not have yet, and a page of all figures");
  command
      ->add_option(
          "--out", options->out,
          "Write into this folder (default: results/figures/NAME; of --all results/figures)")
      ->type_name("DIR");
  command->add_flag("--redraw", options->redraw, "Draw the results in --out, and run nothing");
  command
      ->add_option("--width", options->width,
                   "Width of the picture in inches; 3.3 for a column of a paper")
      ->type_name("INCHES")
      ->check(CLI::Range(2.5, 40.0));
  command->add_option("--font-size", options->font_size, "Size of its text in points (8)")
      ->type_name("POINTS")
      ->check(CLI::Range(4.0, 40.0));
  command->add_flag("--record", options->record,
                    "Also write the errors into the figure's figure.json");
  command->add_flag("--json", options->json,
                    "Print one JSON object as the last line of standard output");
  command->footer("Example: orrery figure mg-gcn/table3");
  command->callback([options] { become_figure(*options); });
}

}  // namespace orrery
