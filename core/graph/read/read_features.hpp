// What meta.json says of a data set folder's arrays, for readers that hold them and readers that
// do not.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/features.hpp"
#include "core/graph/files/meta_file.hpp"

namespace orrery {

/// How much of a file is mapped: all of it, or a window of some megabytes that moves.
enum class Mapping { whole, window };

/// How many vertices the folder says it has.
///
/// Errors    DataError: none stated; more than can be numbered or than its arrays make plausible
std::int64_t read_vertex_count(const std::filesystem::path& folder, const MetaFile& meta);

/// How many classes it says there are; 0 where it does not say.
///
/// Errors    DataError: more than so many vertices make plausible
std::int64_t read_class_count(const MetaFile& meta, std::int64_t vertices);

/// The features of a data set folder, null when absent; notes what was made up or is missing.
///
/// Errors    DataError as mapped_features and mapped_sparse_features; meta.json names no kind of
///           storage that is known
std::shared_ptr<const Features> read_features(const std::filesystem::path& folder,
                                              const MetaFile& meta, std::int64_t vertices,
                                              Mapping mapping, std::vector<std::string>& notes);

/// Whether a data set folder has labels; notes it when published ones are missing.
bool has_labels(const std::filesystem::path& folder, const MetaFile& meta,
                std::vector<std::string>& notes);

/// What was made up of a data set that a generator wrote; nothing of others.
std::vector<std::string> notes_on_origin(const MetaFile& meta);

}  // namespace orrery
