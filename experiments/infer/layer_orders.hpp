// What an inference receives and holds for any order of its layers, from two recordings: a layer costs
// the same whatever the others multiply by first, because activations between layers are alike.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/infer/prepare_inference.hpp"

namespace orrery {

using LayerOrders = std::vector<LayerOrder>;  ///< InferenceConfig::order

/// For each graph convolution, whether it sums over neighbours first.
std::vector<bool> sums_first_of(const InferenceProblem& problem, const LayerOrders& orders);

/// Orders that people name: the one asked for, auto, aggregate_first, transform_first. No two make all
/// layers do the same. Models without orders have one, which is empty.
std::vector<LayerOrders> named_orders(const InferenceProblem& asked);

/// Costs of inferences that differ in InferenceConfig::order and group_bytes alone.
class OrderCosts {
 public:
  /// Requires  a problem with its graphs
  explicit OrderCosts(InferenceProblem problem) : problem_(std::move(problem)) {}

  /// What the ranks' stages move and hold. Records where that is not known yet.
  RankStages of(const LayerOrders& orders, std::int64_t group_bytes);
  /// For each size of groups that of() was asked for: the order that receives the fewest bytes among
  /// those whose layers fit, and the next one, in which one layer does the other thing.
  std::vector<LayerOrders> cheapest(const std::optional<std::int64_t>& device_bytes);

 private:
  const RankStages& uniform(bool sums_first, std::int64_t group_bytes);

  InferenceProblem problem_;
  std::map<std::pair<std::int64_t, bool>, RankStages> recorded_;  ///< by group_bytes, sums_first
};

/// One word if it holds for all layers, else one for each: as inference.order.
nlohmann::ordered_json order_json(const LayerOrders& orders);
/// The same, short: "aggregate_first", or "aggregate, transform".
std::string order_text(const nlohmann::ordered_json& order);
/// The order of all layers, also if model.order says it.
LayerOrders orders_of(const InferenceProblem& problem, const InferenceConfig& config);

}  // namespace orrery
