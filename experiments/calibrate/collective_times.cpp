#include "experiments/calibrate/collective_times.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>

#include "core/base/index.hpp"
#include "core/runtime/execute/short_turns.hpp"
#include "experiments/calibrate/time_ops.hpp"

namespace orrery::calibrate {
namespace {

constexpr int kBuffers = 4;
constexpr int kRounds = 3;
constexpr std::int64_t kSmallBytes = 1024;  // what moves in a latency

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
    add(kBetweenBytes / 4);
    add(1);
  }

  /// The median of calls.
  double time(int repetitions, const std::function<Op(int call)>& op) const {
    std::vector<double> seconds;
    for (int i = 0; i < kBuffers + repetitions; ++i) {
      const Op call = op(i);
      compute(call);
      run(AllReduce{small(), all_});  // ranks begin together
      const double took = run(call);
      if (i >= kBuffers) seconds.push_back(took);  // before, memory is new
    }
    return median(std::move(seconds));
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
  /// Writes what a call sends, as kernels do before a collective, after other memory: what it receives into
  /// was used long ago. What a peer has read before lies in its caches, too, and would arrive several times
  /// as fast.
  void compute(const Op& call) const {
    if (from(0).bytes() > kSmallBytes) write(tensors_[2 * kBuffers]);
    for (const Operand& operand : operands_of(call))
      if (operand.access != Access::write) write(operand.tensor);
  }
  void write(const Tensor& t) const {
    device_.storage().set(Space::device, memory_.bytes_at(t), 0, t.bytes());
  }
  double run(const Op& op) const {
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

CollectiveTimes combined(CollectiveTimes a, const CollectiveTimes& b,
                         const double& (*of)(const double&, const double&)) {
  const auto take = [&](double& mine, double theirs) { mine = of(mine, theirs); };
  take(a.small_exchange_seconds, b.small_exchange_seconds);
  take(a.small_all_reduce_seconds, b.small_all_reduce_seconds);
  take(a.broadcast_seconds, b.broadcast_seconds);
  for (const auto list : {&CollectiveTimes::sizes, &CollectiveTimes::left_out})
    for (std::size_t i = 0; i < (a.*list).size(); ++i) {
      take((a.*list)[i].exchange_seconds, (b.*list)[i].exchange_seconds);
      take((a.*list)[i].all_reduce_seconds, (b.*list)[i].all_reduce_seconds);
    }
  return a;
}

CollectiveTimes time_once(Communicator& communicator, RankDevice& device, int rank, int ranks,
                          std::int64_t bytes, int repetitions, bool by_size) {
  const std::int64_t largest = bytes / 4;
  // Each size has tensors of its own, as in a training: large ones lie on other pages than short ones.
  // They are there for their calls alone, as a GPU has room for one set.
  const auto operands = [&](std::int64_t floats) {
    return CollectiveOperands(communicator, device, ranks, floats);
  };
  const auto exchange = [&](std::int64_t floats, int calls) {
    std::vector<std::int64_t> counts(at(ranks), floats);
    counts[at(rank)] = 0;
    const auto rows = std::make_shared<const std::vector<std::int64_t>>(std::move(counts));
    const auto of = operands(floats * std::max(1, ranks - 1));
    return of.time(calls, [&](int call) {
      return AllToAllV{of.from(call), of.to(call), rows, rows, of.all()};
    });
  };
  const auto all_reduce = [&](std::int64_t floats, int calls) {
    const auto of = operands(floats);
    return of.time(calls, [&](int call) { return AllReduce{of.to(call), of.all()}; });
  };
  const auto broadcast = [&](std::int64_t floats, int calls) {
    const auto of = operands(floats);
    return of.time(calls, [&](int call) { return Broadcast{of.to(call), 0, of.all()}; });
  };
  const auto sized = [&](std::int64_t divisor) {
    const std::int64_t floats = std::max<std::int64_t>(1, largest / divisor);
    const int calls = (divisor > 1 ? 4 : 1) * repetitions;
    return CollectiveTimes::Sized{static_cast<double>(4 * floats), exchange(floats, calls),
                                  all_reduce(floats, calls)};
  };

  CollectiveTimes times;
  times.small_exchange_seconds = exchange(1, 20 * repetitions);
  times.small_all_reduce_seconds = all_reduce(1, 20 * repetitions);
  times.broadcast_seconds = broadcast(largest, repetitions);
  if (!by_size) return times;
  for (const int divisor : {256, 32, 4, 1}) times.sizes.push_back(sized(divisor));
  for (const int divisor : {64, 8}) times.left_out.push_back(sized(divisor));
  return times;
}

}  // namespace

CollectiveTimes slower(const CollectiveTimes& a, const CollectiveTimes& b) {
  return combined(a, b, std::max<double>);
}
CollectiveTimes faster(const CollectiveTimes& a, const CollectiveTimes& b) {
  return combined(a, b, std::min<double>);
}

CollectiveTimes time_collectives(Communicator& communicator, RankDevice& device, int rank,
                                 int ranks, std::int64_t bytes, int repetitions, bool by_size) {
  ask_for_short_turns();  // as the lanes of a rank
  const auto round = [&] {
    return time_once(communicator, device, rank, ranks, bytes, repetitions, by_size);
  };
  CollectiveTimes least = round();
  for (int i = 1; i < kRounds; ++i) least = faster(least, round());
  return least;
}

}  // namespace orrery::calibrate
