#include "core/strategy/train/gradient_buckets.hpp"

namespace orrery {

void GradientBuckets::ready_from(int parameter) {
  if (!group_ || bytes_ == 0) return;
  for (int first = end_ - 1; first >= parameter; --first) {
    if (open_from(first).bytes() < bytes_) continue;
    rt_.phase({Stage::synchronise, epoch_});
    send_from(first);
  }
}

void GradientBuckets::finish() {
  rt_.phase({Stage::synchronise, epoch_});
  if (!group_) return;
  if (end_ > 0) send_from(0);
  rt_.wait(Lane::compute, rt_.record(Lane::comm2));
}

void GradientBuckets::send_from(int first) {
  rt_.wait(Lane::comm2, rt_.record(Lane::compute));
  rt_.submit(Lane::comm2, AllReduce{open_from(first), *group_});
  end_ = first;
}

}  // namespace orrery
