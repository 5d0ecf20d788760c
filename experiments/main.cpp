// The command line.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <thread>

#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#include "core/graph/files/mapped_file.hpp"
#include "core/terminal/message.hpp"
#include "core/terminal/plain_text.hpp"
#include "core/terminal/tell.hpp"
#include "experiments/command_line/advice.hpp"
#include "experiments/command_line/app.hpp"
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
  end_when_memory_ends();
  end_when_a_mapped_file_is_cut();
  keep_standard_descriptors();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of write(), told as such
  const ThreadPool pool(available_cores());  // for loading; ranks have pools of their own
  int exit_code = 0;
  // What is not run by all ranks together is done by the first.
  const std::string word = argc > 1 ? argv[1] : "run";
  if (launch_from_environment().rank > 0 && word != "run" && word != "sweep" && word != "infer")
    return 0;
  std::unique_ptr<CLI::App> app;
  try {
    app = make_app(exit_code);
    if (argc == 1) {
      tell("{}", overview(*app));
      return kWrongUse;
    }
    require_known_command(*app, word);
    app->parse(argc, argv);
    return with_output_written(exit_code);
  } catch (const CLI::ExtrasError&) {
    return fail(advice_on(*app, app->remaining(true)), kWrongUse);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return with_output_written(app->exit(error));  // help, version
    return fail(
        fmt::format("{}; {} --help lists what it takes", error.what(), parsed_command(*app)),
        kWrongUse);
  } catch (const ConfigError& error) {
    return fail(error.what(), kWrongUse);
  } catch (const OutOfMemory& error) {
    return fail(with_advice(error), kFailed);
  } catch (const std::exception& error) {
    return fail(message_of(error), kFailed);
  }
}
