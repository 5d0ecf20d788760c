#include "core/strategy/product/staged_broadcasts.hpp"

#include <algorithm>

#include "core/base/index.hpp"
#include "core/strategy/product/local_matrix.hpp"

namespace orrery {

int buffers_needed(int stages, int own) {
  std::array<bool, 2> used{};
  for (int s = 0; s < stages; ++s) used[at(s % 2)] |= s != own;
  return static_cast<int>(used[0]) + static_cast<int>(used[1]);
}

void StagedBroadcasts::prepare(std::int64_t max_width) {
  std::int64_t largest = 0;
  for (const Stage& stage : stages_) largest = std::max(largest, stage.rows);
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    Buffer& slot = received_[s % 2];
    if (!own(stages_[s]) && !slot)
      slot = Buffer(rt_, {largest, max_width}, DType::f32, "scratch/broadcast buffer");
  }
}

void StagedBroadcasts::multiply(const std::vector<LocalMatrix>& tiles, const Tensor& x,
                                const Tensor& y, float beta) {
  // A buffer is free once the second last product has read it; at first, once x is there.
  std::array<Event, 2> free{rt_.record(Lane::compute), rt_.record(Lane::compute)};
  rt_.begin_product(x.cols());
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    rt_.product_stage(static_cast<int>(s));
    const Stage& stage = stages_[s];
    const std::size_t slot = s % 2;
    const Tensor in = own(stage) ? x : received_[slot].view(stage.rows, x.cols());
    rt_.wait(Lane::comm, overlap_ ? free[slot] : rt_.record(Lane::compute));
    rt_.submit(Lane::comm, Broadcast{in, stage.root, group_});
    rt_.wait(Lane::compute, rt_.record(Lane::comm));
    tiles[s].multiply(rt_, in, y, s == 0 ? beta : 1.0F);
    free[slot] = rt_.record(Lane::compute);
  }
  rt_.end_product();
}

}  // namespace orrery
