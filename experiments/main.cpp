// The command line.
#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <thread>

#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#include "core/base/plain_text.hpp"
#include "core/base/tell.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/dataset_command.hpp"
#include "experiments/config/plugins.hpp"
#include "experiments/config/validate_json.hpp"
#include "experiments/execute/launch.hpp"
#include "experiments/run/run_session.hpp"

namespace {

constexpr int kFailed = 1, kWrongUse = 2;

/// One of many ranks that make the same mistake says so: rank 0 at once, the others only if they
/// live on, which means that the mistake was theirs alone.
int fail(const std::string& message, int exit_code) {
  const orrery::Launch launch = orrery::launch_from_environment();
  if (launch.rank > 0) std::this_thread::sleep_for(std::chrono::seconds(3));
  const std::string rank = launch.rank > 0 ? fmt::format("rank {}: ", launch.rank) : "";
  orrery::tell("orrery: error: {}{}\n", rank, orrery::one_line(message));
  return exit_code;
}

/// A mistyped command deserves the nearest one.
void require_known(const CLI::App& app, const std::string& word) {
  if (word.empty() || word[0] == '-') return;
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands({})) commands.push_back(command->get_name());
  if (std::find(commands.begin(), commands.end(), word) != commands.end()) return;
  const std::string close = orrery::nearest(word, commands);
  throw orrery::ConfigError(
      word, fmt::format("unknown command.{} Known commands: {}, test",
                        close.empty() ? "" : fmt::format(" Did you mean \"{}\"?", close),
                        fmt::join(commands, ", ")));
}

/// Opens /dev/null in place of standard input, output or error where it is closed: else the next
/// file that is opened would become it, and receive what is printed.
void keep_standard_descriptors() {
  for (int descriptor = ::open("/dev/null", O_RDWR); descriptor >= 0;) {
    if (descriptor > STDERR_FILENO) {
      ::close(descriptor);
      return;
    }
    descriptor = ::dup(descriptor);
  }
}

/// The exit code, if what was printed has reached its reader.
int with_output_written(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  return fail(fmt::format("standard output cannot be written: {}", std::strerror(errno)), kFailed);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace orrery;
  keep_standard_descriptors();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of write(), told as such
  const ThreadPool pool(available_cores());  // for loading; ranks have pools of their own
  CLI::App app("Orrery: distributed graph neural networks, run for real or recorded and counted.",
               "orrery");
  app.require_subcommand(1);
  std::string footer =
      "  test                        build and run all tests (see orrery test --help)\n\n"
      "Example: orrery run configs/quickstart.json";
  int exit_code = 0;
  // What is not run by all ranks together is done by the first.
  const std::string word = argc > 1 ? argv[1] : "run";
  if (launch_from_environment().rank > 0 && word != "run" && word != "sweep") return 0;
  try {
    add_run_command(app, exit_code);
    add_sweep_command(app, exit_code);
    add_plan_command(app, exit_code);
    add_validate_command(app, exit_code);
    add_partition_command(app, exit_code);
    add_dataset_command(app, exit_code);
    add_cluster_command(app, exit_code);
    add_report_command(app);
    add_figure_command(app);
    add_calibrate_command(app, exit_code);
    if (const std::string plugins = plugin_lines(); !plugins.empty())
      footer += "\n\nPlugins:\n" + plugins;
    app.footer(footer);
    if (argc > 1) require_known(app, argv[1]);
    app.parse(argc, argv);
    return with_output_written(exit_code);
  } catch (const CLI::ParseError& error) {
    return with_output_written(app.exit(error) == 0 ? 0 : kWrongUse);
  } catch (const ConfigError& error) {
    return fail(error.what(), kWrongUse);
  } catch (const OutOfMemory& error) {
    return fail(with_advice(error), kFailed);
  } catch (const std::exception& error) {
    return fail(error.what(), kFailed);
  }
}
