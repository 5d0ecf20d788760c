// Features on disk, read through moving windows.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "core/graph/features.hpp"

namespace orrery {

/// The same as mapped_features, with at most some megabytes of a file mapped at a time: for reading
/// rows in ascending order. Calls take turns.
///
/// Errors    as mapped_features
std::shared_ptr<const Features> windowed_features(const std::filesystem::path& values,
                                                  std::int64_t rows, std::int64_t width,
                                                  std::optional<bool> binary, bool made_up);

/// The same as mapped_sparse_features, in this way. Rows are checked when they are read.
///
/// Errors    as mapped_sparse_features
std::shared_ptr<const Features> windowed_sparse_features(
    const std::filesystem::path& indptr, const std::filesystem::path& indices,
    const std::optional<std::filesystem::path>& values, std::int64_t rows, std::int64_t width,
    bool made_up);

}  // namespace orrery
