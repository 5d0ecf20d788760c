// Features on disk, read through windows that move.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "core/graph/features.hpp"

namespace orrery {

/// What mapped_features gives, of a file of which some megabytes at most are mapped at a time:
/// made for reading rows in ascending order. Calls take turns.
///
/// Errors    as mapped_features
std::shared_ptr<const Features> windowed_features(const std::filesystem::path& values,
                                                  std::int64_t rows, std::int64_t width,
                                                  std::optional<bool> binary, bool made_up);

/// What mapped_sparse_features gives, in the same way. Rows are checked when they are read.
///
/// Errors    as mapped_sparse_features
std::shared_ptr<const Features> windowed_sparse_features(
    const std::filesystem::path& indptr, const std::filesystem::path& indices,
    const std::optional<std::filesystem::path>& values, std::int64_t rows, std::int64_t width,
    bool made_up);

}  // namespace orrery
