// The work of every rank of an inference: layer after layer of a trained network for all vertices,
// then whole rows of the last layer for whoever keeps them.
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

/// The destination of the rows that an inference computes.
class EmbeddingSink {
 public:
  virtual ~EmbeddingSink() = default;
  /// Every rank calls it once, on a separate thread (its host lane), with the vertices whose whole
  /// rows it has.
  ///
  /// Shapes    values [vertices, columns], row by row
  virtual void put(int rank, const Share& vertices, std::int64_t columns,
                   std::span<const float> values) = 0;
};

/// Keeps the tiles of finished layers, so that an inference can continue from the last one.
class LayerStore {
 public:
  virtual ~LayerStore() = default;
  /// The number of layers, from the first, whose tiles have been put here by all ranks that have
  /// one.
  virtual int layers_done() const = 0;
  /// Every rank whose tile is not empty calls it, on a separate thread (its host lane), while its
  /// next layer is computed.
  ///
  /// Shapes    tile [rows of the rank's part, its columns], row by row
  virtual void put(int rank, int layer, std::span<const float> tile) = 0;
  /// The same again.
  virtual std::shared_ptr<const std::vector<float>> take(int rank, int layer,
                                                         std::int64_t elements) const = 0;
};

/// The input of an inference.
struct InferenceData {
  std::string name;
  bool generated = false;
  std::int64_t edges = 0;                       ///< as stored
  HeldRows graph;                               ///< with `statistics` only the number of vertices
  std::optional<GraphStatistics> statistics{};  ///< if there are no edges
  std::shared_ptr<const Features> features;
  std::int64_t classes = 0;
  /// that contains `features`; null: they lie elsewhere
  std::shared_ptr<const FeatureFiles> feature_files{};

  std::int64_t vertices() const { return graph.vertices; }
};
/// For a data set in memory, whose features it shares.
std::shared_ptr<const InferenceData> inference_data(const Dataset& data);
/// For a graph given by its statistics: to be recorded, counted and simulated.
std::shared_ptr<const InferenceData> inference_data(const GraphStatistics& graph);

/// Everything that an inference fixes before its first operation, the same on all ranks.
struct InferenceProblem {
  std::shared_ptr<const InferenceData> data;
  ModelConfig model;
  std::uint64_t train_seed = 0;  ///< weights start from it if none are given
  InferenceConfig config;
  int column_tiles = 1;                           ///< of matrices on the device
  std::shared_ptr<const TrainedWeights> weights;  ///< null: the weights of a new training
  std::shared_ptr<const LayerGraphs> graphs;      ///< of this data, model and config
  /// For features in files that ranks do not scan (locate_input()); null: a rank reads its tile.
  std::shared_ptr<const LocatedInput> input{};

  TileLayout layout() const { return {data->vertices(), config.rows, config.columns}; }
  int layers() const { return model.layers + model.dense_layers; }
};

/// Draws and counts what `problem` needs; `only_part` and `add_up` are those of LayerGraphs.
std::shared_ptr<const LayerGraphs> make_graphs(
    const InferenceProblem& problem, std::optional<int> only_part = std::nullopt,
    const std::function<void(std::vector<std::int64_t>&)>& add_up = nullptr);

/// The same with what drawn() of the graphs of such a problem gave, which then are not drawn again.
std::shared_ptr<const LayerGraphs> make_graphs(const InferenceProblem& problem,
                                               std::optional<int> only_part,
                                               LayerGraphs::Drawn drawn);

/// Whether layer 1 begins with a sum over neighbours instead of a product with weights.
bool sums_first(const InferenceProblem& problem);

/// The places of the rows of features in files, and which rows travel; null if there are none, or
/// if every rank scans them. For a problem with its graphs.
std::shared_ptr<const LocatedInput> locate_input(
    const InferenceProblem& problem, std::optional<int> only_part = std::nullopt,
    const std::function<void(std::vector<std::int64_t>&)>& add_up = nullptr);

/// An epoch is a stage: layer 1, 2, ..., and the output, in which rows become whole and are stored.
class InferenceBody final : public Body {
 public:
  /// `sink`: null if nobody keeps the rows. `layers`: null if no layer is kept; otherwise the
  /// layers that it has are not computed again.
  ///
  /// Errors    ConfigError: a model that cannot be computed this way, more parts than vertices, no
  ///           features
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
