#include "core/strategy/product/skipped_broadcasts.hpp"

#include "core/base/index.hpp"

namespace orrery {

SkippedBroadcasts::SkippedBroadcasts(Runtime& rt, double skip_below, int oldest)
    : rt_(rt),
      skip_below_(skip_below),
      oldest_(oldest),
      squares_(rt, {2 * std::int64_t{rt.size()}, 1}, DType::f32, "scratch/squares of rows") {}

const std::vector<bool>& SkippedBroadcasts::senders(int number, const Tensor& x) {
  const auto index = static_cast<std::size_t>(number);
  if (layers_.size() <= index) layers_.resize(index + 1);
  Layer& l = layers_[index];
  const bool first = !l.sent;
  if (first)
    l = {Buffer(rt_, x.shape, DType::f32, "halo/rows as they were sent"),
         std::vector<int>(static_cast<std::size_t>(rt_.size())),
         std::vector<bool>(static_cast<std::size_t>(rt_.size()))};
  else
    measure(l, x);
  for (int r = 0; r < rt_.size(); ++r) {
    const auto i = static_cast<std::size_t>(r);
    l.senders[i] = first || changed(r) || l.used_again[i] == oldest_;
    l.used_again[i] = l.senders[i] ? 0 : l.used_again[i] + 1;
  }
  if (l.senders[at(rt_.rank())]) rt_.submit(Lane::compute, Copy{x, l.sent.tensor()});
  return l.senders;
}

/// The squared norms of all ranks, on all ranks.
void SkippedBroadcasts::measure(const Layer& l, const Tensor& x) {
  const auto square_of = [&](const Tensor& of, int which) {
    const Tensor flat = of.reshaped({1, of.shape.size()});
    rt_.submit(Lane::compute, Gemm{flat, flat, square(rt_.rank(), which), false, true, 0});
  };
  rt_.submit(Lane::compute, Fill{squares_.tensor(), 0});
  if (x.rows() > 0) {
    const Buffer change(rt_, x.shape, DType::f32, "scratch/change of rows");
    rt_.submit(Lane::compute, Copy{x, change.tensor()});
    rt_.submit(Lane::compute, Copy{l.sent.tensor(), change.tensor(), -1, true});
    square_of(change.tensor(), 0);
    square_of(l.sent.tensor(), 1);
  }
  rt_.wait(Lane::comm, rt_.record(Lane::compute));
  rt_.submit(Lane::comm, AllReduce{squares_.tensor(), world_group(rt_.size())});
  rt_.wait(Lane::compute, rt_.record(Lane::comm));
}

bool SkippedBroadcasts::changed(int rank) {
  const auto change = rt_.scalar(Lane::comm, square(rank, 0)),
             sent = rt_.scalar(Lane::comm, square(rank, 1));
  return !change || *change >= skip_below_ * skip_below_ * *sent;
}

Tensor SkippedBroadcasts::square(int rank, int which) const {
  return squares_.tensor().rows_at(2 * rank + which, 1);
}

}  // namespace orrery
