#include "experiments/config/installed.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "core/base/child_process.hpp"
#include "experiments/config/version.hpp"

namespace orrery {

namespace fs = std::filesystem;

namespace {

/// PREFIX of PREFIX/libexec/orrery/experiments/orrery; empty if this program is not installed.
fs::path prefix() {
  const fs::path programs = this_program().parent_path().parent_path();
  const fs::path prefix = programs.parent_path().parent_path();
  const bool installed = programs == prefix / "libexec" / "orrery" &&
                         fs::is_directory(prefix / "share" / "orrery" / "configs");
  return installed ? prefix : fs::path();
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

fs::path shipped_root() {
  const fs::path installed = prefix();
  return installed.empty() ? fs::path(kSourceRoot) : installed / "share" / "orrery";
}

fs::path launcher() {
  const fs::path installed = prefix();
  return installed.empty() ? fs::path(kSourceRoot) / "orrery" : installed / "bin" / "orrery";
}

std::string program_as_called() {
  if (!prefix().empty()) {
    // A script in PREFIX/bin called it, with the program's own path as the word.
    std::istringstream path(variable("PATH"));
    std::error_code error;
    for (std::string folder; std::getline(path, folder, ':');)
      if (fs::equivalent(fs::path(folder) / "orrery", launcher(), error)) return "orrery";
    return launcher().string();
  }
  std::ifstream in("/proc/self/cmdline");
  std::string first;
  std::getline(in, first, '\0');
  return first.empty() ? "orrery" : first;
}

fs::path own_configs() {
  if (const std::string data = variable("XDG_DATA_HOME"); !data.empty())
    return fs::path(data) / "orrery" / "configs";
  const std::string home = variable("HOME");
  return home.empty() ? fs::path() : fs::path(home) / ".local" / "share" / "orrery" / "configs";
}

fs::path machine_configs() {
  const fs::path here = "configs";
  if (fs::is_directory(here / "devices") && fs::is_directory(here / "clusters")) return here;
  const fs::path shipped = shipped_root() / "configs", own = own_configs();
  const bool writable = prefix().empty() && ::access((shipped / "devices").c_str(), W_OK) == 0;
  return writable || own.empty() ? shipped : own;
}

}  // namespace orrery
