// What kept files depend on, in a file beside them.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace orrery {

/// Whether there is such a file; then it must say the same.
///
/// Errors    ConfigError naming the first key that differs
bool require_same_identity(const std::filesystem::path& file,
                           const nlohmann::ordered_json& identity);

/// Removes the files of a folder that are `ours`, and the folder itself if nothing else is in it. Files
/// that cannot be removed stay.
void remove_kept(const std::filesystem::path& folder,
                 const std::function<bool(const std::string& name)>& ours);

}  // namespace orrery
