#include "core/model/convolution.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/model/make_fit.hpp"

namespace orrery {

void Convolution::allocate() {
  if (transform_first() || aggregates_both() || inexact()) return;
  make_fit(c_.rt, aggregated_, {rows_out(), local(in_)},
           fmt::format("activations/aggregated input of layer {}", layer_));
}

void Convolution::transform(const Tensor& x, const Tensor& w, const Tensor& y, float beta) const {
  if (sparse()) return c_.sparse_input->multiply(w, y, beta);
  c_.products->transform(x.rows_at(0, y.rows()), w, y, beta);
}

void Convolution::weight_gradient(const Tensor& x, const Tensor& dy, const Tensor& dw) const {
  if (sparse()) return c_.sparse_input->weight_gradient(dy, dw);
  c_.products->weight_gradient(x.rows_at(0, dy.rows()), dy, dw);
}

/// In slabs of columns, so that the products' buffers need not be as wide as the input.
void Convolution::keep_aggregated(const Tensor& x, const Buffer& slab) {
  const Tensor whole = aggregated();
  const std::int64_t step = std::max<std::int64_t>(1, std::min(in_, out_));
  if (step >= in_) return c_.products->aggregate(layer_, x, whole, 0);
  for (std::int64_t first = 0; first < in_; first += step) {
    const std::int64_t width = std::min(step, in_ - first);
    const Tensor from = c_.scratch.view(rows_in(), width), to = slab.view(rows_out(), width);
    c_.rt.submit(Lane::compute, Copy{x.cols_at(first, width), from});
    c_.products->aggregate(layer_, from, to, 0);
    c_.rt.submit(Lane::compute, Copy{to, whole.cols_at(first, width)});
  }
}

}  // namespace orrery
