#include "experiments/infer/kept/kept_identity.hpp"

#include <fmt/core.h>

#include <vector>

#include "core/base/error.hpp"
#include "core/base/json_reader.hpp"
#include "core/graph/files/bytes_of.hpp"
#include "experiments/results/differences.hpp"

namespace orrery {

namespace fs = std::filesystem;

bool require_same_identity(const fs::path& file, const nlohmann::ordered_json& identity) {
  if (!fs::exists(file)) return false;
  const auto kept = JsonReader(bytes_of(file), file.string()).json();
  for (const Difference& one : differences(kept, identity))
    throw ConfigError(one.key,
                      fmt::format("is {} here, but {} in {}; resume the same inference, or "
                                  "start anew without --resume",
                                  one.now, one.kept, file.parent_path().string()));
  return true;
}

void remove_kept(const fs::path& folder, const std::function<bool(const std::string&)>& ours) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (ours(entry->path().filename().string())) found.push_back(entry->path());
  for (const fs::path& file : found) fs::remove(file, error);
  fs::remove(folder, error);  // but where it holds something else
}

}  // namespace orrery
