#include "core/strategy/train/class_weights.hpp"

#include <fmt/core.h>

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery {

std::vector<float> class_weights(const Problem& problem) {
  const TrainConfig& train = problem.train;
  const DataFacts facts = problem.facts();
  if (train.class_weights.empty() && !train.balance_classes) return {};
  const auto fail = [](const std::string& why) { throw ConfigError("train.class_weights", why); };
  if (facts.multilabel) fail("are of data with one label per vertex, and these have several");
  const auto classes = static_cast<std::size_t>(facts.classes);
  std::vector<double> weights = train.class_weights;
  if (!train.balance_classes && weights.size() != classes)
    fail(fmt::format("expected {} numbers, one for each class, found {}", classes, weights.size()));
  if (problem.statistics) return std::vector<float>(classes, 1);
  if (!problem.data)
    fail(
        "need the whole data set in memory: a folder of parts does not say how many vertices of "
        "each "
        "class train; name a dataset.path");
  std::vector<std::int64_t> counts(classes);
  const Dataset& data = *problem.data;
  for (std::size_t v = 0; v < data.split.size(); ++v)
    if (data.split[v] == Split::train && data.labels.values[v] >= 0)
      ++counts[at(data.labels.values[v])];
  weights.resize(classes);
  double sum = 0;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const auto count = static_cast<double>(counts[c]);
    if (train.balance_classes) weights[c] = count > 0 ? 1 / count : 0;
    sum += count * weights[c];
  }
  if (sum <= 0) fail("are 0 for all classes that train: one has to be above 0");
  std::vector<float> scaled;
  for (const double weight : weights)
    scaled.push_back(
        static_cast<float>(weight * static_cast<double>(facts.training_vertices) / sum));
  return scaled;
}

}  // namespace orrery
