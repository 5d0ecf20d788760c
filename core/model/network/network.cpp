#include "core/model/network/network.hpp"

#include <fmt/core.h>

#include "core/model/network/model.hpp"
#include "core/model/network/resgcn.hpp"
#include "core/model/network/sgc.hpp"
#include "core/runtime/recorder.hpp"

namespace orrery {

NamedState named_state(const ModelConfig& model, std::int64_t features, std::int64_t classes) {
  Recorder recorder({0, 1, {}, false});  // declares and computes nothing
  const auto network = make_network(recorder, model, {}, FirstLayer::recompute, features, classes,
                                    ModelUse::inference);
  const Parameters& parameters = network->parameters();
  NamedState state;
  for (int i = 0; i < parameters.count(); ++i)
    state.weights.push_back({parameters.name_of(i), parameters.shape_of(i)});
  for (int i = 0; i < parameters.count_of_averages(); ++i)
    state.averages.push_back(
        {fmt::format("layers.{}.norm.averages", parameters.layer_of_averages(i)),
         parameters.averages(i).shape});
  return state;
}

std::unique_ptr<Network> make_network(Runtime& rt, const ModelConfig& model,
                                      const TrainConfig& train, FirstLayer first_layer,
                                      std::int64_t features, std::int64_t classes, ModelUse use,
                                      const MoreParameters& more) {
  if (model.type == ModelType::resgcn)
    return std::make_unique<ResGcn>(rt, model, train, features, classes, use, more);
  if (model.type == ModelType::sgc)
    return std::make_unique<Sgc>(rt, model, train, first_layer, features, classes, use, more);
  return std::make_unique<Model>(rt, model, train, first_layer, features, classes, use, more);
}

}  // namespace orrery
