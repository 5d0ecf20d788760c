#include "experiments/config/shipped.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <mutex>
#include <set>

#include "core/base/error.hpp"
#include "core/terminal/plain_text.hpp"
#include "core/terminal/tell.hpp"
#include "experiments/config/installed.hpp"
#include "experiments/config/meanings.hpp"
#include "experiments/config/validate_json.hpp"

namespace orrery {

namespace fs = std::filesystem;

namespace {

/// Whether a file was not looked for before: a sweep reads the same files often.
bool is_first_time(const std::string& folder, const std::string& name) {
  static std::mutex guard;
  static std::set<std::string> known;
  const std::lock_guard lock(guard);
  return known.insert(folder + "/" + name).second;
}

}  // namespace

std::string ShippedFiles::path() const {
  return fs::is_directory(folder) ? std::string(folder) : (shipped_root() / folder).string();
}

std::vector<std::string> ShippedFiles::names() const {
  std::set<std::string> list;
  for (const fs::path& where : {fs::path(path()), shipped_root() / folder})
    if (fs::is_directory(where))
      for (const auto& entry : fs::directory_iterator(where))
        if (entry.path().extension() == ".json" && entry.path().stem() != kThisMachine)
          list.insert(entry.path().stem().string());
  return {list.begin(), list.end()};
}

std::optional<std::string> ShippedFiles::look_up(const std::string& file_or_name) const {
  const fs::path asked = file_or_name;
  if (fs::is_regular_file(asked)) return file_or_name;
  const bool named = !asked.has_parent_path();
  if (!named && asked.parent_path() != folder) return std::nullopt;
  const fs::path name = named ? fs::path(file_or_name + ".json") : asked.filename();
  std::vector<fs::path> folders{path(), shipped_root() / folder};
  if (const fs::path own = own_configs(); !own.empty())
    folders.push_back(own / fs::path(folder).filename());
  for (const fs::path& where : folders)
    if (fs::is_regular_file(where / name)) return (where / name).string();
  return std::nullopt;
}

std::string ShippedFiles::find(const std::string& file_or_name) const {
  if (const auto found = look_up(file_or_name)) {
    if (is_first_time(folder, file_or_name))
      if (const auto note = note_on(file_or_name)) tell_note(*note);
    return *found;
  }
  if (file_or_name == kThisMachine)
    throw ConfigError(
        file_or_name,
        fmt::format("this machine has no {} yet: run ./orrery calibrate first", what));
  const auto known = names();
  throw ConfigError(file_or_name,
                    fmt::format("no such {}.{} Shipped: {}", what,
                                did_you_mean(fs::path(file_or_name).stem().string(), known),
                                fmt::join(known, ", ")));
}

std::optional<std::string> ShippedFiles::note_on(const std::string& file_or_name) const {
  const fs::path asked = file_or_name;
  const bool named = !asked.has_parent_path();
  if (asked.stem() == kThisMachine || (!named && asked.parent_path() != folder))
    return std::nullopt;
  const fs::path name = named ? fs::path(file_or_name + ".json") : asked.filename(),
                 shipped = shipped_root() / folder / name;
  const auto found = look_up(file_or_name);
  if (!found || !fs::is_regular_file(shipped) || fs::equivalent(*found, shipped) ||
      read_settings(*found, what) == read_settings(shipped.string(), what))
    return std::nullopt;
  return fmt::format("{} {}, not the one that ships with Orrery", what,
                     one_line((fs::path(".") / *found).string()));
}

}  // namespace orrery
