#include "core/strategy/product/rank_products.hpp"

#include "core/base/error.hpp"

namespace orrery {

void RankProducts::load_features(std::int64_t first_column, const Tensor& features) {
  if (fill_features_) return fill_features_(features);
  rt_.submit(Lane::copy, Load{data().features(first_column), features});
}

Tensor RankProducts::whole_rows(const Tensor& x, std::int64_t width) {
  ORRERY_ASSERT(x.cols() == width);
  return x;
}

}  // namespace orrery
