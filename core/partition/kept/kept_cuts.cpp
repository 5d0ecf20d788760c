#include "core/partition/kept/kept_cuts.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/whole_file.hpp"
#include "core/partition/kept/cut_file.hpp"
#include "core/partition/kept/cut_key.hpp"
#include "core/partition/methods/cut.hpp"
#include "core/terminal/message.hpp"
#include "core/terminal/tell.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 9> kMethods{
    "metis", "ptscotch", "spring", "ldg", "fennel", "2ps-l", "hdrf", "powergraph", "dbh"};

std::atomic<int> measuring = 0;  ///< CutsAnew that live

MadeCut timed_cut(const Dataset& data, int parts, const PartitionOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  MadeCut made{cut_dataset(data, parts, options).partition};
  made.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return made;
}

/// The bytes of a regular file that is not larger than expected. It may be replaced meanwhile.
///
/// Errors    DataError
std::string bytes_of_cut(const fs::path& file, std::int64_t most) {
  std::error_code error;
  if (!fs::is_regular_file(file, error))
    throw DataError(file.string(), "", "expected a file of a cut, found something else");
  if (const auto size = fs::file_size(file, error); error || std::cmp_greater(size, most))
    throw DataError(file.string(), "", fmt::format("expected at most {} bytes", most));
  std::string bytes(at(most), '\0');
  std::ifstream in(file, std::ios::binary);
  if (!in) throw DataError(file.string(), "", "cannot be read");
  in.read(bytes.data(), most);
  bytes.resize(at(in.gcount()));
  return bytes;
}

/// The cut of a file, if it is there and whole.
std::optional<CutInFile> taken_from(const fs::path& file, const CutName& name) {
  std::error_code error;
  if (fs::symlink_status(file, error).type() == fs::file_type::not_found) return std::nullopt;
  try {
    return parse_cut(bytes_of_cut(file, most_cut_bytes(name)), name, file.string());
  } catch (const Error& damage) {
    tell_note(fmt::format("{}; the graph is cut again", damage.what()));
    return std::nullopt;
  }
}

/// Only a cut that is not kept is lost, if this fails: so any failure becomes a note.
void keep(const fs::path& file, const CutName& name, const MadeCut& made) {
  try {
    fs::create_directories(file.parent_path());
    const auto there = fs::status(file).type();
    if (there != fs::file_type::regular && there != fs::file_type::not_found)
      throw Error(fmt::format("{}: is no file of a cut", file.string()));
    write_file(file, cut_bytes(name, {made.partition.owner, made.seconds}));
  } catch (const std::exception& failure) {
    tell_note(fmt::format("a cut is not kept in ORRERY_CACHE: {}", message_of(failure)));
  }
}

}  // namespace

CutsAnew::CutsAnew() { ++measuring; }
CutsAnew::~CutsAnew() { --measuring; }

bool are_cut_anew() { return measuring > 0; }

fs::path folder_of_cuts() {
  if (are_cut_anew()) return {};
  const char* folder = std::getenv("ORRERY_CACHE");
  return folder == nullptr ? "" : folder;
}

bool is_kept(const std::string& method) {
  return std::find(kMethods.begin(), kMethods.end(), method) != kMethods.end();
}

MadeCut make_or_take_cut(const Dataset& data, int parts, const PartitionOptions& options,
                         const fs::path& folder) {
  if (folder.empty() || !is_kept(options.method) || options.assigned)
    return timed_cut(data, parts, options);
  const CutName name{key_of_cut(data, parts, options), parts, data.vertices()};
  const fs::path file = folder / (name.key + ".cut");
  if (auto taken = taken_from(file, name))
    return {{parts, std::move(taken->owner)}, taken->seconds, true};
  MadeCut made = timed_cut(data, parts, options);
  keep(file, name, made);
  return made;
}

}  // namespace orrery
