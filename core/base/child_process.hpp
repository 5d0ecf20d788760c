// Programs that this one starts: without a shell between them, and none outlives this one.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace orrery {

/// A program that runs beside this one, which writes its input and reads its output. It is asked to
/// end (SIGTERM) when the thread that started it ends, however that comes about.
class ChildProcess {
 public:
  /// Starts the program that the first word names, on the PATH where it is no path, with the other
  /// words as they are. Its standard error goes to a file, or to that of this program.
  ///
  /// Errors    Error (no process can be started, the file cannot be written); a program that is not
  ///           there says so on its standard error and ends with status 127
  explicit ChildProcess(const std::vector<std::string>& words,
                        const std::filesystem::path& errors = {});
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  int input() const { return input_; }    ///< descriptor that writes to it
  int output() const { return output_; }  ///< descriptor that reads from it

  /// Tells the program that its input has ended.
  void close_input();
  /// Ends the program at once, whatever it does (SIGKILL); wait() then tells so.
  void kill();
  /// Waits until the program has ended, and returns the status as waitpid() has it.
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
  /// Tells how it ended: "status 3", "signal 9".
  std::string ending() const;
};

/// Runs a program to its end; nothing where it cannot be started. It reads `input` before it prints
/// much. Words and errors as in ChildProcess.
std::optional<ProgramRun> run_program(const std::vector<std::string>& words,
                                      const std::filesystem::path& errors = {},
                                      const std::string& input = {});

/// The file that this program was started from.
///
/// Errors    std::filesystem::filesystem_error (a system without /proc)
std::filesystem::path this_program();

/// Finds a program of the build that this program belongs to by its path there, such as
/// "sim/orrery-sim"; nothing where it was not built.
std::optional<std::filesystem::path> program_beside(const std::filesystem::path& path);

}  // namespace orrery
