#include "core/model/layer_type.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "core/base/error.hpp"
#include "core/base/name.hpp"

namespace orrery {
namespace {

std::vector<LayerType>& added_layers() {
  static std::vector<LayerType> layers;
  return layers;
}

/// Null if no layer has this name.
const LayerType* find_layer(std::string_view name) {
  for (const LayerType& layer : layer_types())
    if (layer.name == name) return &layer;
  return nullptr;
}

std::string problem_of(const LayerType& layer, const std::vector<LayerType>& others) {
  if (!is_name(layer.name)) return fmt::format("is no name: {}", kNameRule);
  bool taken = layer.name == ModelType::resgcn.name || layer.name == ModelType::sgc.name;
  for (const LayerType& other : others) taken = taken || other.name == layer.name;
  if (taken) return "is the name of two layers: rename one";
  if (layer.make == nullptr) return "has no function that makes it";
  return "";
}

}  // namespace

AddLayer::AddLayer(LayerType layer) { added_layers().push_back(std::move(layer)); }

std::vector<LayerType> with_built_in(std::vector<LayerType> added) {
  std::vector<LayerType> all{gcn_layer(), sage_layer(), sage_pool_layer(),
                             gat_layer(), rgcn_layer(), rgat_layer()};
  for (LayerType& layer : added) {
    if (const std::string problem = problem_of(layer, all); !problem.empty())
      throw ConfigError("plugins", fmt::format("\"{}\" {}", layer.name, problem));
    all.push_back(std::move(layer));
  }
  return all;
}

const std::vector<LayerType>& layer_types() {
  static const std::vector<LayerType> all = with_built_in(added_layers());
  return all;
}

const LayerType& layer_of(const ModelConfig& model) {
  const ModelType type = model.type == ModelType::resgcn ? ModelType::sage
                         : model.type == ModelType::sgc  ? ModelType::gcn
                                                         : model.type;
  const LayerType* layer = find_layer(type.name);
  ORRERY_ASSERT(layer != nullptr);  // types come from model_type()
  return *layer;
}

ModelType model_type(const std::string& name) {
  if (name == ModelType::resgcn.name) return ModelType::resgcn;
  if (name == ModelType::sgc.name) return ModelType::sgc;
  if (const LayerType* layer = find_layer(name)) return {layer->name};
  std::vector<std::string> names;
  for (const LayerType& layer : layer_types()) names.push_back(layer.name);
  names.emplace_back(ModelType::resgcn.name);
  names.emplace_back(ModelType::sgc.name);
  throw ConfigError("model.type",
                    fmt::format("found \"{}\", allowed: {}", name, fmt::join(names, ", ")));
}

bool weighs_edges(const ModelConfig& model) { return layer_of(model).weighs_edges; }

bool by_relation(const ModelConfig& model) { return layer_of(model).by_relation; }

bool weighs_relations(const ModelConfig& model) { return layer_of(model).weighs_relations; }

void require_sound(const ModelConfig& model) {
  const LayerType& layer = layer_of(model);
  if (model.order == LayerOrder::aggregate_both && model.type != ModelType::gcn)
    throw ConfigError("model.order",
                      fmt::format("\"aggregate_both\" is of gcn layers, and these are {}: use "
                                  "\"aggregate_first\"",
                                  model.type.name));
  if (!layer.weighs_edges || layer.takes_largest || (layer.by_relation && !layer.weighs_relations))
    return;  // no heads
  if (model.heads < 1 || (model.layers > 1 && model.hidden % model.heads != 0))
    throw ConfigError("model.heads",
                      fmt::format("found {}, but hidden layers are {} wide and heads must have "
                                  "equal shares: use a divisor of model.hidden",
                                  model.heads, model.hidden));
  if (model.attention_dropout > 0 && model.layers > kMostLayersWithDrawnEdges)
    throw ConfigError("model.attention_dropout",
                      fmt::format("works with at most {} layers, found {}: set it to 0",
                                  kMostLayersWithDrawnEdges, model.layers));
}

}  // namespace orrery
