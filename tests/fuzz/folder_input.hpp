// Several files as one input: each begins with a line "@@@@ NAME".
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orrery::fuzz {

using Files = std::vector<std::pair<std::string, std::string>>;  ///< path in a folder, bytes

/// The files of an input, at most 64. Names that would leave the folder are passed over.
Files unpack(std::string_view input);
std::string pack(const Files& files);
/// All files below a folder, by name.
Files files_of(const std::filesystem::path& folder);
/// The bytes of one of them; empty where there is none.
std::string_view find(const Files& files, std::string_view name);

/// A folder of this process in memory (/dev/shm) where there is such, removed at the end.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Empties the folder and writes the files.
  void fill(const Files& files) const;
  /// One file alone; its path.
  std::string fill(const std::string& name, std::string_view bytes) const;

 private:
  std::filesystem::path path_;
};

/// The scratch folder of this process.
const Scratch& scratch();

}  // namespace orrery::fuzz
