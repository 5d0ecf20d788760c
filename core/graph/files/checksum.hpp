// Checksums of files, against damage by disks and copies.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace orrery {

/// CRC-32 as eight hexadecimal digits.
///
/// Source    zlib
std::string checksum(std::string_view bytes);

/// The same of a file, read in pieces.
///
/// Errors    DataError: the file cannot be read
std::string file_checksum(const std::filesystem::path& file);

/// Errors    DataError: the file has another checksum
void require_checksum(const std::filesystem::path& file, const std::string& expected);

}  // namespace orrery
