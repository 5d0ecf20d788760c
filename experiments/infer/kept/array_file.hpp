// Arrays in one file that appears whole, with a checksum of all of it.
#pragma once

#include <cstring>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "core/graph/files/mapped_file.hpp"

namespace orrery {

/// The bytes of an array, which must outlive them.
template <class T>
std::string_view as_bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// Puts such a file in its place.
///
/// Errors    as write_file
void write_arrays(const std::filesystem::path& file, std::span<const std::string_view> arrays);

/// The arrays of a file that write_arrays() made.
///
/// Errors    DataError: missing, or damaged
class ArrayFile {
 public:
  explicit ArrayFile(const std::filesystem::path& file);

  std::int64_t count() const { return static_cast<std::int64_t>(arrays_.size()); }
  /// Errors    DataError: no such array, or not one of this type
  template <class T>
  std::vector<T> array(std::size_t number) const {
    if (number >= arrays_.size() || arrays_[number].size() % sizeof(T) != 0) refuse();
    std::vector<T> values(arrays_[number].size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), arrays_[number].data(), arrays_[number].size());
    return values;
  }
  /// Throws what is said of a damaged file.
  [[noreturn]] void refuse() const;

 private:
  MappedFile file_;
  std::vector<std::string_view> arrays_;
};

}  // namespace orrery
