// A file that is written and read at given places.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace orrery {

/// Errors    DataError naming the file and the system's reason (disk full, not writable)
class PlainFile {
 public:
  /// A new file, for writing and reading.
  explicit PlainFile(const std::filesystem::path& path);
  ~PlainFile();
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;

  void write(std::int64_t offset, const void* data, std::size_t bytes);
  /// Reads all of `bytes`, or to the end of the file; returns their number.
  std::size_t read(std::int64_t offset, void* out, std::size_t bytes) const;
  /// Checks that everything reached the disk.
  void close();

 private:
  [[noreturn]] void fail(const char* what) const;
  std::string path_;
  int file_;
};

}  // namespace orrery
