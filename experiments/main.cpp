// The command line.
#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#include "experiments/commands.hpp"
#include "experiments/dataset_command.hpp"

namespace {

constexpr int kFailed = 1, kWrongUse = 2;

}  // namespace

int main(int argc, char** argv) {
  using namespace orrery;
  const ThreadPool pool(available_cores());  // for loading; ranks have pools of their own
  CLI::App app("Orrery: distributed graph neural networks, run for real or recorded and counted.",
               "orrery");
  app.require_subcommand(1);
  app.footer(
      "  test                        build and run all tests (see orrery test --help)\n\n"
      "Example: orrery run configs/quickstart.json");
  int exit_code = 0;
  add_run_command(app, exit_code);
  add_plan_command(app, exit_code);
  add_dataset_command(app, exit_code);
  try {
    app.parse(argc, argv);
    return exit_code;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kWrongUse;
  } catch (const ConfigError& error) {
    fmt::print(stderr, "orrery: error: {}\n", error.what());
    return kWrongUse;
  } catch (const std::exception& error) {
    fmt::print(stderr, "orrery: error: {}\n", error.what());
    return kFailed;
  }
}
