// Products on a device whose features are learned.
#pragma once

#include <utility>

#include "core/strategy/store/learned_rows.hpp"

namespace orrery {

/// `Products` whose feature rows come when their step begins, and not when they are loaded, because
/// the step before still learns then.
///
/// Placement activations: as Products; feature rows: with the owners of their vertices
template <class Products>
class WithLearnedRows final : public Products {
 public:
  /// `rows` must outlive the result; `arguments` are those of Products.
  template <class... Arguments>
  WithLearnedRows(Runtime& rt, RowExchange exchange, LearnedRows& rows, Arguments&&... arguments)
      : Products(rt, std::forward<Arguments>(arguments)...),
        runtime_(rt),
        numbers_(rt, std::move(exchange)),
        rows_(rows) {}

  void load_features(std::int64_t, const Tensor& features) override { features_ = features; }
  void begin(Stage, int epoch) override {
    runtime_.phase({Stage::load, epoch});
    rows_.bring(numbers_, features_);
  }
  void learn_features(const Tensor& gradient, int epoch, int step) override {
    rows_.learn(numbers_, gradient, epoch, step);
  }

 private:
  Runtime& runtime_;
  LearnedRows::Batch numbers_;
  LearnedRows& rows_;
  Tensor features_;
};

}  // namespace orrery
