// What the training loop asks of one rank: where its rows lie, what it multiplies, what is summed
// over ranks.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "core/model/products.hpp"
#include "core/strategy/structure/index_list.hpp"
#include "core/strategy/structure/vertex_data.hpp"

namespace orrery {

/// The products of one rank of a strategy on one structure: its placement, products across ranks
/// and synchronisation. The default answers are those of whole-graph training.
class RankProducts : public Products {
 public:
  /// Where the features, labels and split of the level-0 rows lie.
  virtual VertexData data() const = 0;
  /// features ← those of the level-0 rows, from a column on, on the copy lane. Default: data() has
  /// them, or who was told to.
  ///
  /// Shapes    features [vertices, columns]
  virtual void load_features(std::int64_t first_column, const Tensor& features);
  /// From here on the default load_features() leaves it to `fill`, in the lane that suits it: the
  /// compute lane finds them filled in the end.
  void fill_features_by(std::function<void(const Tensor& features)> fill) {
    fill_features_ = std::move(fill);
  }
  /// Takes a step on the features themselves, where they are learned. A collective; `step` counts
  /// from 1.
  ///
  /// Shapes    gradient [rows(0), columns]
  virtual void learn_features(const Tensor& /*gradient*/, int /*epoch*/, int /*step*/) {}
  /// Placement the global vertex of each level-0 row. The rows of the last level are this rank's
  ///           own vertices.
  virtual IndexList vertices() const = 0;
  /// How much the loss of each training vertex among the rows of the last level counts, in their
  /// order. Default, null: all alike.
  virtual std::shared_ptr<const std::vector<float>> target_weights() const { return nullptr; }
  /// Whole rows of an activation, where this rank holds some of its columns; else x itself. The
  /// result is this rank's to overwrite, until the next call.
  virtual Tensor whole_rows(const Tensor& x, std::int64_t width);
  /// Over which ranks gradients are summed: those that hold a share of each. Nothing: a rank's
  /// gradients are its own. Default: the covering group.
  virtual std::optional<Group> gradient_group() const { return covering_group(); }
  /// The lane of the sums that end an epoch: one on which nothing is under way then.
  virtual Lane metrics_lane() const { return Lane::comm; }
  /// A forward pass begins: of a step of the epoch (Stage::forward), or of its evaluation, which is
  /// exact. What the structure itself draws or keeps from epoch to epoch changes here.
  virtual void begin(Stage /*stage*/, int /*epoch*/) {}

 protected:
  using Products::Products;

 private:
  std::function<void(const Tensor&)> fill_features_;
};

}  // namespace orrery
