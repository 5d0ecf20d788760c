#include "core/strategy/product/cached_broadcasts.hpp"

#include <algorithm>
#include <numeric>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/strategy/product/local_matrix.hpp"

namespace orrery {

void CachedBroadcasts::multiply(int layer, const std::vector<bool>& senders,
                                const std::vector<LocalMatrix>& tiles, const Tensor& x,
                                const Tensor& y, float beta) {
  const auto sends = [](bool it) { return it; };
  ORRERY_ASSERT(std::all_of(senders.begin(), senders.end(), sends) ||
                static_cast<std::size_t>(layer) < cached_.size());
  const Buffer& cached = cache(layer, x.cols());
  // Every block has its own place, so all may travel once x is there and the last product is done.
  if (std::any_of(senders.begin(), senders.end(), sends))
    rt_.wait(Lane::comm, rt_.record(Lane::compute));
  std::int64_t first = 0;
  rt_.begin_product(x.cols());
  for (int r = 0; r < rt_.size(); ++r) {
    rt_.product_stage(r);
    const auto i = static_cast<std::size_t>(r);
    const bool own = r == rt_.rank();
    const Tensor in = own ? x : cached.tensor().rows_at(first, rows_[i]);
    if (!own) first += rows_[i];
    if (senders[i]) {
      if (!overlap_) rt_.wait(Lane::comm, rt_.record(Lane::compute));
      rt_.submit(Lane::comm, Broadcast{in, r, world_group(rt_.size())});
      rt_.wait(Lane::compute, rt_.record(Lane::comm));
    }
    tiles[i].multiply(rt_, in, y, r == 0 ? beta : 1.0F);
  }
  rt_.end_product();
}

const Buffer& CachedBroadcasts::cache(int layer, std::int64_t width) {
  const auto l = static_cast<std::size_t>(layer);
  if (cached_.size() <= l) cached_.resize(l + 1);
  const std::int64_t others =
      std::accumulate(rows_.begin(), rows_.end(), std::int64_t{0}) - rows_[at(rt_.rank())];
  if (!cached_[l]) cached_[l] = Buffer(rt_, {others, width}, DType::f32, "halo/historical rows");
  return cached_[l];
}

}  // namespace orrery
