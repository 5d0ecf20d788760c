#include "experiments/commands/python_script.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "core/base/error.hpp"
#include "experiments/config/version.hpp"

namespace orrery {
namespace {

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> list;
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

constexpr int kNotStarted = -1;

/// Starts the program, with these in the place of its own files, and waits for it: the status that
/// waitpid() tells, or kNotStarted.
int status_of(std::vector<std::string> words, const posix_spawn_file_actions_t* files = nullptr) {
  pid_t child = 0;
  if (::posix_spawnp(&child, words.front().c_str(), files, nullptr, pointers_to(words).data(),
                     environ) != 0)
    return kNotStarted;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

/// Whether this Python starts and finds all modules.
bool has_modules(const std::string& python, const std::vector<std::string>& modules) {
  std::vector<std::string> words{
      python, "-c",
      "import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, sys.argv[1:])))"};
  words.insert(words.end(), modules.begin(), modules.end());
  return status_of(std::move(words)) == 0;
}

std::vector<std::string> candidates() {
  const char* wished = std::getenv("ORRERY_PYTHON");
  if (wished != nullptr && *wished != '\0') return {wished};
  return {"python3", "/usr/bin/python3"};
}

std::string find_python(const std::vector<std::string>& modules) {
  for (const std::string& python : candidates())
    if (has_modules(python, modules)) return python;
  std::string packages = "python3";
  for (const std::string& module : modules) packages += " python3-" + module;
  throw Error(fmt::format("{} {} missing. Please run: apt-get install --no-install-recommends {}",
                          modules.empty() ? "python3" : fmt::format("{}", fmt::join(modules, ", ")),
                          modules.size() > 1 ? "are" : "is", packages));
}

/// The command line of a script of analysis/.
std::vector<std::string> command_of(const std::string& script,
                                    const std::vector<std::string>& arguments,
                                    const std::vector<std::string>& modules) {
  const auto path = std::filesystem::path(kSourceRoot) / "analysis" / script;
  if (!std::filesystem::exists(path))
    throw Error(fmt::format(
        "{}: not found; the source tree has moved: build again in its new place", path.string()));
  // -B: leaves no byte code behind
  std::vector<std::string> words{find_python(modules), "-B", path.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

/// A file without a name that is gone when it is closed.
using ScratchFile = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

ScratchFile scratch_file(const std::string& text) {
  ScratchFile file(std::tmpfile(), std::fclose);
  if (file == nullptr || std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
      std::fflush(file.get()) != 0)
    throw Error(fmt::format("a temporary file cannot be written: {}", std::strerror(errno)));
  std::rewind(file.get());
  return file;
}

/// All that was written to the file, without line ends behind it.
std::string text_of(std::FILE* file) {
  std::rewind(file);
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  return text.substr(0, text.find_last_not_of('\n') + 1);
}

}  // namespace

void become_python_script(const std::string& script, const std::vector<std::string>& arguments,
                          const std::vector<std::string>& modules) {
  std::vector<std::string> words = command_of(script, arguments, modules);
  std::fflush(nullptr);
  ::execvp(words.front().c_str(), pointers_to(words).data());
  throw Error(fmt::format("{} cannot be started: {}", words.front(), std::strerror(errno)));
}

void run_python_script(const std::string& script, const std::vector<std::string>& arguments,
                       const nlohmann::ordered_json& told) {
  const std::vector<std::string> words = command_of(script, arguments, {});
  // Names of files may hold what is no UTF-8.
  const auto replace = nlohmann::ordered_json::error_handler_t::replace;
  const ScratchFile input = scratch_file(told.dump(-1, ' ', false, replace));
  const ScratchFile complaints = scratch_file("");
  std::fflush(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, ::fileno(input.get()), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, ::fileno(complaints.get()), STDERR_FILENO);
  const int status = status_of(words, &files);
  ::posix_spawn_file_actions_destroy(&files);
  if (status == 0) return;
  const std::string said = text_of(complaints.get());
  if (!said.empty()) throw Error(said);
  throw Error(fmt::format("analysis/{} {}", script,
                          status == kNotStarted ? "cannot be started"
                          : WIFSIGNALED(status)
                              ? fmt::format("was ended by signal {}", WTERMSIG(status))
                              : fmt::format("failed with status {}", WEXITSTATUS(status))));
}

}  // namespace orrery
