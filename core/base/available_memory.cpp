#include "core/base/available_memory.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Bytes = std::optional<std::int64_t>;

/// A file with one number; nothing if it is missing or says "max".
Bytes number_in(const fs::path& file) {
  std::ifstream in(file);
  std::int64_t number = 0;
  return in >> number ? Bytes(number) : std::nullopt;
}

/// The number after a word at the beginning of a line.
Bytes number_behind(const std::string& word, const fs::path& file) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string first;
    std::int64_t number = 0;
    if (words >> first >> number && first == word) return number;
  }
  return std::nullopt;
}

/// File names of a version of control groups.
struct GroupFiles {
  const char *limit, *usage, *unused_pages;
};
constexpr GroupFiles kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes",
                               "total_inactive_file"};
constexpr GroupFiles kVersion2{"memory.max", "memory.current", "inactive_file"};

Bytes left_in_group(const fs::path& group, const GroupFiles& files) {
  const Bytes limit = number_in(group / files.limit), usage = number_in(group / files.usage);
  if (!limit || !usage) return std::nullopt;
  const Bytes unused = number_behind(files.unused_pages, group / "memory.stat");
  return std::max<std::int64_t>(0, *limit - *usage + unused.value_or(0));
}

Bytes least(Bytes a, Bytes b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

/// For a group and those that contain it.
Bytes left_in_groups(const fs::path& hierarchy, fs::path group, const GroupFiles& files) {
  Bytes left = left_in_group(hierarchy, files);
  for (; !group.empty() && group.has_relative_path(); group = group.parent_path())
    left = least(left, left_in_group(hierarchy / group.relative_path(), files));
  return left;
}

}  // namespace

std::optional<std::int64_t> available_memory(const fs::path& root) {
  Bytes left = number_behind("MemAvailable:", root / "proc/meminfo");
  if (left) *left *= 1024;
  // Lines are "4:memory:/path" (version 1, its controllers by name) and "0::/path" (version 2).
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path mounted = root / "sys/fs/cgroup", group = line.substr(second + 1);
    if (controllers.empty())
      left = least(left, left_in_groups(mounted, group, kVersion2));
    else if (("," + controllers + ",").find(",memory,") != std::string::npos)
      left = least(left, left_in_groups(mounted / "memory", group, kVersion1));
  }
  return left;
}

}  // namespace orrery
