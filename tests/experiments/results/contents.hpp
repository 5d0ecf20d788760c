// What a file holds.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace orrery {

inline std::string contents_of(const std::filesystem::path& file) {
  std::stringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace orrery
