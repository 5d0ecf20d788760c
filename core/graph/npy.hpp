// NumPy's .npy files: read by mapping, written as a stream.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/mapped_file.hpp"

namespace orrery {

/// NumPy's name of a little-endian element type.
template <class T>
constexpr std::string_view npy_dtype();
template <>
constexpr std::string_view npy_dtype<float>() {
  return "<f4";
}
template <>
constexpr std::string_view npy_dtype<std::int32_t>() {
  return "<i4";
}
template <>
constexpr std::string_view npy_dtype<std::int64_t>() {
  return "<i8";
}
template <>
constexpr std::string_view npy_dtype<std::uint8_t>() {
  return "|u1";
}

/// A mapped array of format version 1.0 or 2.0, little-endian, in C order. Copies share the
/// mapping.
///
/// Errors    DataError (file, byte): no .npy header, Fortran order, file shorter or longer than its
///           header says
class NpyArray {
 public:
  explicit NpyArray(const std::filesystem::path& path);

  const std::string& path() const { return file_->path(); }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  const std::string& dtype() const { return dtype_; }

  /// The elements, after checking the type and the shape; an extent of -1 may have any length.
  ///
  /// Errors    DataError naming both the expected and the found type or shape
  template <class T>
  std::span<const T> values(std::initializer_list<std::int64_t> expected_shape) const {
    check(npy_dtype<T>(), expected_shape);
    return {reinterpret_cast<const T*>(file_->bytes().data() + data_offset_),
            static_cast<std::size_t>(elements_)};
  }

 private:
  void check(std::string_view dtype, std::initializer_list<std::int64_t> expected_shape) const;
  void parse_header(std::string_view header);

  std::shared_ptr<const MappedFile> file_;
  std::string dtype_;
  std::vector<std::int64_t> shape_;
  std::int64_t elements_ = 0;
  std::size_t data_offset_ = 0;
};

/// Writes one array piece by piece; close() checks that everything reached the disk.
///
/// Errors    DataError naming the file and the system's reason (disk full, not writable)
class NpyWriter {
 public:
  template <class T>
  static NpyWriter create(const std::filesystem::path& path, std::vector<std::int64_t> shape) {
    return {path, npy_dtype<T>(), std::move(shape)};
  }
  template <class T>
  void append(std::span<const T> values) {
    write(values.data(), values.size_bytes());
  }
  void close();

 private:
  NpyWriter(const std::filesystem::path& path, std::string_view dtype,
            std::vector<std::int64_t> shape);
  void write(const void* data, std::size_t bytes);
  [[noreturn]] void fail() const;

  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Closer> file_;
};

}  // namespace orrery
