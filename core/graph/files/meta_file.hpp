// The meta.json of a data set folder.
#pragma once

#include <filesystem>

#include "core/base/json_reader.hpp"
#include "core/graph/files/mapped_file.hpp"

namespace orrery {

/// meta.json with look-ups that check the types and name the file and the key in errors.
///
/// Errors    DataError: also where it is no JSON object
class MetaFile : public JsonReader {
 public:
  explicit MetaFile(const std::filesystem::path& folder)
      : MetaFile(MappedFile(folder / "meta.json")) {}

 private:
  explicit MetaFile(const MappedFile& file) : JsonReader(file.bytes(), file.path()) {}
};

}  // namespace orrery
