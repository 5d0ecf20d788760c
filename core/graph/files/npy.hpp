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

#include "core/graph/files/mapped_file.hpp"
#include "core/graph/files/npy_header.hpp"

namespace orrery {

/// A mapped array of format version 1.0 or 2.0, little-endian, in C order. Copies share the
/// mapping.
///
/// Errors    DataError (file, byte): no .npy header, Fortran order, file shorter or longer than its
///           header says
class NpyArray {
 public:
  explicit NpyArray(const std::filesystem::path& path);

  const std::string& path() const { return file_->path(); }
  const std::vector<std::int64_t>& shape() const { return header_.shape; }
  const std::string& dtype() const { return header_.dtype; }

  /// The elements, after checking type and shape; an extent of -1 may have any length.
  ///
  /// Errors    DataError naming both the expected and the found type or shape
  template <class T>
  std::span<const T> values(std::initializer_list<std::int64_t> expected_shape) const {
    header_.require(npy_dtype<T>(), expected_shape);
    return {reinterpret_cast<const T*>(file_->bytes().data() + header_.data_offset),
            static_cast<std::size_t>(header_.elements)};
  }

 private:
  std::shared_ptr<const MappedFile> file_;
  NpyHeader header_;
};

/// Writes one array piece by piece; close() checks that the system took everything, and
/// leaves flushing it to whoever puts the file in its place.
///
/// Errors    DataError naming the file and the system's reason (disk full, not writable)
class NpyWriter {
 public:
  template <class T>
  static NpyWriter create(const std::filesystem::path& path,
                          const std::vector<std::int64_t>& shape) {
    return {path, npy_dtype<T>(), shape};
  }
  template <class T>
  void append(std::span<const T> values) {
    write(values.data(), values.size_bytes());
  }
  void close();

 private:
  NpyWriter(const std::filesystem::path& path, std::string_view dtype,
            const std::vector<std::int64_t>& shape);
  void write(const void* data, std::size_t bytes);
  [[noreturn]] void fail() const;

  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Closer> file_;
};

}  // namespace orrery
