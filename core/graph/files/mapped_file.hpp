// A file as bytes in memory, without a copy.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace orrery {

/// A read-only mapping of a whole file; pages are read on first access.
///
/// Errors    DataError: the file is missing, is no regular file, or may not be read
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  std::string_view bytes() const { return {data_, size_}; }

 private:
  std::string path_;
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

/// From now on, if another program cuts a mapped file short while it is read, or its disk fails,
/// the process ends with one line that names the file, and exit status 1.
void end_when_a_mapped_file_is_cut();

}  // namespace orrery
