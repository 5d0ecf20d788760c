#include "tests/fuzz/corpus.hpp"

#include "tests/fuzz/folder_input.hpp"

namespace orrery::fuzz {

std::vector<std::string> kept_inputs(const std::string& target) {
  const auto folder = std::filesystem::path(ORRERY_SOURCES) / "tests/fuzz/corpus" / target;
  std::vector<std::string> inputs;
  if (std::filesystem::is_directory(folder))
    for (auto& [name, bytes] : files_of(folder)) inputs.push_back(std::move(bytes));
  return inputs;
}

}  // namespace orrery::fuzz
