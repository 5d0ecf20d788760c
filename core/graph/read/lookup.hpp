// Finds data sets by name, and says where to get published ones.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

/// Where a published set comes from and what to do with the download.
struct PublishedSet {
  std::string_view name;
  std::string_view source;   ///< publisher and address
  std::string_view files;    ///< what to download
  std::string_view convert;  ///< how it becomes readable
  bool readable = false;     ///< Orrery reads the download directly
};

/// The entry with that name (case, '_' and '-' do not matter); null if it is not in the list.
const PublishedSet* published_set(std::string_view name);

/// All sets that are listed, in the order to print them.
std::vector<PublishedSet> published_sets();

/// The folders where bare names are looked up: those of ORRERY_DATA (colon-separated), then ./data.
std::vector<std::filesystem::path> data_folders();

/// The file or folder that `path` means: itself if it exists, else, if it is a bare name, that name
/// in the first of data_folders() that holds it.
std::optional<std::filesystem::path> find_dataset(const std::string& path);

/// The same, but a missing set is an error.
///
/// Errors    ConfigError under "dataset.path" for a bare name: the folders searched, where such a
///           set can be had and in which form; DataError for a path
std::filesystem::path locate_dataset(const std::string& path);

}  // namespace orrery
