#include "core/strategy/product/sparse_features.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/model/layer_type.hpp"
#include "core/strategy/product/local_matrix.hpp"
#include "core/strategy/structure/problem.hpp"

namespace orrery {
namespace {

/// Rows that are read at once, as dense ones.
constexpr std::size_t kRowsRead = 256;

/// The first `count` of the given rows, zeros left out.
SparseMatrix first_rows(const FeatureRows& features, std::int64_t width, std::int64_t count) {
  RowBuilder sparse(count, width);
  const std::span<const Vertex> vertices(features.vertices->data(), at(count));
  std::vector<float> dense(kRowsRead * at(width));
  for (std::size_t first = 0; first < vertices.size(); first += kRowsRead) {
    const auto some = vertices.subspan(first, std::min(kRowsRead, vertices.size() - first));
    features.features->read(some, 0, width, dense.data(), width);
    for (std::size_t i = 0; i < some.size(); ++i) {
      const float* row = dense.data() + i * at(width);
      for (std::int64_t c = 0; c < width; ++c)
        if (row[c] != 0) sparse.add(static_cast<Vertex>(c), row[c]);
      sparse.end_row();
    }
  }
  return sparse.finish();
}

}  // namespace

void require_possible_sparse_input(const Problem& problem) {
  const ModelConfig& model = problem.model;
  if (!model.sparse_input) return;
  const auto refuse = [](const std::string& why) {
    throw ConfigError("model.sparse_input", why + ": set it to false");
  };
  const DataFacts facts = problem.facts();
  const std::int64_t out = model.layers + model.dense_layers == 1 ? facts.classes : model.hidden;
  if (model.type == ModelType::resgcn || model.type == ModelType::sgc ||
      !layer_of(model).sparse_input)
    refuse("is for gcn and sage, and layers from outside that say so");
  if (model.dropout > 0)
    refuse(
        "excludes model.dropout, which would also drop elements of the "
        "input");
  if (problem.statistics) refuse("needs the features, but statistics have only their width");
  if (const StrategyInfo& strategy = info_of(problem.strategy); strategy.splits_columns)
    refuse(fmt::format("needs whole rows on a rank, and {} splits them by columns", strategy.name));
  if (!transforms_first(model.order, facts.features, out))
    refuse(
        fmt::format("is for features that are multiplied by W first, but these ({} wide) are "
                    "aggregated before they become {} wide",
                    facts.features, out));
}

SparseFeatures::SparseFeatures(Runtime& rt, const Source& features, std::int64_t width,
                               const std::set<std::int64_t>& counts)
    : rt_(rt) {
  const auto* known = std::get_if<FeatureRows>(&features);
  if (known == nullptr) throw NeedsStructure("model.sparse_input needs the features");
  for (const std::int64_t count : counts) {
    const SparseMatrix block = first_rows(*known, width, count);
    rows_.emplace(count, Rows{LocalMatrix(rt, block, 1, "features"),
                              LocalMatrix(rt, transpose(block), 1, "features transposed")});
  }
}

void SparseFeatures::multiply(const Tensor& w, const Tensor& y, float beta) const {
  rows_.at(y.rows()).matrix.multiply(rt_, w, y, beta);
}

void SparseFeatures::weight_gradient(const Tensor& dy, const Tensor& dw) const {
  rows_.at(dy.rows()).transposed.multiply(rt_, dy, dw, 0);
}

}  // namespace orrery
