// The options of a data set that concern its vertices, in any place.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/dataset.hpp"
#include "core/graph/dataset_options.hpp"

namespace orrery {

/// Replaces or normalises the features as the options say; notes what was done.
///
/// Errors    ConfigError under "dataset"
void choose_features(std::shared_ptr<const Features>& features, std::vector<std::string>& notes,
                     std::int64_t vertices, const DatasetOptions& options);

/// Throws the ConfigError that a data set has no use for dataset.missing_features.
[[noreturn]] void refuse_missing_features(const std::string& name);

/// Whether a vertex has a label.
using IsLabelled = std::function<bool(std::int64_t vertex)>;

/// The published split without unlabelled vertices. If there is none, or the options ask for it:
/// 70, 15 and 15 % of the labelled vertices for training, validation and test (or the requested
/// share, and half of the rest each), drawn by seed. It notes what was done.
///
/// Cost      16 bytes per vertex while it draws
void choose_split(std::vector<Split>& split, std::vector<std::string>& notes, std::int64_t vertices,
                  const IsLabelled& labelled, const DatasetOptions& options);

}  // namespace orrery
