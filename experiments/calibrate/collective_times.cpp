#include "experiments/calibrate/collective_times.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <memory>

#include "core/base/index.hpp"
#include "core/runtime/execute/short_turns.hpp"
#include "experiments/calibrate/time_ops.hpp"

namespace orrery::calibrate {
namespace {

constexpr int kBuffers = 4;
constexpr int kRounds = 3;

/// The operands of one rank.
class CollectiveOperands {
 public:
  CollectiveOperands(Communicator& communicator, RankDevice& device, int ranks, std::int64_t floats)
      : communicator_(communicator),
        device_(device),
        all_(world_group(ranks)),
        lane_(device.open_lane(Lane::comm)),
        memory_(0, device.storage()) {
    for (int i = 0; i < 2 * kBuffers; ++i) add(floats);
    add(1);
  }

  /// The smallest of the medians of rounds of calls.
  double time(int repetitions, const std::function<Op(int call)>& op) {
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kBuffers; ++i) run(op(i));
    for (int round = 0; round < kRounds; ++round) {
      std::vector<double> seconds;
      for (int i = 0; i < repetitions; ++i) seconds.push_back(run(op(i)));
      least = std::min(least, median(std::move(seconds)));
    }
    return least;
  }

  const Tensor& from(int call) const { return tensors_[at(call % kBuffers)]; }
  const Tensor& to(int call) const { return tensors_[at(kBuffers + call % kBuffers)]; }
  const Tensor& small() const { return tensors_.back(); }
  const Group& all() const { return all_; }

 private:
  void add(std::int64_t floats) {
    const Tensor t{
        .id = static_cast<std::uint32_t>(tensors_.size()), .shape = {floats, 1}, .ld = 1};
    memory_.allocate(t.id, t.bytes());
    device_.storage().set(Space::device, memory_.bytes_at(t), 0, t.bytes());
    tensors_.push_back(t);
  }
  double run(const Op& op) {
    const auto begin = std::chrono::steady_clock::now();
    communicator_.run(Lane::comm, op, memory_, {}, lane_->mover());
    lane_->mover().settle();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  Communicator& communicator_;
  RankDevice& device_;
  Group all_;
  std::unique_ptr<DeviceLane> lane_;
  RankMemory memory_;
  std::vector<Tensor> tensors_;
};

}  // namespace

CollectiveTimes time_collectives(Communicator& communicator, RankDevice& device, int rank,
                                 int ranks, std::int64_t bytes, int repetitions) {
  const std::int64_t part = bytes / 4, floats = part * std::max(1, ranks - 1);
  ask_for_short_turns();  // as the lanes of a rank
  CollectiveOperands bench(communicator, device, ranks, floats);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(ranks), part);
  counts[at(rank)] = 0;
  const auto rows = std::make_shared<const std::vector<std::int64_t>>(std::move(counts));
  const auto first = [&](const Tensor& t) { return t.rows_at(0, part * (ranks - 1)); };
  const auto one = [&](const Tensor& t) { return t.rows_at(0, part); };
  std::vector<std::int64_t> ones(static_cast<std::size_t>(ranks), 1);
  ones[at(rank)] = 0;
  const auto one_each = std::make_shared<const std::vector<std::int64_t>>(std::move(ones));
  const auto few = [&](const Tensor& t) { return t.rows_at(0, ranks - 1); };
  const int small = 20 * repetitions;

  CollectiveTimes times;
  times.small_exchange_seconds = bench.time(small, [&](int call) {
    return AllToAllV{few(bench.from(call)), few(bench.to(call)), one_each, one_each, bench.all()};
  });
  times.small_all_reduce_seconds = bench.time(small, [&](int) {
    return AllReduce{bench.small(), bench.all()};
  });
  times.exchange_bytes = static_cast<double>(bytes) * (ranks - 1);
  times.exchange_seconds = bench.time(repetitions, [&](int call) {
    return AllToAllV{first(bench.from(call)), first(bench.to(call)), rows, rows, bench.all()};
  });
  times.broadcast_seconds = bench.time(repetitions, [&](int call) {
    return Broadcast{one(bench.to(call)), 0, bench.all()};
  });
  times.all_reduce_bytes = static_cast<double>(bytes);
  times.all_reduce_seconds = bench.time(repetitions, [&](int call) {
    return AllReduce{one(bench.to(call)), bench.all()};
  });
  const std::int64_t some = std::max<std::int64_t>(1, part / 16);
  std::vector<std::int64_t> parts(static_cast<std::size_t>(ranks), some);
  parts[at(rank)] = 0;
  const auto part_each = std::make_shared<const std::vector<std::int64_t>>(std::move(parts));
  const auto of_all = [&](const Tensor& t) { return t.rows_at(0, some * (ranks - 1)); };
  times.part_bytes = static_cast<double>(4 * some);
  times.part_exchange_seconds = bench.time(4 * repetitions, [&](int call) {
    return AllToAllV{of_all(bench.from(call)), of_all(bench.to(call)), part_each, part_each,
                     bench.all()};
  });
  times.part_all_reduce_seconds = bench.time(4 * repetitions, [&](int call) {
    return AllReduce{bench.to(call).rows_at(0, some), bench.all()};
  });
  return times;
}

}  // namespace orrery::calibrate
