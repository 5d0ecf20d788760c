// The command line.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <regex>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>

#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#include "core/base/removed_if_interrupted.hpp"
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

/// A name from a file may have a million letters: the beginning and the end say enough.
std::string shortened(const std::string& message) {
  constexpr std::size_t kEnds = 1500;
  if (message.size() <= 3 * kEnds) return message;
  return message.substr(0, kEnds) + " [...] " + message.substr(message.size() - kEnds);
}

/// Several faults of a file stand in lines of their own, behind "and 2 more:". Other line ends come from
/// names, and are shown as "\n".
std::string lines_of(const std::string& message) {
  std::smatch found;
  if (!std::regex_search(message, found, std::regex("\nand [0-9]+ more:\n")))
    return orrery::one_line(message);
  std::string lines = orrery::one_line(found.prefix().str());
  std::stringstream rest(message.substr(static_cast<std::size_t>(found.position()) + 1));
  for (std::string line; std::getline(rest, line);) lines += "\n" + orrery::one_line(line);
  return lines;
}

/// If many ranks make the same mistake, rank 0 reports it at once, and the others only if they live
/// on, which means that the mistake was theirs alone.
int fail(const std::string& message, int exit_code) {
  const orrery::Launch launch = orrery::launch_from_environment();
  if (launch.rank > 0) std::this_thread::sleep_for(std::chrono::seconds(3));
  const std::string rank = launch.rank > 0 ? fmt::format("rank {}: ", launch.rank) : "";
  orrery::tell("orrery: error: {}{}\n", rank, lines_of(shortened(message)));
  return exit_code;
}

/// Opens /dev/null for standard input, output or error if it is closed; otherwise the next opened
/// file would take its number and receive what is printed.
void keep_standard_descriptors() {
  for (int descriptor = ::open("/dev/null", O_RDWR); descriptor >= 0;) {
    if (descriptor > STDERR_FILENO) {
      ::close(descriptor);
      return;
    }
    descriptor = ::dup(descriptor);
  }
}

/// A reader of the output that ends early (`| head`) does not end a computation. A result that then
/// cannot be printed ends the program, as others, by SIGPIPE.
void note_broken_pipe(int) {}

[[noreturn]] void end_by_broken_pipe() {
  std::signal(SIGPIPE, SIG_DFL);
  std::raise(SIGPIPE);
  std::abort();
}

/// Below this, reading a JSON file runs over the stack's end.
void require_stack() {
  constexpr rlim_t kLeast = 128 << 10;
  rlimit stack{};
  if (::getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < kLeast)
    throw orrery::Error(fmt::format("expected a stack of at least {} KiB, found {} (ulimit -s)",
                                    kLeast >> 10U, stack.rlim_cur >> 10U));
}

/// Results name what they were made from and where they lie, in UTF-8.
void require_utf8(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (!orrery::is_utf8(argv[i]))
      throw orrery::ConfigError(argv[i],
                                "is not UTF-8, in which all results are written: give the file or "
                                "folder another name, such as one of ASCII letters");
}

/// A script that is killed cannot end what it started: it asks for that beforehand, by its number.
void end_with_starter() {
  const char* starter = std::getenv("ORRERY_ENDS_WITH");
  if (starter == nullptr) return;
  const bool asked = std::to_string(::getppid()) == starter;
  if (asked) ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (asked && std::to_string(::getppid()) != starter) std::raise(SIGTERM);  // meanwhile
  ::unsetenv("ORRERY_ENDS_WITH");  // of this program alone
}

/// The exit code, if the output has reached its reader.
int with_output_written(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  if (errno == EPIPE) end_by_broken_pipe();
  return fail(fmt::format("standard output cannot be written: {}", std::strerror(errno)), kFailed);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace orrery;
  end_when_memory_ends(remove_unfinished_if_free);
  end_when_a_mapped_file_is_cut();
  keep_standard_descriptors();
  end_with_starter();
  // reaching a limit on a file's size is an error of write(), reported as such
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);           // a starter that ignores it would hide how programs end
  std::signal(SIGPIPE, note_broken_pipe);  // programs that are started do not inherit that
  const ThreadPool pool(available_cores());  // for loading; ranks have their own pools
  int exit_code = 0;
  // The first rank does what not all ranks run together.
  const std::string word = argc > 1 ? argv[1] : "run";
  if (launch_from_environment().rank > 0 && word != "run" && word != "sweep" && word != "infer" &&
      word != "starve")
    return 0;
  std::unique_ptr<CLI::App> app;
  try {
    require_stack();
    app = make_app(exit_code);
    if (argc == 1) {
      tell("{}", overview(*app));
      return kWrongUse;
    }
    require_utf8(argc, argv);
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
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::broken_pipe) end_by_broken_pipe();
    return fail(message_of(error), kFailed);
  } catch (const std::exception& error) {
    return fail(message_of(error), kFailed);
  }
}
