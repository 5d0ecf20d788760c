#include "experiments/infer/layer_orders.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "core/base/index.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

LayerOrder order_that(bool sums_first) {
  return sums_first ? LayerOrder::aggregate_first : LayerOrder::transform_first;
}

/// The graph convolution (from 0) that a stage of the ranks depends on. The features may be exchanged
/// as the first layer needs them; the layers without neighbours and the output depend on none.
std::size_t layer_of_stage(std::size_t stage, std::size_t layers) {
  return std::min(stage == 0 ? 0 : stage - 1, layers - 1);
}

/// What the stages of one layer cost over all ranks.
struct LayerCost {
  double received_bytes = 0;
  std::int64_t peak_bytes = 0;
};
std::vector<LayerCost> costs_by_layer(const RankStages& ranks, std::size_t layers) {
  std::vector<LayerCost> costs(layers);
  for (const auto& stages : ranks)
    for (std::size_t s = 0; s < stages.size(); ++s) {
      LayerCost& cost = costs[layer_of_stage(s, layers)];
      cost.received_bytes += stages[s].received_bytes;
      cost.peak_bytes = std::max(cost.peak_bytes, stages[s].peak_bytes);
    }
  return costs;
}

const char* word_of(LayerOrder order) {
  return order == LayerOrder::automatic         ? "auto"
         : order == LayerOrder::aggregate_first ? "aggregate_first"
                                                : "transform_first";
}

}  // namespace

std::vector<bool> sums_first_of(const InferenceProblem& problem, const LayerOrders& orders) {
  const ModelConfig& model = problem.model;
  const auto widths = widths_of(model, problem.data->features->width(), problem.data->classes);
  std::vector<bool> first;
  for (std::size_t l = 0; l < orders.size(); ++l)
    first.push_back(model.type == ModelType::resgcn
                        ? !transforms_first(orders[l], model.hidden, model.hidden)
                        : !transforms_first(orders[l], widths[l], widths[l + 1]));
  return first;
}

LayerOrders orders_of(const InferenceProblem& problem, const InferenceConfig& config) {
  LayerOrders orders;
  for (int l = 1; l <= problem.model.layers; ++l)
    orders.push_back(order_of(config, problem.model, l));
  return orders;
}

std::vector<LayerOrders> named_orders(const InferenceProblem& asked) {
  if (!has_orders(asked.model)) return {LayerOrders{}};
  std::vector<LayerOrders> named{orders_of(asked, asked.config)};
  for (const LayerOrder order :
       {LayerOrder::automatic, LayerOrder::aggregate_first, LayerOrder::transform_first})
    named.emplace_back(at(asked.model.layers), order);
  std::vector<LayerOrders> distinct;
  std::set<std::vector<bool>> seen;
  for (LayerOrders& orders : named)
    if (seen.insert(sums_first_of(asked, orders)).second) distinct.push_back(std::move(orders));
  return distinct;
}

const RankStages& OrderCosts::uniform(bool sums_first, std::int64_t group_bytes) {
  const auto [entry, is_new] = recorded_.try_emplace({group_bytes, sums_first});
  if (!is_new) return entry->second;
  InferenceProblem all = problem_;
  all.config.group_bytes = group_bytes;
  if (has_orders(all.model)) all.config.order.assign(at(all.model.layers), order_that(sums_first));
  all.input = locate_input(all);
  try {
    entry->second = count_stages(InferenceBody(all), {});
  } catch (...) {
    recorded_.erase(entry);
    throw;
  }
  return entry->second;
}

RankStages OrderCosts::of(const LayerOrders& orders, std::int64_t group_bytes) {
  if (orders.empty()) return uniform(false, group_bytes);
  const std::vector<bool> first = sums_first_of(problem_, orders);
  RankStages ranks = uniform(first.front(), group_bytes);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    for (std::size_t s = 0; s < ranks[rank].size(); ++s)
      ranks[rank][s] = uniform(first[layer_of_stage(s, first.size())], group_bytes)[rank][s];
  return ranks;
}

std::vector<LayerOrders> OrderCosts::cheapest(const std::optional<std::int64_t>& device_bytes) {
  if (!has_orders(problem_.model)) return {};
  std::set<std::int64_t> sizes;
  for (const auto& [key, stages] : recorded_) sizes.insert(key.first);
  const std::size_t layers = at(problem_.model.layers);
  std::vector<LayerOrders> found;
  for (const std::int64_t group_bytes : sizes) {
    const auto summed = costs_by_layer(uniform(true, group_bytes), layers),
               multiplied = costs_by_layer(uniform(false, group_bytes), layers);
    const auto rank_of = [&](const LayerCost& cost) {
      return std::tuple(device_bytes && cost.peak_bytes > *device_bytes, cost.received_bytes,
                        cost.peak_bytes);
    };
    // The layer whose other order costs least more.
    std::size_t turned = 0;
    std::tuple<bool, double, std::int64_t> least;
    LayerOrders best;
    for (std::size_t l = 0; l < layers; ++l) {
      const bool sums = rank_of(summed[l]) < rank_of(multiplied[l]);
      const LayerCost &one = sums ? summed[l] : multiplied[l],
                      &other = sums ? multiplied[l] : summed[l];
      best.push_back(order_that(sums));
      const std::tuple more(std::get<0>(rank_of(other)), other.received_bytes - one.received_bytes,
                            other.peak_bytes);
      if (l == 0 || more < least) {
        turned = l;
        least = more;
      }
    }
    LayerOrders next = best;
    next[turned] = order_that(next[turned] != LayerOrder::aggregate_first);
    found.push_back(std::move(best));
    found.push_back(std::move(next));
  }
  return found;
}

Json order_json(const LayerOrders& orders) {
  Json words = Json::array();
  bool alike = true;
  for (const LayerOrder order : orders) {
    words.push_back(word_of(order));
    alike = alike && order == orders.front();
  }
  return alike ? words[0] : words;
}

std::string order_text(const Json& order) {
  if (order.is_string()) return order;
  std::string text;
  for (const Json& one : order) {
    const auto word = one.get<std::string>();
    text += (text.empty() ? "" : ", ") + word.substr(0, word.find("_first"));
  }
  return text;
}

}  // namespace orrery
