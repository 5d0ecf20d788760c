// The predictions of a trained model for every vertex.
#pragma once

#include <memory>
#include <vector>

#include "core/runtime/body.hpp"
#include "core/strategy/strategy.hpp"

namespace orrery {

/// Rows by global vertex, in host memory.
struct Predicted {
  std::int64_t classes = 0, width = 0;  ///< columns of both
  std::vector<float> logits;            ///< [vertices, classes]
  std::vector<float> embeddings;        ///< [vertices, width]; see Network::embeddings
};

/// One exact forward pass over the whole graph (no dropout, running averages in a batch norm) with the
/// weights of a checkpoint; ranks are threads of one process, and each writes the rows of its own
/// vertices. Needs features; labels and split are not looked at beyond the width of the logits.
class PredictionBody final : public Body {
 public:
  /// `model`: as RunControl::start has it. `strategy` is one of whole-graph training whose ranks hold
  /// whole rows (full_graph). All of them outlive this.
  PredictionBody(const Strategy& strategy, const Problem& problem, const Checkpoint& model,
                 Predicted& result);

  int ranks() const override { return problem_.ranks(); }
  int epochs() const override { return 1; }
  /// Errors    ConfigError: weights of another model
  void run(Runtime& rt, RunObserver& observer, const RunControl& control = {}) const override;

 private:
  const Strategy& strategy_;
  const Problem& problem_;
  const Checkpoint& model_;
  Predicted& result_;
};

}  // namespace orrery
