#include "core/graph/files/bytes_of.hpp"

#include "core/graph/files/mapped_file.hpp"

namespace orrery {

std::string bytes_of(const std::filesystem::path& path) {
  const MappedFile file(path);
  return std::string(file.bytes());
}

}  // namespace orrery
