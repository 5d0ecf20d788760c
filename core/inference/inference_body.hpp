// What every rank of an inference does: layer after layer of a trained network for all vertices, then
// whole rows of the last one to whoever keeps them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/graph/dataset.hpp"
#include "core/inference/layer_stack.hpp"
#include "core/inference/layout/inference_config.hpp"
#include "core/inference/located_rows.hpp"
#include "core/runtime/body.hpp"

namespace orrery {

/// Where the rows that an inference computes are put.
class EmbeddingSink {
 public:
  virtual ~EmbeddingSink() = default;
  /// Called once by every rank, on a thread of its own, with the vertices that it has whole rows of.
  ///
  /// Shapes    values [vertices, columns], row by row
  virtual void put(int rank, const Share& vertices, std::int64_t columns,
                   std::span<const float> values) = 0;
};

/// Where the tiles of finished layers are kept, so that an inference can go on from the last one.
class LayerStore {
 public:
  virtual ~LayerStore() = default;
  /// Layers, from the first, whose tiles all ranks that have one have put here before.
  virtual int layers_done() const = 0;
  /// Called by every rank whose tile is not empty, on a thread of its own, while its next layer is
  /// computed.
  ///
  /// Shapes    tile [rows of the rank's part, its columns], row by row
  virtual void put(int rank, int layer, std::span<const float> tile) = 0;
  /// The same again.
  virtual std::shared_ptr<const std::vector<float>> take(int rank, int layer,
                                                         std::int64_t elements) const = 0;
};

/// What an inference reads.
struct InferenceData {
  std::string name;
  bool generated = false;
  std::int64_t edges = 0;                       ///< as stored
  HeldRows graph;                               ///< with `statistics` the number of vertices alone
  std::optional<GraphStatistics> statistics{};  ///< where there are no edges
  std::shared_ptr<const Features> features;
  std::int64_t classes = 0;
  std::shared_ptr<const FeatureFiles> feature_files{};  ///< that `features` lie in; null: elsewhere

  std::int64_t vertices() const { return graph.vertices; }
};
/// Of a data set in memory, whose features it shares.
std::shared_ptr<const InferenceData> inference_data(const Dataset& data);
/// Of a graph that is given by its statistics: to be recorded, counted and simulated.
std::shared_ptr<const InferenceData> inference_data(const GraphStatistics& graph);

/// Everything that an inference fixes before its first operation, the same on all ranks.
struct InferenceProblem {
  std::shared_ptr<const InferenceData> data;
  ModelConfig model;
  std::uint64_t train_seed = 0;  ///< that weights start from where none are given
  InferenceConfig config;
  int column_tiles = 1;                           ///< of matrices on the device
  std::shared_ptr<const TrainedWeights> weights;  ///< null: as a training starts
  std::shared_ptr<const LayerGraphs> graphs;      ///< of this data, model and config
  /// Of features in files that ranks do not scan (locate_input()); null: a rank reads its tile.
  std::shared_ptr<const LocatedInput> input{};

  TileLayout layout() const { return {data->vertices(), config.rows, config.columns}; }
  int layers() const { return model.layers + model.dense_layers; }
};

/// Draws and counts what `problem` needs; `only_part` and `add_up` as LayerGraphs has them.
std::shared_ptr<const LayerGraphs> make_graphs(
    const InferenceProblem& problem, std::optional<int> only_part = std::nullopt,
    const std::function<void(std::vector<std::int64_t>&)>& add_up = nullptr);

/// Whether layer 1 begins with a sum over neighbours, and not with a product with weights.
bool sums_first(const InferenceProblem& problem);

/// Where the rows of features in files lie, and what of them travels; null where there are none, or where
/// every rank scans them. Of a problem with its graphs.
std::shared_ptr<const LocatedInput> locate_input(
    const InferenceProblem& problem, std::optional<int> only_part = std::nullopt,
    const std::function<void(std::vector<std::int64_t>&)>& add_up = nullptr);

/// An epoch is a stage: layer 1, 2, ..., and the output, in which rows become whole and are put away.
class InferenceBody final : public Body {
 public:
  /// `sink`: null where nobody keeps the rows. `layers`: null where no layer is kept; else the layers
  /// that it has are not computed again.
  ///
  /// Errors    ConfigError: a model that cannot be computed so, more parts than vertices, no features
  ///           or classes
  explicit InferenceBody(const InferenceProblem& problem, EmbeddingSink* sink = nullptr,
                         LayerStore* layers = nullptr);

  int ranks() const override { return problem_.layout().ranks(); }
  int epochs() const override { return problem_.layers() + 1; }
  /// No stage repeats another.
  int period() const override { return epochs(); }
  void run(Runtime& rt, RunObserver& observer, const RunControl& control = {}) const override;

 private:
  const InferenceProblem& problem_;
  EmbeddingSink* sink_;
  LayerStore* layers_;
};

}  // namespace orrery
