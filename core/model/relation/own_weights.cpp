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

OwnWeights::OwnWeights(LayerContext& context, std::int64_t in, std::int64_t out, bool decays,
                       bool by_type, const std::string& name)
    : c_(context), by_type_(by_type) {
  const auto add = [&](const std::string& of) {
    weights_.push_back(c_.parameters.add({in, out}, Parameters::glorot(in, out), decays, of));
  };
  if (by_type_)
    for (const std::string& type : c_.model->types) add(name + "." + type);
  else
    add(name);
}

template <class F>
void OwnWeights::for_each(int level, const F& f) const {
  if (!by_type_) return f(weights_.front(), Products::Rows{0, c_.products->rows(level)}, true);
  for (std::size_t type = 0; type < weights_.size(); ++type) {
    const auto& runs = c_.products->rows_of_type(level, static_cast<int>(type));
    if (runs.empty()) f(weights_[type], Products::Rows{}, true);
    for (const Products::Rows& run : runs) f(weights_[type], run, &run == &runs.front());
  }
}

void OwnWeights::forward(int level, const Tensor& x, const Tensor& y) const {
  for_each(level, [&](int weight, const Products::Rows& rows, bool) {
    c_.products->transform(part(x, rows), c_.parameters.weight(weight), part(y, rows), 0);
  });
}

void OwnWeights::set_gradients(int level, const Tensor& x, const Tensor& dy) const {
  for_each(level, [&](int weight, const Products::Rows& rows, bool is_first) {
    c_.products->weight_gradient(part(x, rows), part(dy, rows), c_.parameters.gradient(weight),
                                 !is_first);
  });
}

void OwnWeights::backward(int level, const Tensor& dy, const Tensor& dx, float beta) const {
  for_each(level, [&](int weight, const Products::Rows& rows, bool) {
    c_.products->transform_adjoint(part(dy, rows), c_.parameters.weight(weight), part(dx, rows),
                                   beta);
  });
}

}  // namespace orrery
