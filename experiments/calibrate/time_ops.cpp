#include "experiments/calibrate/time_ops.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>

#include "backends/cpu/cpu.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"

namespace orrery::calibrate {
namespace {

/// Calls that another program disturbed are repeated, up to this many times.
constexpr int kAttempts = 4;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The shared state of the ranks of a team.
struct Shared {
  explicit Shared(int ranks) : meet(ranks), seconds(static_cast<std::size_t>(ranks)) {}
  std::barrier<> meet;
  std::vector<double> seconds;  // of the case under way, by rank
  std::atomic<int> finished{0};
  int calls = 1;
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::exception_ptr error;
};

/// One rank of a team.
class Timer {
 public:
  Timer(Shared& shared, const Team& team, const TimingOptions& options, int rank)
      : shared_(shared),
        team_(team),
        options_(options),
        rank_(rank),
        workspace_(options.workspace_bytes),
        pool_(team.threads),
        kernels_(make_cpu_kernels()) {}

  /// False when a rank failed.
  bool time(const BuildOps& build) {
    std::vector<Op> ops;
    try {
      workspace_.clear();
      ops = build(workspace_, rank_);
      const double once = warm_up(ops);
      if (rank_ == 0)
        shared_.calls = std::clamp(static_cast<int>(options_.round_seconds / std::max(once, 1e-9)),
                                   1, options_.most_calls);
    } catch (...) {
      fail();
    }
    shared_.finished = 0;
    shared_.meet.arrive_and_wait();
    if (shared_.failed) return false;
    double least = std::numeric_limits<double>::infinity();
    for (int round = 0; round < options_.rounds; ++round)
      least = std::min(least, median_of_calls(ops, shared_.calls));
    shared_.seconds[at(rank_)] = least;
    for (++shared_.finished; shared_.finished < team_.ranks;) median_of_calls(ops, 1);
    shared_.meet.arrive_and_wait();
    return true;
  }

 private:
  /// Every operand is touched once; the seconds of the fastest call.
  double warm_up(const std::vector<Op>& ops) {
    double least = std::numeric_limits<double>::infinity();
    for (const Op& op : ops) {
      validate(op);
      const double begin = now();
      kernels_->run(op, workspace_.memory());
      least = std::min(least, now() - begin);
    }
    return least;
  }

  /// How often the system has taken the core from a thread of this rank for another program.
  long preemptions() const {
    rusage usage{};
    ::getrusage(team_.threads == 1 ? RUSAGE_THREAD : RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
  }

  void refresh(const Op& op) {
    if (const auto input = fresh_input(op)) kernels_->run(Fill{*input, 0.5}, workspace_.memory());
  }

  double median_of_calls(const std::vector<Op>& ops, int calls) {
    std::vector<double> undisturbed, all;
    while (static_cast<int>(undisturbed.size()) < calls &&
           static_cast<int>(all.size()) < kAttempts * calls) {
      const Op& op = ops[next_++ % ops.size()];
      refresh(op);
      const long before = preemptions();
      const double begin = now();
      kernels_->run(op, workspace_.memory());
      all.push_back(now() - begin);
      if (preemptions() == before) undisturbed.push_back(all.back());
    }
    return median(undisturbed.empty() ? std::move(all) : std::move(undisturbed));
  }

  void fail() {
    const std::lock_guard lock(shared_.mutex);
    if (!shared_.error) shared_.error = std::current_exception();
    shared_.failed = true;
  }

  Shared& shared_;
  const Team team_;
  const TimingOptions& options_;
  int rank_;
  Workspace workspace_;
  ThreadPool pool_;
  std::unique_ptr<Kernels> kernels_;
  std::size_t next_ = 0;
};

}  // namespace

std::optional<Tensor> fresh_input(const Op& op) {
  if (const auto* product = std::get_if<Gemm>(&op))
    return product->transpose_a ? product->b : product->a;
  for (const Operand& o : operands_of(op))
    if (o.tensor.dtype == DType::f32 &&
        (o.name == "x" || o.name == "dy" || o.name == "logits" || o.name == "g" ||
         o.name == "gradient" || (o.name == "weights" && o.access == Access::update)))
      return o.tensor;
  return std::nullopt;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<double> time_ops(const Team& team, const std::vector<BuildOps>& cases,
                             const TimingOptions& options,
                             const std::function<void(std::size_t done)>& done) {
  Shared shared(team.ranks);
  std::vector<double> seconds(cases.size());
  const auto rank_body = [&](int rank) {
    Timer timer(shared, team, options, rank);
    for (std::size_t i = 0; i < cases.size() && timer.time(cases[i]); ++i) {
      if (rank != 0) continue;
      double sum = 0;
      for (const double one : shared.seconds) sum += one;
      seconds[i] = sum / team.ranks;
      done(i + 1);
    }
  };
  std::vector<std::thread> ranks;
  for (int r = 0; r < team.ranks; ++r) ranks.emplace_back(rank_body, r);
  for (std::thread& rank : ranks) rank.join();
  if (shared.error) std::rethrow_exception(shared.error);
  return seconds;
}

}  // namespace orrery::calibrate
