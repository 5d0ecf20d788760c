#include "core/model/products.hpp"

#include "core/base/error.hpp"

namespace orrery {

namespace {

[[noreturn]] void not_of_these() {
  assertion_failed("a layer asks for edges in a form that these products do not have", __FILE__,
                   __LINE__);
}

}  // namespace

const Edges& Products::edges(int) const { not_of_these(); }
void Products::gather_for_sources(int, const Tensor&, const Tensor&) { not_of_these(); }
void Products::sum_for_sources(int, const Tensor&, const Tensor&) { not_of_these(); }
void Products::weigh_sources(int, const Tensor&, const Tensor&, const Tensor&) { not_of_these(); }
void Products::weigh_sources_adjoint(int, const Tensor&, const Tensor&, const Tensor&,
                                     const Tensor&, const Tensor&) {
  not_of_these();
}

const std::vector<Products::Rows>& Products::rows_of_type(int, int) const { not_of_these(); }
const std::vector<Products::Rows>& Products::rows_of_relation(int, int) const { not_of_these(); }
Products::RelationEdges Products::relation_edges(int, int) const { not_of_these(); }
void Products::aggregate_relation(int, int, const Tensor&, const Tensor&, float) { not_of_these(); }
void Products::aggregate_relation_adjoint(int, int, const Tensor&, const Tensor&, float) {
  not_of_these();
}

void Products::transform(const Tensor& x, const Tensor& w, const Tensor& y, float beta) {
  rt_.submit(Lane::compute, Gemm{x, w, y, false, false, beta});
}

void Products::transform_adjoint(const Tensor& dy, const Tensor& w, const Tensor& dx, float beta) {
  rt_.submit(Lane::compute, Gemm{dy, w, dx, false, true, beta});
}

void Products::weight_gradient(const Tensor& x, const Tensor& dy, const Tensor& dw, bool adds) {
  rt_.submit(Lane::compute, Gemm{x, dy, dw, true, false, adds ? 1.0F : 0.0F});
}

}  // namespace orrery
