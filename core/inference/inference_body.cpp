#include "core/inference/inference_body.hpp"

#include <fmt/core.h>

#include <numeric>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery {
namespace {

/// This rank's tile of the features.
Buffer load_features(Runtime& rt, const InferenceProblem& problem) {
  const TileLayout layout = problem.layout();
  const Share rows = layout.rows(layout.part_of(rt.rank()));
  const Share columns =
      layout.columns(problem.data->features->width(), layout.column_of(rt.rank()));
  auto vertices = std::make_shared<std::vector<Vertex>>(at(rows.count));
  std::iota(vertices->begin(), vertices->end(), static_cast<Vertex>(rows.first));
  Buffer features(rt, {rows.count, columns.count}, DType::f32, "features");
  if (columns.count > 0)
    rt.submit(Lane::copy,
              Load{FeatureRows{problem.data->features, std::move(vertices), columns.first},
                   features.tensor()});
  rt.wait(Lane::compute, rt.record(Lane::copy));
  return features;
}

/// The rows of the last layer that this rank gets whole, to the sink.
void put_away(Runtime& rt, const InferenceProblem& problem, TileProducts& products,
              const Buffer& last, std::int64_t width, EmbeddingSink* sink) {
  const TileLayout layout = problem.layout();
  const int rank = rt.rank(), part = layout.part_of(rank);
  Share vertices = layout.whole_rows(part, layout.column_of(rank));
  Buffer turned;
  Tensor whole = last.tensor();
  if (layout.column_parts > 1) {
    turned = Buffer(rt, {vertices.count, width}, DType::f32, "activations/whole rows");
    products.whole_rows(last.tensor(), turned.tensor());
    whole = turned.tensor();
  }
  vertices.first += layout.rows(part).first;
  const auto saved = std::make_shared<std::vector<float>>();
  rt.wait(Lane::copy, rt.record(Lane::compute));
  rt.submit(Lane::copy, Save{whole, saved});
  rt.wait(Lane::host, rt.record(Lane::copy));
  const Task kept = rt.host(Lane::host, [=] {
    // A recording has no values, and some ranks have no rows.
    if (sink != nullptr && !saved->empty()) sink->put(rank, vertices, width, *saved);
    return HostWork{"checkpoint", 1, whole.bytes(), 1};
  });
  rt.join(kept);
  products.end();
}

}  // namespace

std::shared_ptr<const LayerGraphs> make_graphs(const InferenceProblem& problem,
                                               std::optional<int> only_part) {
  return std::make_shared<const LayerGraphs>(
      *problem.data, problem.model, problem.layout(),
      LayerGraphs::Settings{problem.model.layers, problem.config.fanout, problem.config.seed,
                            only_part});
}

InferenceBody::InferenceBody(const InferenceProblem& problem, EmbeddingSink* sink)
    : problem_(problem), sink_(sink) {
  require_layer_by_layer(problem.model, problem.config.columns);
  if (problem.config.rows > problem.data->vertices())
    throw ConfigError("inference.rows", fmt::format("{} parts of {} vertices", problem.config.rows,
                                                    problem.data->vertices()));
  if (!problem.data->features)
    throw ConfigError("dataset", "has no features, from which an inference starts");
}

void InferenceBody::run(Runtime& rt, RunObserver& observer, const RunControl& control) const {
  rt.phase({Stage::setup});
  TileProducts products(rt, *problem_.graphs, problem_.config, problem_.column_tiles);
  Buffer h = load_features(rt, problem_);
  LayerStack stack(rt, products, problem_.model, problem_.train_seed,
                   problem_.data->features->width(), problem_.data->labels.classes,
                   problem_.weights.get());
  rt.sync(rt.record(Lane::compute));
  const int stages = control.epochs.value_or(epochs());
  for (int stage = 0; stage < stages; ++stage) {
    const bool computes = stage < stack.layers();
    rt.phase({Stage::forward, stage, computes ? stage + 1 : -1});
    if (computes) {
      Buffer next = stack.forward(stage + 1, h.tensor());
      h = std::move(next);
    } else {
      put_away(rt, problem_, products, h, stack.width(stack.layers()), sink_);
    }
    rt.sync(rt.record(Lane::compute));
    rt.phase({Stage::evaluate, stage});  // ends the stage's time
    const EpochReport report{stage, std::nullopt, std::nullopt, 0};
    if (!observer.epochs_done({&report, 1})) return;
  }
}

}  // namespace orrery
