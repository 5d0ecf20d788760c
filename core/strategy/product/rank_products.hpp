// The interface of one rank for the training loop: the place of its rows, its products, and sums
// over ranks.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "core/model/products.hpp"
#include "core/strategy/structure/index_list.hpp"
#include "core/strategy/structure/vertex_data.hpp"

namespace orrery {

struct PairRows;

/// The products of one rank on one structure: its placement, products across ranks and
/// synchronisation. Defaults are those of whole-graph training.
class RankProducts : public Products {
 public:
  /// Where the features, labels and split of the level-0 rows are.
  virtual VertexData data() const = 0;
  /// features ← those of the level-0 rows, beginning with a column, on the copy lane. Default:
  /// data() has them, or whoever was asked to fill them.
  ///
  /// Shapes    features [vertices, columns]
  virtual void load_features(std::int64_t first_column, const Tensor& features);
  /// From now on the default load_features() calls `fill`, which may use any lane; in the end the
  /// compute lane finds the features filled.
  void fill_features_by(std::function<void(const Tensor& features)> fill) {
    fill_features_ = std::move(fill);
  }
  using LearnFeatures = std::function<void(const Tensor& gradient, int epoch, int step)>;
  /// Takes a step on the features themselves, if they are learned. A collective; `step` counts from
  /// 1. Default: whoever was asked to take it.
  ///
  /// Shapes    gradient [rows(0), columns]
  virtual void learn_features(const Tensor& gradient, int epoch, int step) {
    learn_features_(gradient, epoch, step);
  }
  /// From now on the default learn_features() calls `learn`.
  void learn_features_by(LearnFeatures learn) { learn_features_ = std::move(learn); }
  /// Placement the global vertex of each level-0 row. The rows of the last level are this rank's
  ///           own vertices.
  virtual IndexList vertices() const = 0;
  /// The weight of each training vertex among the rows of the last level in the loss, in their
  /// order. Default, null: all count equally.
  virtual std::shared_ptr<const std::vector<float>> target_weights() const { return nullptr; }
  /// The rows of the pairs that the step of these products scores, where it trains on links in batches;
  /// null: LinkBatches::rows_of_step() has them.
  virtual std::shared_ptr<const PairRows> pairs() const { return nullptr; }
  /// Whole rows of an activation if this rank holds only some of its columns; else x itself. The
  /// caller may overwrite the result, which is valid until the next call.
  virtual Tensor whole_rows(const Tensor& x, std::int64_t width);
  /// The ranks over which gradients are summed: those that hold a share of each. Nothing: a rank
  /// keeps its own gradients. Default: the covering group.
  virtual std::optional<Group> gradient_group() const { return covering_group(); }
  /// The lane of the sums that end an epoch; nothing is under way on it then.
  virtual Lane metrics_lane() const { return Lane::comm; }
  /// Called when a forward pass begins: that of a step of the epoch (Stage::forward), or that of
  /// its evaluation, which is exact. Draws of an epoch, and rows that are kept from one epoch to
  /// the next, change here.
  virtual void begin(Stage /*stage*/, int /*epoch*/) {}

 protected:
  using Products::Products;

 private:
  std::function<void(const Tensor&)> fill_features_;
  LearnFeatures learn_features_;
};

}  // namespace orrery
