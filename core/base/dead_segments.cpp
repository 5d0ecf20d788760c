#include "core/base/dead_segments.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <fstream>
#include <set>
#include <string>
#include <system_error>

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr std::time_t kJustMade = 60;  // seconds during which its maker may not have mapped it yet

bool is_old_and_ours(const fs::path& file) {
  struct stat there {};
  return ::lstat(file.c_str(), &there) == 0 && S_ISREG(there.st_mode) &&
         there.st_uid == ::geteuid() && std::time(nullptr) - there.st_mtime > kJustMade;
}

bool is_number(const std::string& name) {
  return std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c); });
}

/// Removes those that the process has mapped.
void keep_mapped(const fs::path& process, std::set<std::string>& files) {
  std::ifstream maps(process / "maps");
  for (std::string line; std::getline(maps, line);)
    if (const auto name = line.find('/'); name != std::string::npos) files.erase(line.substr(name));
}

}  // namespace

void remove_dead_segments(const fs::path& folder, const std::string& front) {
  std::error_code error;
  std::set<std::string> dead;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().filename().string().starts_with(front) && is_old_and_ours(entry->path()))
      dead.insert(entry->path());
  if (dead.empty()) return;
  for (fs::directory_iterator process("/proc", error), end; !error && process != end;
       process.increment(error))
    if (is_number(process->path().filename())) keep_mapped(process->path(), dead);
  for (const std::string& file : dead) ::unlink(file.c_str());
}

}  // namespace orrery
