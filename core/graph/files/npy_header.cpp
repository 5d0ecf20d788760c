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

#include "core/base/error.hpp"

namespace orrery {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are read as they are");

constexpr std::string_view kMagic{"\x93NUMPY", 6};
constexpr std::size_t kAlignment = 64;  // of the data, as NumPy writes it

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i)
    text += (i == 0 ? "" : ", ") + (shape[i] < 0 ? std::string("any") : std::to_string(shape[i]));
  return text + "]";
}

/// The text after `'key':` in the header's Python dictionary, blanks skipped; empty when absent.
std::string_view value_of(std::string_view header, std::string_view key) {
  const auto found = header.find(fmt::format("'{}':", key));
  if (found == std::string_view::npos) return {};
  header.remove_prefix(found + key.size() + 3);
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

/// Reads the dictionary into `header`.
void parse_dictionary(NpyHeader& header, std::string_view text) {
  const auto fail = [&](std::string_view what) {
    throw DataError(header.path, "byte 10",
                    fmt::format("expected {}, found the header {}", what,
                                text.substr(0, text.find_last_not_of(" \n") + 1)));
  };
  std::string_view descr = value_of(text, "descr");
  if (!descr.starts_with('\'') || descr.find('\'', 1) == std::string_view::npos)
    fail("a plain element type under 'descr'");
  header.dtype = descr.substr(1, descr.find('\'', 1) - 1);
  if (!value_of(text, "fortran_order").starts_with("False")) fail("C order (fortran_order False)");

  std::string_view shape = value_of(text, "shape");
  if (!shape.starts_with('(') || shape.find(')') == std::string_view::npos) fail("a 'shape'");
  shape = shape.substr(1, shape.find(')') - 1);
  header.elements = 1;
  while (shape.find_first_of("0123456789") != std::string_view::npos) {
    shape.remove_prefix(shape.find_first_of("0123456789"));
    std::int64_t extent = 0;
    const auto [end, error] = std::from_chars(shape.data(), shape.data() + shape.size(), extent);
    if (error != std::errc() || __builtin_mul_overflow(header.elements, extent, &header.elements))
      fail("a shape that fits into 64 bits");
    shape.remove_prefix(static_cast<std::size_t>(end - shape.data()));
    header.shape.push_back(extent);
  }
  if (header.dtype.size() > 2)
    std::from_chars(header.dtype.data() + 2, header.dtype.data() + header.dtype.size(),
                    header.element_bytes);
  std::int64_t bytes = 0;
  if (header.element_bytes <= 0 || header.element_bytes > 16 ||
      __builtin_mul_overflow(header.elements, header.element_bytes, &bytes))
    fail("numbers as elements");
}

}  // namespace

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
        fmt::format("expected elements of type '{}', found '{}'", expected_dtype, dtype));
  if (!std::ranges::equal(expected_shape, shape, [](auto expected, auto found) {
        return expected < 0 || expected == found;
      }))
    throw DataError(
        path, "byte 10",
        fmt::format("expected shape {}, found {}", shape_text(expected_shape), shape_text(shape)));
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
