// Files by path or, if they are shipped in configs/, by name.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace orrery {

/// The name under which `orrery calibrate` stores its measurements.
inline constexpr const char* kThisMachine = "this-machine";

/// A folder of shipped files.
struct ShippedFiles {
  const char* folder;  ///< "configs/clusters"
  const char* what;    ///< "cluster file", for messages

  /// The folder below the working directory, else that of shipped_root().
  std::string path() const;
  /// Sorted, without the files of `orrery calibrate`.
  std::vector<std::string> names() const;
  /// FILE if it exists, else the shipped NAME.json or the one that `orrery calibrate` wrote, also
  /// as "configs/clusters/NAME.json" in another working directory; nothing if there is neither.
  std::optional<std::string> look_up(const std::string& file_or_name) const;
  /// The same, for whoever reads the file. A note tells (tell_note()) where that is not what ships
  /// under this name, but a file of the working directory with other contents.
  ///
  /// Errors    ConfigError with the nearest name, or the advice to calibrate
  std::string find(const std::string& file_or_name) const;

 private:
  /// The text of the note; nothing where what look_up() gives ships, or nothing of the name does.
  std::optional<std::string> note_on(const std::string& file_or_name) const;
};

inline constexpr ShippedFiles kClusterFiles{"configs/clusters", "cluster file"};
inline constexpr ShippedFiles kDeviceFiles{"configs/devices", "device profile"};

}  // namespace orrery
