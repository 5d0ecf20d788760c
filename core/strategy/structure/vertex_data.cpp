#include "core/strategy/structure/vertex_data.hpp"

#include "core/base/index.hpp"

namespace orrery {

Source VertexData::features(std::int64_t first_column) const {
  if (!data_) return Unknown{"features"};
  return FeatureRows{data_->features, rows_.numbers(), first_column};
}

Source VertexData::labels(std::int64_t count) const {
  if (!data_) return Unknown{"labels"};
  const auto& rows = *rows_.numbers();
  auto first = std::make_shared<const std::vector<Vertex>>(rows.begin(), rows.begin() + count);
  return LabelRows{std::shared_ptr<const Labels>(data_, &data_->labels), std::move(first)};
}

Source VertexData::class_weights(const IndexList& targets, const std::vector<float>& weight,
                                 const std::vector<float>* beside) const {
  if (!data_) return Unknown{"values"};
  auto values = std::make_shared<std::vector<float>>();
  for (std::size_t i = 0; i < targets.numbers()->size(); ++i) {
    const Vertex vertex = (*rows_.numbers())[at((*targets.numbers())[i])];
    values->push_back(weight[at(data_->labels.values[at(vertex)])] *
                      (beside != nullptr ? (*beside)[i] : 1.0F));
  }
  return FloatArray{std::move(values)};
}

VertexData VertexData::of(const std::vector<Vertex>& rows) const {
  auto chosen = std::make_shared<std::vector<Vertex>>();
  chosen->reserve(rows.size());
  for (const Vertex row : rows) chosen->push_back((*rows_.numbers())[at(row)]);
  return {data_, std::move(chosen)};
}

VertexData VertexData::magnified(std::int64_t own, std::int64_t times) const {
  SplitCounts counts{};
  for (const Split split : {Split::train, Split::validation, Split::test})
    counts[at(split)] = times * targets(split, own).size();
  return {times * vertices(), times * own, counts};
}

IndexList VertexData::targets(Split split, std::int64_t count) const {
  if (!data_) {
    ORRERY_ASSERT(count == own_);
    return IndexList::counted(splits_.at(static_cast<std::size_t>(split)));
  }
  const auto& rows = *rows_.numbers();
  auto targets = std::make_shared<std::vector<Vertex>>();
  for (std::int64_t i = 0; i < count; ++i)
    if (data_->split[at(rows[at(i)])] == split) targets->push_back(static_cast<Vertex>(i));
  return IndexList(std::move(targets));
}

}  // namespace orrery
