#include "core/strategy/product/staged_reduces.hpp"

#include <algorithm>

#include "core/base/index.hpp"
#include "core/strategy/product/local_matrix.hpp"

namespace orrery {

void StagedReduces::prepare(std::int64_t max_width) {
  const std::int64_t largest = *std::max_element(rows_.begin(), rows_.end());
  for (int k = 0; k < rt_.size(); ++k) {
    Buffer& slot = partial_[at(k % 2)];
    if (k != rt_.rank() && !slot)
      slot = Buffer(rt_, {largest, max_width}, DType::f32, "scratch/reduce buffer");
  }
}

void StagedReduces::multiply(const std::vector<LocalMatrix>& tiles, const Tensor& x,
                             const Tensor& y, float beta) {
  const Group world = world_group(rt_.size());
  // A buffer is free once the second last sum has left it.
  std::array<Event, 2> free;
  rt_.begin_product(x.cols(), true);
  for (int k = 0; k < world.size; ++k) {
    rt_.product_stage(k);
    const auto slot = static_cast<std::size_t>(k % 2);
    const bool own = k == rt_.rank();
    const Tensor out = own ? y : partial_[slot].view(rows_[at(k)], x.cols());
    if (k >= 2 || !overlap_)
      rt_.wait(Lane::compute, overlap_ ? free[slot] : rt_.record(Lane::comm));
    tiles[at(k)].multiply(rt_, x, out, own ? beta : 0);
    rt_.wait(Lane::comm, rt_.record(Lane::compute));
    rt_.submit(Lane::comm, Reduce{out, k, world});
    free[slot] = rt_.record(Lane::comm);
  }
  rt_.end_product();
  rt_.wait(Lane::compute, rt_.record(Lane::comm));
}

}  // namespace orrery
