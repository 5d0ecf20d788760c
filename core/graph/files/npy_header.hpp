// The only reader of .npy headers, for files that are mapped and for files that are read in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

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

/// Type, shape and place of the elements of an array in format version 1.0 or 2.0, in C order.
struct NpyHeader {
  std::string path;  ///< for errors
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::int64_t elements = 0;
  std::int64_t element_bytes = 0;
  std::size_t data_offset = 0;

  /// Checks type and shape; an extent of -1 may have any length.
  ///
  /// Errors    DataError naming both the expected and the found type or shape, and what in NumPy makes one of
  ///           the other
  void require(std::string_view expected_dtype,
               std::initializer_list<std::int64_t> expected_shape) const;
};

/// Where an element is, for errors: "row 3, column 7" of a matrix, "element 24" of any other array.
std::string place_of(const std::vector<std::int64_t>& shape, std::int64_t element);

/// The header of a file of `file_bytes` bytes that begins with `start`, which holds at least the
/// header.
///
/// Errors    DataError (file, byte): no .npy header, Fortran order, file shorter or longer than its
///           header says
NpyHeader parse_npy_header(const std::string& path, std::string_view start,
                           std::int64_t file_bytes);

/// The header of a file; nothing else is read.
///
/// Errors    as parse_npy_header; DataError: the file cannot be read
NpyHeader read_npy_header(const std::filesystem::path& path);

/// The bytes before the elements of an array, in NumPy's form.
std::string npy_header_bytes(std::string_view dtype, const std::vector<std::int64_t>& shape);

}  // namespace orrery
