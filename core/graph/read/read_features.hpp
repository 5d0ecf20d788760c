// Facts of meta.json about a data set folder's arrays, for readers that hold them and readers that
// do not.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/features.hpp"
#include "core/graph/files/meta_file.hpp"

namespace orrery {

/// How much of a file is mapped: all of it, or a moving window of some megabytes.
enum class Mapping { whole, window };

/// Number of vertices of the folder.
///
/// Errors    DataError: none stated; more than can be numbered or than its arrays make plausible
std::int64_t read_vertex_count(const std::filesystem::path& folder, const MetaFile& meta);

/// Number of classes; 0 if it is not stated.
///
/// Errors    DataError: more than this number of vertices makes plausible
std::int64_t read_class_count(const MetaFile& meta, std::int64_t vertices);

/// Errors    DataError: "feature_storage/shape" of meta.json, where it is there, is not
///           [rows, columns]; `source` says what these are from ("features.npy has")
void require_stated_shape(const MetaFile& meta, std::int64_t rows, std::int64_t columns,
                          const std::string& source);

/// The features of a data set folder, null if absent; notes what was generated, is missing, or is there and not
/// told of.
///
/// Errors    DataError as mapped_features, mapped_sparse_features and require_stated_shape;
///           "num_features" is not the number of columns; meta.json names no kind of storage that is known (the nearest one is named)
std::shared_ptr<const Features> read_features(const std::filesystem::path& folder,
                                              const MetaFile& meta, std::int64_t vertices,
                                              Mapping mapping, std::vector<std::string>& notes);

/// Whether a data set folder has labels; notes it if published ones are missing, or are there and not told of.
bool has_labels(const std::filesystem::path& folder, const MetaFile& meta,
                std::vector<std::string>& notes);

/// Whether a data set folder has a split; notes it if one is there and not told of.
bool has_split(const std::filesystem::path& folder, const MetaFile& meta,
               std::vector<std::string>& notes);

/// What was generated in a data set that a generator wrote; nothing for others.
std::vector<std::string> notes_on_origin(const MetaFile& meta);

}  // namespace orrery
