// Programs that this one starts, without a shell; none of them outlives this one.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace orrery {

/// A program that runs beside this one; this one writes its input and reads its output. It is asked
/// to end (SIGTERM) when the thread that started it ends, for any reason.
class ChildProcess {
 public:
  /// Starts the program that the first word names, from the PATH unless it is a path, with the
  /// other words unchanged. Its standard error goes to a file, or to that of this program.
  ///
  /// Errors    Error (no process can be started, the file cannot be written); a missing program
  ///           says so on its standard error and ends with status 127
  explicit ChildProcess(const std::vector<std::string>& words,
                        const std::filesystem::path& errors = {});
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  int input() const { return input_; }    ///< descriptor that writes to it
  int output() const { return output_; }  ///< descriptor that reads from it

  /// Tells the program that its input has ended.
  void close_input();
  /// Ends the program at once, whatever it does (SIGKILL); wait() then reports it.
  void kill();
  /// Waits until the program has ended, and returns the status as in waitpid().
  int wait();

 private:
  pid_t process_ = -1;
  int input_ = -1, output_ = -1;
};

/// Writes the text, or as much of it as a reader takes: false where it has ended early, which is no
/// signal here.
bool write_all(int descriptor, const std::string& text);

/// What a program printed on standard output, and its status as waitpid() has it.
struct ProgramRun {
  std::string output;
  int status = 0;

  bool succeeded() const { return status == 0; }
  /// How it ended, in words: "status 3", "signal 9".
  std::string ending() const;
};

/// Runs a program to its end; nothing if it cannot be started. It must read `input` before it
/// prints much. Words and errors as in ChildProcess.
std::optional<ProgramRun> run_program(const std::vector<std::string>& words,
                                      const std::filesystem::path& errors = {},
                                      const std::string& input = {});

/// Words that start so many processes of a program on this machine by Open MPI; its options, the program and
/// the program's arguments follow. The processes may use any core. `yields`: while they wait they leave their
/// core to others, as they must where they are more than the cores.
std::vector<std::string> mpirun_words(int processes, bool yields);

/// The file that this program was started from.
///
/// Errors    std::filesystem::filesystem_error (a system without /proc)
std::filesystem::path this_program();

/// Finds a program of this program's build by its path there, such as "sim/orrery-sim"; nothing if
/// it was not built.
std::optional<std::filesystem::path> program_beside(const std::filesystem::path& path);

}  // namespace orrery
