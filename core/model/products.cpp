#include "core/model/products.hpp"

#include "core/base/error.hpp"

namespace orrery {

const Edges& Products::edges(int) const {
  assertion_failed("these products have no edges to weigh", __FILE__, __LINE__);
}

void Products::transform(const Tensor& x, const Tensor& w, const Tensor& y, float beta) {
  rt_.submit(Lane::compute, Gemm{x, w, y, false, false, beta});
}

void Products::transform_adjoint(const Tensor& dy, const Tensor& w, const Tensor& dx, float beta) {
  rt_.submit(Lane::compute, Gemm{dy, w, dx, false, true, beta});
}

void Products::weight_gradient(const Tensor& x, const Tensor& dy, const Tensor& dw) {
  rt_.submit(Lane::compute, Gemm{x, dy, dw, true, false, 0});
}

}  // namespace orrery
