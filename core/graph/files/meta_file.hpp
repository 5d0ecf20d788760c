// The meta.json of a data set folder.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/json_reader.hpp"
#include "core/graph/files/mapped_file.hpp"
#include "core/terminal/plain_text.hpp"

namespace orrery {

/// meta.json with look-ups that check the types and name file and key in errors.
///
/// Errors    DataError, also if it is no JSON object
class MetaFile : public JsonReader {
 public:
  explicit MetaFile(const std::filesystem::path& folder)
      : MetaFile(MappedFile(folder / "meta.json")) {}

  /// A readable text: in one line, control characters as "\x1b".
  std::string words(std::string_view key) const { return one_line(get<std::string>(key)); }
  std::string words(std::string_view key, const std::string& otherwise) const {
    return one_line(get<std::string>(key, otherwise));
  }
  /// Several.
  std::vector<std::string> list_of_words(std::string_view key,
                                         std::vector<std::string> otherwise) const {
    auto list = get<std::vector<std::string>>(key, std::move(otherwise));
    for (std::string& text : list) text = one_line(text);
    return list;
  }

 private:
  explicit MetaFile(const MappedFile& file) : JsonReader(file.bytes(), file.path()) {}
};

}  // namespace orrery
