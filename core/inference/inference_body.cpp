#include "core/inference/inference_body.hpp"

#include <fmt/core.h>

#include <numeric>
#include <optional>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery {
namespace {

/// Features whose width is known.
class CountedFeatures final : public Features {
 public:
  CountedFeatures(std::int64_t rows, std::int64_t width) : rows_(rows), width_(width) {}
  std::int64_t rows() const override { return rows_; }
  std::int64_t width() const override { return width_; }
  void read(std::span<const Vertex>, std::int64_t, std::int64_t, float*,
            std::int64_t) const override {
    throw NeedsStructure("a graph given by its statistics has no features");
  }
  std::string provenance() const override { return "counted"; }

 private:
  std::int64_t rows_, width_;
};

/// This rank's tile of the features.
Buffer load_features(Runtime& rt, const InferenceProblem& problem) {
  const TileLayout layout = problem.layout();
  const Share rows = layout.rows(layout.part_of(rt.rank()));
  const Share columns =
      layout.columns(problem.data->features->width(), layout.column_of(rt.rank()));
  Source source = Unknown{"features"};
  if (!problem.data->statistics) {
    auto vertices = std::make_shared<std::vector<Vertex>>(at(rows.count));
    std::iota(vertices->begin(), vertices->end(), static_cast<Vertex>(rows.first));
    source = FeatureRows{problem.data->features, std::move(vertices), columns.first};
  }
  Buffer features(rt, {rows.count, columns.count}, DType::f32, "features");
  // A scan reads all rows of all files, whatever it takes of them.
  if (problem.data->feature_files)
    read_places(rt, problem.data->feature_files, {0, problem.data->feature_files->rows()});
  if (columns.count > 0) rt.submit(Lane::copy, Load{std::move(source), features.tensor()});
  rt.wait(Lane::compute, rt.record(Lane::copy));
  return features;
}

/// The tile of the features from the rows that the ranks have read.
Buffer redistributed(Runtime& rt, LocatedRows& input) {
  Buffer features(rt, input.placeholder().shape, DType::f32, "features");
  input.redistribute(features.tensor());
  return features;
}

/// This rank's tile of the last layer kept.
Buffer load_layer(Runtime& rt, const InferenceProblem& problem, const LayerStore& layers,
                  std::int64_t width) {
  const TileLayout layout = problem.layout();
  const int rank = rt.rank(), layer = layers.layers_done();
  const Shape shape{layout.rows(layout.part_of(rank)).count,
                    layout.columns(width, layout.column_of(rank)).count};
  Buffer tile(rt, shape, DType::f32, fmt::format("activations/layer {}", layer));
  if (shape.size() > 0)
    rt.submit(Lane::copy, Load{FloatArray{layers.take(rank, layer, shape.size())}, tile.tensor()});
  rt.wait(Lane::compute, rt.record(Lane::copy));
  return tile;
}

/// x, or a copy of it where its rows do not follow each other in memory.
Tensor contiguous(Runtime& rt, const Tensor& x, Buffer& copy) {
  if (x.contiguous()) return x;
  copy = Buffer(rt, x.shape, DType::f32, "activations/whole rows");
  rt.submit(Lane::compute, Copy{x, copy.tensor()});
  return copy.tensor();
}

/// Stores a rank's tiles while the next layer is computed.
class LayerKeeper {
 public:
  LayerKeeper(Runtime& rt, LayerStore* layers) : rt_(rt), layers_(layers) {}
  void keep(int layer, const Tensor& tile) {
    if (layers_ == nullptr) return;
    finish();
    const auto saved = std::make_shared<std::vector<float>>();
    Buffer copy;
    const Tensor whole = contiguous(rt_, tile, copy);
    rt_.wait(Lane::copy, rt_.record(Lane::compute));
    rt_.submit(Lane::copy, Save{whole, saved});
    rt_.wait(Lane::compute, rt_.record(Lane::copy));
    rt_.wait(Lane::host, rt_.record(Lane::copy));
    kept_ = rt_.host(Lane::host, [=, rank = rt_.rank(), layers = layers_] {
      // A recording has no values, and some ranks have no columns.
      if (!saved->empty()) layers->put(rank, layer, *saved);
      return HostWork{"checkpoint", 1, tile.bytes(), 1};
    });
  }
  void finish() {
    if (kept_) rt_.join(*kept_);
    kept_.reset();
  }

 private:
  Runtime& rt_;
  LayerStore* layers_;
  std::optional<Task> kept_;  ///< being stored
};

/// Gives the rows of the last layer that this rank gets whole to the sink.
void put_away(Runtime& rt, const InferenceProblem& problem, TileProducts& products,
              const Tensor& last, std::int64_t width, EmbeddingSink* sink) {
  const TileLayout layout = problem.layout();
  const int rank = rt.rank(), part = layout.part_of(rank);
  Share vertices = layout.whole_rows(part, layout.column_of(rank));
  Buffer turned;
  Tensor whole = last;
  if (layout.column_parts > 1) {
    turned = Buffer(rt, {vertices.count, width}, DType::f32, "activations/whole rows");
    products.whole_rows(last, turned.tensor());
    whole = turned.tensor();
  } else {
    whole = contiguous(rt, last, turned);
  }
  vertices.first += layout.rows(part).first;
  const auto saved = std::make_shared<std::vector<float>>();
  rt.wait(Lane::copy, rt.record(Lane::compute));
  rt.submit(Lane::copy, Save{whole, saved});
  rt.wait(Lane::host, rt.record(Lane::copy));
  const Task kept = rt.host(Lane::host, [=] {
    // A recording has no values, and some ranks have no rows.
    if (sink != nullptr && !saved->empty()) sink->put(rank, vertices, width, *saved);
    return HostWork{"write_rows", 1, whole.bytes(), 1};
  });
  rt.join(kept);
  products.end();
}

LayerGraphs::Settings settings_of(const InferenceProblem& problem, std::optional<int> only_part,
                                  const std::function<void(std::vector<std::int64_t>&)>& add_up) {
  return {problem.model.layers,
          problem.config.fanout,
          problem.config.seed,
          only_part,
          add_up,
          lists_for(problem.config, weighs_edges(problem.model))};
}

}  // namespace

std::shared_ptr<const InferenceData> inference_data(const Dataset& data) {
  return std::make_shared<const InferenceData>(
      InferenceData{data.name, data.generated, data.edges(), all_rows(*data.graph, data.symmetric),
                    std::nullopt, data.features, data.labels.classes});
}

std::shared_ptr<const InferenceData> inference_data(const GraphStatistics& graph) {
  HeldRows vertices;
  vertices.vertices = graph.vertices;
  std::shared_ptr<const Features> features;
  if (graph.features > 0)
    features = std::make_shared<const CountedFeatures>(graph.vertices, graph.features);
  return std::make_shared<const InferenceData>(InferenceData{
      graph.name, false, graph.edges, std::move(vertices), graph, features, graph.classes});
}

std::shared_ptr<const LayerGraphs> make_graphs(
    const InferenceProblem& problem, std::optional<int> only_part,
    const std::function<void(std::vector<std::int64_t>&)>& add_up) {
  if (problem.data->statistics)
    return std::make_shared<const LayerGraphs>(*problem.data->statistics, problem.model,
                                               problem.layout(), settings_of(problem, {}, nullptr));
  return std::make_shared<const LayerGraphs>(problem.data->graph, problem.model, problem.layout(),
                                             settings_of(problem, only_part, add_up));
}

std::shared_ptr<const LayerGraphs> make_graphs(const InferenceProblem& problem,
                                               std::optional<int> only_part,
                                               LayerGraphs::Drawn drawn) {
  return std::make_shared<const LayerGraphs>(problem.data->graph, problem.model, problem.layout(),
                                             settings_of(problem, only_part, nullptr),
                                             std::move(drawn));
}

bool sums_first(const InferenceProblem& problem) {
  if (weighs_edges(problem.model) || problem.model.type == ModelType::resgcn) return false;
  const auto widths =
      widths_of(problem.model, problem.data->features->width(), problem.data->classes);
  return !transforms_first(order_of(problem.config, problem.model, 1), widths[0], widths[1]);
}

std::shared_ptr<const LocatedInput> locate_input(
    const InferenceProblem& problem, std::optional<int> only_part,
    const std::function<void(std::vector<std::int64_t>&)>& add_up) {
  if (!problem.data->feature_files || problem.config.preparation == Preparation::scan)
    return nullptr;
  return locate_input(problem.data->feature_files, *problem.graphs, problem.config,
                      sums_first(problem), only_part, add_up);
}

InferenceBody::InferenceBody(const InferenceProblem& problem, EmbeddingSink* sink,
                             LayerStore* layers)
    : problem_(problem), sink_(sink), layers_(layers) {
  require_layer_by_layer(problem.model);
  if (problem.config.rows > problem.data->vertices())
    throw ConfigError("inference.rows", fmt::format("{} parts of {} vertices", problem.config.rows,
                                                    problem.data->vertices()));
  if (!problem.data->features)
    throw ConfigError("dataset", "has no features, but an inference starts from features");
  if (problem.data->classes < 1)
    throw ConfigError("dataset",
                      "has no labels, so only weights say how many columns the last layer has: "
                      "name inference.weights");
}

void InferenceBody::run(Runtime& rt, RunObserver& observer, const RunControl& control) const {
  rt.phase({Stage::setup});
  TileProducts products(rt, *problem_.graphs, problem_.config, problem_.column_tiles);
  LayerStack stack(rt, products, *problem_.graphs, problem_.config, problem_.model,
                   problem_.train_seed, problem_.data->features->width(), problem_.data->classes,
                   problem_.weights.get());
  const int done = layers_ != nullptr ? layers_->layers_done() : 0;
  std::optional<LocatedRows> input;
  if (done == 0 && problem_.input)
    input.emplace(rt, *problem_.input, *problem_.graphs, problem_.data->features,
                  problem_.column_tiles);
  const bool fused = input && problem_.config.preparation == Preparation::fused;
  Buffer h;
  if (done > 0)
    h = load_layer(rt, problem_, *layers_, stack.width(done));
  else if (!input)
    h = load_features(rt, problem_);
  else if (!fused)
    h = redistributed(rt, *input);
  if (!fused) input.reset();
  products.begin_with(fused ? &*input : nullptr, sums_first(problem_));
  LayerKeeper keeper(rt, layers_);
  Tensor now = fused ? input->placeholder() : h.tensor();  // the activations, in h
  rt.sync(rt.record(Lane::compute));
  const int stages = control.epochs.value_or(epochs());
  for (int stage = done; stage < stages; ++stage) {
    const bool computes = stage < stack.layers();
    rt.phase({Stage::forward, stage, computes ? stage + 1 : -1});
    if (computes) {
      if (problem_.config.sum_columns > 0) {
        now = stack.forward_in_place(stage + 1, h);
      } else {
        Buffer next = stack.forward(stage + 1, now);
        h = std::move(next);
        now = h.tensor();
      }
      products.begin_with(nullptr, false);
      input.reset();
      keeper.keep(stage + 1, now);
    } else {
      keeper.finish();
      put_away(rt, problem_, products, now, stack.width(stack.layers()), sink_);
    }
    rt.sync(rt.record(Lane::compute));
    rt.phase({Stage::evaluate, stage});  // ends the stage's time
    const EpochReport report{stage, std::nullopt, std::nullopt, 0};
    if (!observer.epochs_done({&report, 1})) break;
  }
  keeper.finish();
}

}  // namespace orrery
