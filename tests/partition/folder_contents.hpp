// What is in a folder, and owners that are drawn: for tests that compare folders of parts.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "core/base/rng.hpp"
#include "core/partition/partition.hpp"

namespace orrery {

inline std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Everything in a folder, by its path inside.
inline std::map<std::string, std::string> contents(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      files[std::filesystem::relative(entry.path(), folder)] = bytes_of(entry.path());
  return files;
}

inline Partition parts_of(std::int64_t vertices, int parts) {
  Partition partition{parts, {}};
  for (std::int64_t v = 0; v < vertices; ++v)
    partition.owner.push_back(static_cast<std::int32_t>(
        random_bits(9, Purpose::partition, static_cast<std::uint32_t>(v))[0] %
        static_cast<std::uint32_t>(parts)));
  return partition;
}

}  // namespace orrery
