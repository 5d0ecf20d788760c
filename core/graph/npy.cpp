#include "core/graph/npy.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "core/base/error.hpp"

namespace orrery {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are mapped, not converted");

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

}  // namespace

NpyArray::NpyArray(const std::filesystem::path& path) : file_(std::make_shared<MappedFile>(path)) {
  const std::string_view bytes = file_->bytes();
  if (bytes.size() < 10 || bytes.substr(0, 6) != kMagic)
    throw DataError(this->path(), "byte 0",
                    fmt::format("expected the header of a .npy file, found {}",
                                bytes.empty() ? "an empty file" : "something else"));
  const auto byte = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i]));
  };
  const std::size_t version = byte(6);
  if (version != 1 && version != 2)
    throw DataError(this->path(), "byte 6",
                    fmt::format("expected .npy format version 1 or 2, found {}", version));
  const std::size_t prefix = version == 1 ? 10 : 12;
  std::size_t length = byte(8) | byte(9) << 8U;
  if (version == 2 && bytes.size() >= prefix) length |= byte(10) << 16U | byte(11) << 24U;
  data_offset_ = prefix + length;
  if (bytes.size() < data_offset_)
    throw DataError(
        this->path(), fmt::format("byte {}", bytes.size()),
        fmt::format("expected a header of {} bytes, found the end of the file", data_offset_));
  parse_header(bytes.substr(prefix, length));
}

void NpyArray::parse_header(std::string_view header) {
  const auto fail = [&](std::string_view what) {
    throw DataError(path(), "byte 10",
                    fmt::format("expected {}, found the header {}", what,
                                header.substr(0, header.find_last_not_of(" \n") + 1)));
  };
  std::string_view descr = value_of(header, "descr");
  if (!descr.starts_with('\'') || descr.find('\'', 1) == std::string_view::npos)
    fail("a plain element type under 'descr'");
  dtype_ = descr.substr(1, descr.find('\'', 1) - 1);
  if (!value_of(header, "fortran_order").starts_with("False"))
    fail("C order (fortran_order False)");

  std::string_view shape = value_of(header, "shape");
  if (!shape.starts_with('(') || shape.find(')') == std::string_view::npos) fail("a 'shape'");
  shape = shape.substr(1, shape.find(')') - 1);
  elements_ = 1;
  while (shape.find_first_of("0123456789") != std::string_view::npos) {
    shape.remove_prefix(shape.find_first_of("0123456789"));
    std::int64_t extent = 0;
    const auto [end, error] = std::from_chars(shape.data(), shape.data() + shape.size(), extent);
    if (error != std::errc() || __builtin_mul_overflow(elements_, extent, &elements_))
      fail("a shape that fits into 64 bits");
    shape.remove_prefix(static_cast<std::size_t>(end - shape.data()));
    shape_.push_back(extent);
  }

  std::int64_t width = 0, data_bytes = 0;
  if (dtype_.size() > 2) std::from_chars(dtype_.data() + 2, dtype_.data() + dtype_.size(), width);
  if (width <= 0 || width > 16 || __builtin_mul_overflow(elements_, width, &data_bytes))
    fail("numbers as elements");
  const auto found = static_cast<std::int64_t>(file_->bytes().size() - data_offset_);
  if (found != data_bytes)
    throw DataError(
        path(), fmt::format("byte {}", file_->bytes().size()),
        fmt::format("expected {} bytes of data for {} of type {}, found {} ({})", data_bytes,
                    shape_text(shape_), dtype_, found,
                    found < data_bytes ? "the file is cut short" : "the file is too long"));
}

void NpyArray::check(std::string_view dtype,
                     std::initializer_list<std::int64_t> expected_shape) const {
  if (dtype_ != dtype)
    throw DataError(path(), "byte 10",
                    fmt::format("expected elements of type '{}', found '{}'", dtype, dtype_));
  if (!std::ranges::equal(expected_shape, shape_, [](auto expected, auto found) {
        return expected < 0 || expected == found;
      }))
    throw DataError(
        path(), "byte 10",
        fmt::format("expected shape {}, found {}", shape_text(expected_shape), shape_text(shape_)));
}

NpyWriter::NpyWriter(const std::filesystem::path& path, std::string_view dtype,
                     std::vector<std::int64_t> shape)
    : path_(path.string()), file_(std::fopen(path_.c_str(), "wb")) {
  if (!file_) fail();
  std::string header = fmt::format(
      "{{'descr': '{}', 'fortran_order': False, 'shape': ({},{}), }}", dtype,
      fmt::join(shape.begin(), shape.begin() + 1, ""),
      shape.size() == 1 ? "" : fmt::format(" {}", fmt::join(shape.begin() + 1, shape.end(), ", ")));
  const std::size_t used = kMagic.size() + 4 + header.size() + 1;
  header.append((kAlignment - used % kAlignment) % kAlignment, ' ').push_back('\n');
  write(kMagic.data(), kMagic.size());
  const auto length = header.size();
  const unsigned char prefix[4] = {1, 0, static_cast<unsigned char>(length & 255U),
                                   static_cast<unsigned char>(length >> 8U)};
  write(prefix, sizeof prefix);
  write(header.data(), header.size());
}

void NpyWriter::write(const void* data, std::size_t bytes) {
  if (bytes != 0 && std::fwrite(data, 1, bytes, file_.get()) != bytes) fail();
}

void NpyWriter::close() {
  if (std::fflush(file_.get()) != 0 || std::fclose(file_.release()) != 0) fail();
}

void NpyWriter::fail() const {
  throw DataError(path_, "",
                  fmt::format("expected to write this file, found: {}", std::strerror(errno)));
}

}  // namespace orrery
