#include "core/graph/files/npy_header.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <span>
#include <utility>

#include "core/base/error.hpp"

namespace orrery {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are used unchanged");

constexpr std::string_view kMagic{"\x93NUMPY", 6};
constexpr std::size_t kAlignment = 64;  // of the data, as NumPy writes it

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i)
    text += (i == 0 ? "" : ", ") + (shape[i] < 0 ? std::string("any") : std::to_string(shape[i]));
  return text + "]";
}

/// Whether a shape is as expected; an extent of -1 may have any length.
bool fits(std::span<const std::int64_t> expected, const std::vector<std::int64_t>& shape) {
  return std::ranges::equal(expected, shape, [](std::int64_t wanted, std::int64_t found) {
    return wanted < 0 || wanted == found;
  });
}

/// "<i4" -> "int32"
std::string numpy_name(std::string_view dtype) {
  const char kind = dtype[1];
  return fmt::format("{}{}",
                     kind == 'f'   ? "float"
                     : kind == 'u' ? "uint"
                                   : "int",
                     8 * (dtype[2] - '0'));
}

/// Reads the header's Python dictionary from left to right: only the three keys of the format, each
/// once, as NumPy writes them.
class Dictionary {
 public:
  Dictionary(const std::string& path, std::string_view text)
      : path_(path), text_(text.substr(0, text.find_last_not_of(" \n") + 1)), left_(text_) {}

  void read(NpyHeader& header) {
    bool type = false, order = false, shape = false;
    expect("{", "a dictionary");
    while (!take("}")) {
      const std::string_view key = quoted("one of the keys 'descr', 'fortran_order' and 'shape'");
      expect(":", "':' behind a key");
      if (key == "descr" && !std::exchange(type, true))
        header.dtype = quoted("a plain element type under 'descr'");
      else if (key == "fortran_order" && !std::exchange(order, true))
        expect("False",
               "C order (fortran_order False), as numpy.ascontiguousarray(array) makes it");
      else if (key == "shape" && !std::exchange(shape, true))
        header.shape = extents();
      else
        fail("each of the keys 'descr', 'fortran_order' and 'shape' once");
      if (!take(",") && !left_.starts_with('}')) fail("',' or '}' behind a value");
    }
    if (!type || !order || !shape) fail("the keys 'descr', 'fortran_order' and 'shape'");
    if (!left_.empty()) fail("nothing behind the dictionary");
  }

  [[noreturn]] void fail(std::string_view what) const {
    throw DataError(path_, "byte 10",
                    fmt::format("expected {}, found the header {}", what, text_.substr(0, 200)));
  }

 private:
  bool take(std::string_view word) {
    if (!left_.starts_with(word)) return false;
    left_.remove_prefix(word.size());
    left_.remove_prefix(std::min(left_.find_first_not_of(' '), left_.size()));
    return true;
  }
  void expect(std::string_view word, std::string_view what) {
    if (!take(word)) fail(what);
  }
  std::string_view quoted(std::string_view what) {
    const std::size_t end = left_.starts_with('\'') ? left_.find('\'', 1) : std::string_view::npos;
    if (end == std::string_view::npos) fail(what);
    const std::string_view word = left_.substr(1, end - 1);
    take(left_.substr(0, end + 1));
    return word;
  }
  /// "()", "(3,)", "(2, 3)"
  std::vector<std::int64_t> extents() {
    std::vector<std::int64_t> shape;
    expect("(", "a 'shape' in brackets");
    while (!take(")")) {
      std::int64_t extent = 0;
      const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), extent);
      if (error != std::errc() || extent < 0) fail("a shape of counts that fit into 64 bits");
      shape.push_back(extent);
      take(left_.substr(0, static_cast<std::size_t>(end - left_.data())));
      if (!take(",") && !left_.starts_with(')')) fail("',' or ')' behind a count of the shape");
    }
    return shape;
  }

  const std::string& path_;
  std::string_view text_, left_;
};

/// Reads the dictionary into `header`.
void parse_dictionary(NpyHeader& header, std::string_view text) {
  Dictionary dictionary(header.path, text);
  dictionary.read(header);
  header.elements = 1;
  for (const std::int64_t extent : header.shape)
    if (__builtin_mul_overflow(header.elements, extent, &header.elements))
      dictionary.fail("a shape that fits into 64 bits");
  if (header.dtype.size() > 2)
    std::from_chars(header.dtype.data() + 2, header.dtype.data() + header.dtype.size(),
                    header.element_bytes);
  std::int64_t bytes = 0;
  if (header.element_bytes <= 0 || header.element_bytes > 16 ||
      __builtin_mul_overflow(header.elements, header.element_bytes, &bytes))
    dictionary.fail("numbers as elements");
  // They are read in place. NumPy pads its headers for that.
  if (header.data_offset % static_cast<std::size_t>(header.element_bytes) != 0)
    throw DataError(header.path, fmt::format("byte {}", header.data_offset),
                    fmt::format("expected elements that begin at a multiple of their {} bytes, as "
                                "numpy.save writes them",
                                header.element_bytes));
}

}  // namespace

std::string place_of(const std::vector<std::int64_t>& shape, std::int64_t element) {
  if (shape.size() != 2 || shape[1] == 0) return fmt::format("element {}", element);
  return fmt::format("row {}, column {}", element / shape[1], element % shape[1]);
}

NpyHeader parse_npy_header(const std::string& path, std::string_view start,
                           std::int64_t file_bytes) {
  if (start.size() < 10 || start.substr(0, 6) != kMagic)
    throw DataError(path, "byte 0",
                    fmt::format("expected the header of a .npy file, found {}",
                                file_bytes == 0 ? "an empty file" : "something else"));
  const auto byte = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(start[i]));
  };
  const std::size_t version = byte(6);
  if (version != 1 && version != 2)
    throw DataError(path, "byte 6",
                    fmt::format("expected .npy format version 1 or 2, found {}", version));
  const std::size_t prefix = version == 1 ? 10 : 12;
  std::size_t length = byte(8) | byte(9) << 8U;
  if (version == 2 && start.size() >= prefix) length |= byte(10) << 16U | byte(11) << 24U;
  NpyHeader header;
  header.path = path;
  header.data_offset = prefix + length;
  if (start.size() < header.data_offset)
    throw DataError(path, fmt::format("byte {}", start.size()),
                    fmt::format("expected a header of {} bytes, found the end of the file",
                                header.data_offset));
  parse_dictionary(header, start.substr(prefix, length));

  const std::int64_t expected = header.elements * header.element_bytes;
  const std::int64_t found = file_bytes - static_cast<std::int64_t>(header.data_offset);
  if (found != expected)
    throw DataError(
        path, fmt::format("byte {}", file_bytes),
        fmt::format("expected {} bytes of data for {} of type {}, found {} ({})", expected,
                    shape_text(header.shape), header.dtype, found,
                    found < expected ? "the file is cut short" : "the file is too long"));
  return header;
}

NpyHeader read_npy_header(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error))
    throw DataError(path.string(), "", "expected a regular file, found a folder, pipe or device");
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
  std::ifstream file(path, std::ios::binary);
  if (error || !file)
    throw DataError(path.string(), "",
                    fmt::format("cannot be opened: {}",
                                error ? error.message() : std::string(std::strerror(errno))));
  std::string start(12, '\0');
  const auto grow_to = [&](std::size_t size) {
    start.resize(std::min<std::size_t>(size, static_cast<std::size_t>(bytes)));
    file.seekg(0).read(start.data(), static_cast<std::streamsize>(start.size()));
  };
  grow_to(12);
  if (start.size() == 12) {
    const auto byte = [&](std::size_t i) {
      return static_cast<std::size_t>(static_cast<unsigned char>(start[i]));
    };
    const std::size_t more = byte(6) == 2 ? byte(10) << 16U | byte(11) << 24U : 0;
    grow_to(12 + (byte(8) | byte(9) << 8U | more));
  }
  return parse_npy_header(path.string(), start, bytes);
}

void NpyHeader::require(std::string_view expected_dtype,
                        std::initializer_list<std::int64_t> expected_shape) const {
  if (dtype != expected_dtype)
    throw DataError(
        path, "byte 10",
        fmt::format("expected elements of type '{}', found '{}'; array.astype(\"{}\") in NumPy "
                    "makes them",
                    expected_dtype, dtype, numpy_name(expected_dtype)));
  if (!fits(expected_shape, shape))
    throw DataError(
        path, "byte 10",
        fmt::format("expected shape {}, found {}{}", shape_text(expected_shape), shape_text(shape),
                    fits(expected_shape, {shape.rbegin(), shape.rend()})
                        ? "; array.T.copy() in NumPy exchanges rows and columns"
                        : ""));
}

std::string npy_header_bytes(std::string_view dtype, const std::vector<std::int64_t>& shape) {
  std::string text = fmt::format(
      "{{'descr': '{}', 'fortran_order': False, 'shape': ({},{}), }}", dtype,
      fmt::join(shape.begin(), shape.begin() + 1, ""),
      shape.size() == 1 ? "" : fmt::format(" {}", fmt::join(shape.begin() + 1, shape.end(), ", ")));
  const std::size_t used = kMagic.size() + 4 + text.size() + 1;
  text.append((kAlignment - used % kAlignment) % kAlignment, ' ').push_back('\n');
  const auto length = text.size();
  std::string bytes(kMagic);
  for (const std::size_t byte : {std::size_t{1}, std::size_t{0}, length & 255U, length >> 8U})
    bytes.push_back(static_cast<char>(static_cast<unsigned char>(byte)));
  return bytes + text;
}

}  // namespace orrery
