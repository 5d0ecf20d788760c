#include "core/base/child_process.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/error.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

/// Ends of pipes and files, closed unless they are taken over.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  int take() { return std::exchange(number_, -1); }

 private:
  int number_;
};

struct Pipe {
  explicit Pipe(const std::array<int, 2>& ends) : read(ends[0]), write(ends[1]) {}
  Descriptor read, write;
};

std::array<int, 2> pipe_ends(const std::string& program) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw Error(fmt::format("no pipe to {}: {}", program, std::strerror(errno)));
  return ends;
}

int opened(const fs::path& errors) {
  if (errors.empty()) return STDERR_FILENO;
  const int file = ::open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0)
    throw Error(fmt::format("{}: cannot be opened: {}", errors.string(), std::strerror(errno)));
  return file;
}

/// The standard streams of a child.
struct Streams {
  int input, output, errors;
};

/// In the child, which shares the memory of its parent: only system calls.
[[noreturn]] void become(char* const* words, pid_t parent, const Streams& streams) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);  // which ended before it could be heard
  ::dup2(streams.input, STDIN_FILENO);
  ::dup2(streams.output, STDOUT_FILENO);
  ::dup2(streams.errors, STDERR_FILENO);
  ::execvp(words[0], words);
  const char* const why = errno == ENOENT ? ": not found\n" : ": cannot be started\n";
  for (const char* part : {static_cast<const char*>(words[0]), why})
    if (::write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
  ::_exit(127);
}

/// Not fork(): that would copy the page tables of a program that may hold gigabytes of a graph.
[[gnu::noinline]] pid_t start(char* const* words, const Streams& streams) {
  const pid_t parent = ::getpid(), child = ::vfork();
  if (child == 0) become(words, parent, streams);
  return child;
}

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 4096> part{};
  for (;;) {
    const ssize_t n = ::read(descriptor, part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace

bool write_all(int descriptor, const std::string& text) {
  sigset_t broken_pipe, before;
  ::sigemptyset(&broken_pipe);
  ::sigaddset(&broken_pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
  bool taken = true;
  for (std::size_t done = 0; taken && done < text.size();) {
    const ssize_t n = ::write(descriptor, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    taken = n >= 0;
    if (taken) done += static_cast<std::size_t>(n);
  }
  const timespec at_once{};
  if (!taken) ::sigtimedwait(&broken_pipe, nullptr, &at_once);  // removes the pending signal
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return taken;
}

ChildProcess::ChildProcess(const std::vector<std::string>& words, const fs::path& errors) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  Pipe in(pipe_ends(words.front())), out(pipe_ends(words.front()));
  const int file = opened(errors);
  const Descriptor closed(errors.empty() ? -1 : file);
  process_ = start(pointers.data(), {in.read.number(), out.write.number(), file});
  if (process_ < 0)
    throw Error(fmt::format("no process for {}: {}", words.front(), std::strerror(errno)));
  input_ = in.write.take();
  output_ = out.read.take();
}

ChildProcess::~ChildProcess() { wait(); }

void ChildProcess::close_input() {
  if (input_ >= 0) ::close(std::exchange(input_, -1));
}

void ChildProcess::kill() {
  if (process_ > 0) ::kill(process_, SIGKILL);
}

int ChildProcess::wait() {
  if (process_ < 0) return 0;
  close_input();
  ::close(std::exchange(output_, -1));
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0) {
    if (errno == EINTR) continue;
    status = SIGKILL;  // who ends all programs that this one has started has waited for it
    break;
  }
  process_ = -1;
  return status;
}

std::string ProgramRun::ending() const {
  if (WIFSIGNALED(status)) return fmt::format("signal {}", WTERMSIG(status));
  return fmt::format("status {}", WEXITSTATUS(status));
}

std::optional<ProgramRun> run_program(const std::vector<std::string>& words, const fs::path& errors,
                                      const std::string& input) {
  try {
    ChildProcess program(words, errors);
    write_all(program.input(), input);
    program.close_input();
    ProgramRun run;
    run.output = read_all(program.output());
    run.status = program.wait();
    return run;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::vector<std::string> mpirun_words(int processes, bool yields) {
  std::vector<std::string> words{"mpirun", "-q"};
  if (::geteuid() == 0) words.emplace_back("--allow-run-as-root");
  words.insert(words.end(), {"--bind-to", "none", "--oversubscribe"});
  if (yields) words.insert(words.end(), {"--mca", "mpi_yield_when_idle", "1"});
  words.insert(words.end(), {"-n", std::to_string(processes)});
  return words;
}

fs::path this_program() { return fs::read_symlink("/proc/self/exe"); }

/// Programs and tests are one or two folders below the build folder.
std::optional<fs::path> program_beside(const fs::path& path) {
  const fs::path folder = this_program().parent_path().parent_path();
  for (const fs::path& build : {folder, folder.parent_path()})
    if (fs::is_regular_file(build / path)) return build / path;
  return std::nullopt;
}

}  // namespace orrery
