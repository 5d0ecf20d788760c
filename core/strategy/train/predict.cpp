#include "core/strategy/train/predict.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/model/network/network.hpp"
#include "core/strategy/train/step_data.hpp"

namespace orrery {
namespace {

/// Puts a rank's rows where its vertices are.
void scatter(const std::vector<float>& rows, const std::vector<Vertex>& vertices,
             std::int64_t width, std::vector<float>& to) {
  const auto columns = at(width);
  for (std::size_t i = 0; i * columns < rows.size(); ++i)
    std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(i * columns), columns,
                to.begin() + static_cast<std::ptrdiff_t>(at(vertices[i]) * columns));
}

void load_model(Runtime& rt, const Parameters& parameters, const Checkpoint& model) {
  const std::vector<Tensor> rows = parameters.model();
  if (model.state.size() < rows.size()) throw ConfigError("", "the weights are of another model");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::vector<float>& values = i == 0 ? model.state.front() : model.state.back();
    if (static_cast<std::int64_t>(values.size()) != rows[i].cols())
      throw ConfigError(
          "", fmt::format("the weights are {} numbers, and this model on these data has {}: the "
                          "width of the features or the number of classes differs from that in "
                          "training, or they are of another model",
                          values.size(), rows[i].cols()));
    rt.submit(Lane::compute,
              Load{FloatArray{std::make_shared<const std::vector<float>>(values)}, rows[i]});
  }
}

}  // namespace

PredictionBody::PredictionBody(const Strategy& strategy, const Problem& problem,
                               const Checkpoint& model, Predicted& result)
    : strategy_(strategy), problem_(problem), model_(model), result_(result) {}

void PredictionBody::run(Runtime& rt, RunObserver& observer, const RunControl& /*control*/) const {
  rt.phase({Stage::setup});
  const DataFacts facts = problem_.facts();
  StepData data(rt, strategy_.load(rt, strategy_.prepare(rt.rank())), problem_.model, facts);
  rt.wait(Lane::compute, rt.record(Lane::copy));
  const auto network = make_network(rt, problem_.model, problem_.train, FirstLayer::exact,
                                    facts.features, facts.classes, ModelUse::inference);
  load_model(rt, network->parameters(), model_);
  network->attach(data.products(), data.features());
  data.products().begin(Stage::evaluate, 0);
  const Tensor logits = network->forward(data.features(), Stage::evaluate, 0, std::nullopt);
  const auto embeddings = network->embeddings(data.features());
  const auto saved = std::make_shared<std::vector<float>>(),
             of_layer = std::make_shared<std::vector<float>>();
  rt.wait(Lane::copy, rt.record(Lane::compute));
  rt.submit(Lane::copy, Save{logits, saved});
  if (embeddings) rt.submit(Lane::copy, Save{*embeddings, of_layer});
  rt.sync(rt.record(Lane::copy));
  if (!saved->empty()) {  // there are values
    const std::vector<Vertex>& vertices = *data.products().vertices().numbers();
    scatter(*saved, vertices, result_.classes, result_.logits);
    if (embeddings) scatter(*of_layer, vertices, result_.width, result_.embeddings);
  }
  const EpochReport report{0, std::nullopt, std::nullopt, 0};
  observer.epochs_done({&report, 1});
}

}  // namespace orrery
