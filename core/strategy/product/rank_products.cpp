#include "core/strategy/product/rank_products.hpp"

#include "core/base/error.hpp"

namespace orrery {

Tensor RankProducts::whole_rows(const Tensor& x, std::int64_t width) {
  ORRERY_ASSERT(x.cols() == width);
  return x;
}

void RankProducts::synchronise(const Tensor& gradients) {
  rt_.wait(Lane::comm2, rt_.record(Lane::compute));
  rt_.submit(Lane::comm2, AllReduce{gradients, covering_group()});
  rt_.wait(Lane::compute, rt_.record(Lane::comm2));
}

}  // namespace orrery
