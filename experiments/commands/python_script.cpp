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

/// Whether this Python starts and finds all modules.
bool has_modules(const std::string& python, const std::vector<std::string>& modules) {
  std::vector<std::string> words{
      python, "-c",
      "import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, sys.argv[1:])))"};
  words.insert(words.end(), modules.begin(), modules.end());
  pid_t child = 0;
  if (::posix_spawnp(&child, python.c_str(), nullptr, nullptr, pointers_to(words).data(),
                     environ) != 0)
    return false;
  int status = 1;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0;
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

}  // namespace

void become_python_script(const std::string& script, const std::vector<std::string>& arguments,
                          const std::vector<std::string>& modules) {
  const auto path = std::filesystem::path(kSourceRoot) / "analysis" / script;
  if (!std::filesystem::exists(path))
    throw Error(fmt::format(
        "{}: not found; the source tree has moved: build again in its new place", path.string()));
  const std::string python = find_python(modules);
  std::vector<std::string> words{python, "-B", path.string()};  // -B: leaves no byte code behind
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::fflush(nullptr);
  ::execvp(python.c_str(), pointers_to(words).data());
  throw Error(fmt::format("{} cannot be started: {}", python, std::strerror(errno)));
}

}  // namespace orrery
