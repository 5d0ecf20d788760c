#include "core/model/relation/own_weights.hpp"

#include "core/base/index.hpp"

namespace orrery {
namespace {

Tensor part(const Tensor& x, const Products::Rows& rows) {
  return x.rows_at(rows.first, rows.count);
}

}  // namespace

std::int64_t rows_count(const std::vector<Products::Rows>& runs) {
  std::int64_t count = 0;
  for (const Products::Rows& run : runs) count += run.count;
  return count;
}

OwnWeights::OwnWeights(LayerContext& context, std::int64_t in, std::int64_t out, bool decays)
    : c_(context) {
  const auto add = [&](const std::string& name) {
    weights_.push_back(c_.parameters.add({in, out}, Parameters::glorot(in, out), decays, name));
  };
  if (c_.model->self_by_type)
    for (const std::string& type : c_.model->types) add("self." + type);
  else
    add("self");
}

template <class F>
void OwnWeights::for_each(int layer, const F& f) const {
  if (!c_.model->self_by_type)
    return f(weights_.front(), Products::Rows{0, c_.products->rows(layer)}, true);
  for (std::size_t type = 0; type < weights_.size(); ++type) {
    const auto& runs = c_.products->rows_of_type(layer, static_cast<int>(type));
    if (runs.empty()) f(weights_[type], Products::Rows{}, true);
    for (const Products::Rows& run : runs) f(weights_[type], run, &run == &runs.front());
  }
}

void OwnWeights::forward(int layer, const Tensor& x, const Tensor& y) const {
  for_each(layer, [&](int weight, const Products::Rows& rows, bool) {
    c_.products->transform(part(x, rows), c_.parameters.weight(weight), part(y, rows), 0);
  });
}

void OwnWeights::set_gradients(int layer, const Tensor& x, const Tensor& dy) const {
  for_each(layer, [&](int weight, const Products::Rows& rows, bool is_first) {
    c_.products->weight_gradient(part(x, rows), part(dy, rows), c_.parameters.gradient(weight),
                                 !is_first);
  });
}

void OwnWeights::backward(int layer, const Tensor& dy, const Tensor& dx) const {
  for_each(layer, [&](int weight, const Products::Rows& rows, bool) {
    c_.products->transform_adjoint(part(dy, rows), c_.parameters.weight(weight), part(dx, rows), 1);
  });
}

}  // namespace orrery
