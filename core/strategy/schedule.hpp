// The steps of a rank: what it works on, one after the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace orrery {

/// One optimiser step. The structure it works on, with features, labels and targets, is loaded
/// before it, in place of another one.
struct TrainStep {
  int structure = 0;
  /// Over how many training vertices, of all ranks in this step, the loss is averaged; nothing: all
  /// of the graph.
  std::optional<std::int64_t> averaged_over;
};

/// Each step trains a model of its own, until all go on from their average.
struct LocalTraining {
  int interval = 1;  ///< epochs from one average to the next
  /// Of the model of each of the rank's steps in the average; they sum to 1 over all ranks.
  std::vector<double> shares;
};

/// Where a rank's steps share one structure, it stays loaded.
struct Schedule {
  std::vector<TrainStep> training{{}};  ///< of every epoch
  /// Structures whose last rows, with those of the other ranks of the covering group, are the
  /// vertices of the graph, each once.
  std::vector<int> evaluation{0};
  bool redrawn = false;  ///< those of the training steps are drawn anew in every epoch
  std::optional<LocalTraining> local;  ///< nothing: all steps of all ranks train one model

  /// What is loaded before the first epoch; nothing for a rank without work.
  std::optional<int> first() const {
    if (!training.empty()) return training.front().structure;
    return evaluation.empty() ? std::nullopt : std::optional(evaluation.front());
  }
  /// Whether what is loaded first stays.
  bool stays() const {
    if (redrawn) return false;
    const auto same = [this](int structure) { return structure == *first(); };
    return std::all_of(evaluation.begin(), evaluation.end(), same) &&
           std::all_of(training.begin(), training.end(),
                       [&](const TrainStep& step) { return same(step.structure); });
  }
};

}  // namespace orrery
