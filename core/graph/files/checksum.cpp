#include "core/graph/files/checksum.hpp"

#include <fmt/core.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

#include "core/base/error.hpp"

namespace orrery {
namespace {

std::string text_of(uLong crc) { return fmt::format("{:08x}", crc); }

uLong add(uLong crc, const char* bytes, std::size_t count) {
  return crc32_z(crc, reinterpret_cast<const Bytef*>(bytes), count);
}

}  // namespace

std::string checksum(std::string_view bytes) { return text_of(add(0, bytes.data(), bytes.size())); }

std::string file_checksum(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  constexpr std::size_t kBlock = 1 << 20;
  const auto block = std::make_unique_for_overwrite<char[]>(kBlock);  // zeroes would cost more
  uLong crc = 0;
  while (in) {
    in.read(block.get(), kBlock);
    crc = add(crc, block.get(), static_cast<std::size_t>(in.gcount()));
  }
  if (!in.eof())
    throw DataError(file.string(), "",
                    fmt::format("expected a readable file, found: {}", std::strerror(errno)));
  return text_of(crc);
}

void require_checksum(const std::filesystem::path& file, const std::string& expected) {
  const std::string found = file_checksum(file);
  if (found != expected)
    throw DataError(
        file.string(), "",
        fmt::format("is damaged: expected checksum {}, found {}; write it again or copy "
                    "it from an undamaged place",
                    expected, found));
}

}  // namespace orrery
