#include "core/model/network/network.hpp"

#include "core/model/network/model.hpp"
#include "core/model/network/resgcn.hpp"
#include "core/model/network/sgc.hpp"

namespace orrery {

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
