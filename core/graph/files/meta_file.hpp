// The meta.json of a data set folder.
#pragma once

#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/error.hpp"
#include "core/graph/files/mapped_file.hpp"

namespace orrery {

/// meta.json with typed look-ups that name the file and the key in errors.
class MetaFile {
 public:
  explicit MetaFile(const std::filesystem::path& folder) : path_((folder / "meta.json").string()) {
    const MappedFile file(path_);
    try {
      json_ = nlohmann::json::parse(file.bytes());
    } catch (const nlohmann::json::parse_error& error) {
      throw DataError(path_, fmt::format("byte {}", error.byte),
                      "expected JSON, found something else or the end of the file");
    }
    if (!json_.is_object()) throw DataError(path_, "byte 0", "expected a JSON object");
  }
  /// The value under a key path like "/feature_storage/kind", or `otherwise` when it is absent.
  template <class T>
  T get(const char* key, T otherwise) const {
    const nlohmann::json::json_pointer pointer(key);
    if (!json_.contains(pointer) || json_.at(pointer).is_null()) return otherwise;
    try {
      return json_.at(pointer).get<T>();
    } catch (const nlohmann::json::exception&) {
      fail(key, fmt::format("expected another type, found {}", json_.at(pointer).dump()));
    }
  }
  std::int64_t count(const char* key) const {
    const auto value = get<std::int64_t>(key, -1);
    if (value < 0)
      fail(key, value == -1 ? "expected a count, found none"
                            : "expected a count, found a negative number");
    return value;
  }
  bool has(const char* key) const { return json_.contains(nlohmann::json::json_pointer(key)); }
  [[noreturn]] void fail(const char* key, const std::string& problem) const {
    throw DataError(path_, fmt::format("key {}", key + 1), problem);
  }

 private:
  std::string path_;
  nlohmann::json json_;
};

}  // namespace orrery
