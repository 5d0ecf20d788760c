#include "core/strategy/train/step_data.hpp"

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/model/layer_type.hpp"

namespace orrery {

StepData::StepData(Runtime& rt, std::unique_ptr<RankProducts> products, const ModelConfig& model,
                   const DataFacts& facts, bool labelled, const std::vector<float>& class_weights)
    : products_(std::move(products)) {
  const VertexData data = products_->data();
  const auto [first_column, columns] = products_->columns(facts.features);
  if (model.sparse_input) {
    std::set<std::int64_t> counts{products_->inputs(1)};
    if (layer_of(model).own_rows) counts.insert(products_->rows(1));
    sparse_features_.emplace(rt, data.features(first_column), columns, counts);
  } else {
    features_ = Buffer(rt, {data.vertices(), columns}, DType::f32, "features");
    products_->load_features(first_column, features_.tensor());
  }

  if (!labelled) return;
  const std::int64_t own = products_->rows(model.layers);
  labels_ = Buffer(rt, {own, facts.multilabel ? facts.classes : 1}, DType::i32, "labels");
  rt.submit(Lane::copy, Load{data.labels(own), labels_.tensor()});

  IndexList training;
  for (const Split split : {Split::train, Split::validation, Split::test}) {
    const IndexList targets = data.targets(split, own);
    if (split == Split::train) training = targets;
    Buffer& rows = targets_[at(split)];
    rows = Buffer(rt, {targets.size(), 1}, DType::i32, "indices/targets");
    rt.submit(Lane::copy, Load{targets.source(), rows.tensor()});
  }
  const auto weights = products_->target_weights();
  ORRERY_ASSERT(!weights || std::ssize(*weights) == training.size());
  if (!weights && class_weights.empty()) return;
  target_weights_ =
      Buffer(rt, targets(Split::train).shape, DType::f32, "labels/weights of targets");
  rt.submit(Lane::copy,
            Load{class_weights.empty() ? Source(FloatArray{weights})
                                       : data.class_weights(training, class_weights, weights.get()),
                 target_weights_.tensor()});
}

}  // namespace orrery
