#include "tests/fuzz/folder_input.hpp"

#include <stdlib.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace orrery::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark = "@@@@ ";
constexpr std::size_t kMostFiles = 64;

bool plain(std::string_view name) {
  return !name.empty() && name.size() < 64 && name.front() != '/' && name.back() != '/' &&
         name.find("..") == std::string_view::npos && std::ranges::count(name, '/') <= 3 &&
         std::ranges::all_of(name, [](unsigned char c) {
           return std::isalnum(c) != 0 || std::strchr("._-/", c) != nullptr;
         });
}

}  // namespace

Files unpack(std::string_view input) {
  Files files;
  while (input.starts_with(kMark) && files.size() < kMostFiles) {
    input.remove_prefix(kMark.size());
    const std::size_t line = std::min(input.find('\n'), input.size());
    const std::string_view name = input.substr(0, line);
    input.remove_prefix(std::min(line + 1, input.size()));
    const std::size_t end = input.find("\n@@@@ ");
    const std::string_view bytes = input.substr(0, end);
    input.remove_prefix(end == std::string_view::npos ? input.size() : end + 1);
    if (plain(name)) files.emplace_back(name, bytes);
  }
  return files;
}

std::string pack(const Files& files) {
  std::string input;
  for (const auto& [name, bytes] : files) {
    if (!input.empty()) input += '\n';
    input.append(kMark).append(name).append("\n").append(bytes);
  }
  return input;
}

Files files_of(const fs::path& folder) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    files.emplace_back(entry.path().lexically_relative(folder).string(),
                       std::string{std::istreambuf_iterator<char>(in), {}});
  }
  std::ranges::sort(files);
  return files;
}

std::string_view find(const Files& files, std::string_view name) {
  const auto found = std::ranges::find(files, name, &Files::value_type::first);
  return found == files.end() ? std::string_view() : std::string_view(found->second);
}

Scratch::Scratch() {
  std::error_code absent;
  const fs::path memory = "/dev/shm";
  std::string name = ((fs::is_directory(memory, absent) ? memory : fs::temp_directory_path()) /
                      "orrery-fuzz-XXXXXX")
                         .string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder " + name);
  path_ = name;
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void Scratch::fill(const Files& files) const {
  for (const auto& entry : fs::directory_iterator(path_)) fs::remove_all(entry.path());
  for (const auto& [name, bytes] : files) {
    std::error_code ignored;  // a file that is a folder to another one: the later is not written
    fs::create_directories((path_ / name).parent_path(), ignored);
    std::ofstream(path_ / name, std::ios::binary) << bytes;
  }
}

std::string Scratch::fill(const std::string& name, std::string_view bytes) const {
  fill({{name, std::string(bytes)}});
  return (path_ / name).string();
}

const Scratch& scratch() {
  static const Scratch folder;
  return folder;
}

}  // namespace orrery::fuzz
