// The keys of a data set folder's meta.json.
#pragma once

#include <string>
#include <vector>

#include "core/graph/files/meta_file.hpp"

namespace orrery {

/// A note that names the keys which nothing reads and no writer of data sets leaves, each with the key that it
/// may be meant for; none if there are no such keys.
std::vector<std::string> notes_on_unknown_keys(const MetaFile& meta);

}  // namespace orrery
