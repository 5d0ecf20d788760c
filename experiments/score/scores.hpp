// How good predictions are, by split.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/graph/dataset.hpp"

namespace orrery {

/// Scores of the labelled vertices of a split: fractions in [0, 1], nothing where they are not
/// defined.
struct Scores {
  std::int64_t vertices = 0;
  /// With one label per vertex; the micro-F1 if there are several.
  std::optional<double> accuracy;
  /// The mean over classes of 2·TP / (2·TP + FP + FN), of those that occur among labels or
  /// predictions.
  std::optional<double> macro_f1;
  /// The mean over classes of the chance that a vertex of the class is ranked above one of another,
  /// equal ranks counting half; of classes that some vertices are of and some are not. Ranked by the
  /// softmax of the class, of several labels by its logit.
  std::optional<double> auc;
};

/// Predicted is the first largest logit; of several labels each logit above 0.
///
/// Shapes    logits [vertices, labels.classes]
/// Cost      a sort of the split's vertices for each class
Scores scores_of(std::span<const float> logits, const Labels& labels,
                 const std::vector<Split>& split, Split which);

/// {"train": ..., "validation": ..., "test": ...}: keys of Scores.
nlohmann::ordered_json scores_json(std::span<const float> logits, const Labels& labels,
                                   const std::vector<Split>& split);

/// The same with these of macro_f1 and auc alone.
nlohmann::ordered_json chosen_scores(nlohmann::ordered_json scores,
                                     const std::vector<std::string>& metrics);

}  // namespace orrery
