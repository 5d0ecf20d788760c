#include "experiments/commands/python_script.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/base/child_process.hpp"
#include "core/base/error.hpp"
#include "experiments/config/installed.hpp"

namespace orrery {
namespace {

/// Whether this Python starts and finds all modules.
bool has_modules(const std::string& python, const std::vector<std::string>& modules) {
  std::vector<std::string> words{
      python, "-c",
      "import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, sys.argv[1:])))"};
  words.insert(words.end(), modules.begin(), modules.end());
  const auto run = run_program(words, "/dev/null");
  return run && run->succeeded();
}

std::vector<std::string> candidates() {
  const char* wished = std::getenv("ORRERY_PYTHON");
  if (wished != nullptr && *wished != '\0') return {wished};
  return {"python3", "/usr/bin/python3", (shipped_root() / ".venv/bin/python").string()};
}

std::string find_python(const std::vector<std::string>& modules) {
  for (const std::string& python : candidates())
    if (has_modules(python, modules)) return python;
  std::string packages = "python3";
  for (const std::string& module : modules) {
    if (module == "tensorboardX" || module == "rich" || module == "pyarrow")
      throw Error(fmt::format("{} is missing. Please run: ./orrery python -m pip install {}",
                              fmt::join(modules, ", "), fmt::join(modules, " ")));
    packages += " python3-" + module;
  }
  throw Error(fmt::format("{} {} missing. Please run: apt-get install --no-install-recommends {}",
                          modules.empty() ? "python3" : fmt::format("{}", fmt::join(modules, ", ")),
                          modules.size() > 1 ? "are" : "is", packages));
}

}  // namespace

std::vector<std::string> python_command(const std::string& script,
                                        const std::vector<std::string>& arguments,
                                        const std::vector<std::string>& modules) {
  const auto path = shipped_root() / "analysis" / script;
  if (!std::filesystem::exists(path))
    throw Error(fmt::format("{}: not found; the source tree has moved: build or install again",
                            path.string()));
  // -B: leaves no byte code
  std::vector<std::string> words{find_python(modules), "-B", path.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

void become_python_script(const std::string& script, const std::vector<std::string>& arguments,
                          const std::vector<std::string>& modules) {
  std::vector<std::string> words = python_command(script, arguments, modules);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::fflush(nullptr);
  ::execvp(pointers.front(), pointers.data());
  throw Error(fmt::format("{} cannot be started: {}", words.front(), std::strerror(errno)));
}

void run_python_script(const std::string& script, const std::vector<std::string>& arguments,
                       const nlohmann::ordered_json& told,
                       const std::vector<std::string>& modules) {
  // Names of files may hold what is no UTF-8.
  const auto replace = nlohmann::ordered_json::error_handler_t::replace;
  const auto run = run_program(python_command(script, arguments, modules), {},
                               told.dump(-1, ' ', false, replace));
  if (!run) throw Error(fmt::format("analysis/{} cannot be started", script));
  if (run->succeeded()) return;
  const auto end = run->output.find_last_not_of('\n');
  if (end != std::string::npos) throw Error(run->output.substr(0, end + 1));
  throw Error(fmt::format("analysis/{} ended with {}", script, run->ending()));
}

}  // namespace orrery
