// How much of the 1D product's communication is hidden by its computation, on the ranks of a job:
//   mpirun -n 4 build/experiments/bench/overlap_bench [DATASET] [WIDTH] [KERNELS]
// KERNELS: cpu, reference, or device:SECONDS. The last stands for an accelerator: a sparse product
// takes this long but none of the host's cores. (Where ranks share cores, messages and products
// compete for them, and overlap cannot save what both need.)
//
// The same product is run with and without overlap, alternating. Stage i broadcasts the rows of
// rank i (b_i) and multiplies them (s_i). The most that can be hidden is Σ_{i≥1} min(b_i, s_{i−1}),
// from the runs without overlap. Two shares of that bound are printed: the time that overlap saves
// of the whole product, and the time in which broadcasts were under way while products ran. All
// times are medians over repetitions of the mean over ranks; one JSON line at the end.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "backends/comm_mpi/comm_mpi.hpp"
#include "backends/cpu/cpu.hpp"
#include "backends/reference/reference.hpp"
#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#include "core/graph/read/load.hpp"
#include "core/partition/methods/cut.hpp"
#include "core/runtime/buffer.hpp"
#include "core/runtime/execute/executor.hpp"
#include "core/strategy/make_strategy.hpp"
#include "experiments/execute/median.hpp"

namespace orrery {
namespace {

constexpr int kRepetitions = 9;

/// See the head of this file.
class DeviceKernels final : public Kernels {
 public:
  explicit DeviceKernels(double seconds) : seconds_(seconds) {}
  std::string_view name() const override { return "device"; }
  void run(const Op& op, const RankMemory&) override {
    if (std::holds_alternative<SpMM>(op))
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds_));
  }

 private:
  double seconds_;
};

KernelFactory kernel_factory(const std::string& name) {
  if (name == "cpu") return make_cpu_kernels;
  if (name == "reference") return make_reference_kernels;
  if (name.rfind("device:", 0) != 0)
    throw ConfigError("KERNELS", name + ": expected cpu, reference or device:SECONDS");
  const double seconds = std::stod(name.substr(7));
  return [seconds] { return std::make_unique<DeviceKernels>(seconds); };
}

/// Seconds of one product on one rank.
struct Product {
  double whole = 0, hidden = 0;         ///< hidden: broadcasts under way while a product ran
  std::vector<double> broadcast, spmm;  ///< by stage
};

double overlap_of(const Span& a, const Span& b) {
  return std::max(0.0, std::min(a.end, b.end) - std::max(a.begin, b.begin));
}

Product measured(const Timeline& timeline) {
  Product p;
  double first = 1e300, last = 0;
  for (const Span& span : timeline.spans) {
    first = std::min(first, span.begin);
    last = std::max(last, span.end);
    const double seconds = span.end - span.begin;
    if (span.kind == "spmm") p.spmm.push_back(seconds);
    if (span.kind != "broadcast") continue;
    p.broadcast.push_back(seconds);
    for (const Span& other : timeline.spans)
      if (other.kind == "spmm") p.hidden += overlap_of(span, other);
  }
  p.whole = last - first;
  return p;
}

/// The 1D product on this rank, ready to run.
class Bench {
 public:
  Bench(MpiWorld& world, Communicator& communicator, const Problem& problem, std::int64_t width,
        const KernelFactory& kernels, int threads)
      : world_(world), rt_(options(world, threads), kernels, communicator) {
    plan_ = make_strategy(problem);
    strategy_ = plan_->load(rt_, plan_->prepare(rt_.rank()));
    strategy_->prepare(width, width);
    x_ = Buffer(rt_, {strategy_->rows(0), width}, DType::f32, "x");
    y_ = Buffer(rt_, {strategy_->rows(1), width}, DType::f32, "y");
    rt_.submit(Lane::compute, Fill{x_.tensor(), 1});
    run();
  }

  Product run() {
    rt_.finish();
    rt_.take_timeline();
    world_.any(false);  // all start together
    strategy_->aggregate(1, x_.tensor(), y_.tensor(), 0);
    rt_.sync(rt_.record(Lane::compute));
    rt_.finish();
    return measured(rt_.take_timeline());
  }

 private:
  static Executor::Options options(const MpiWorld& world, int threads) {
    Executor::Options o;
    o.rank = world.rank();
    o.size = world.size();
    o.placement = world.placement();
    o.kernel_threads = threads;
    return o;
  }
  MpiWorld& world_;
  Executor rt_;
  std::unique_ptr<Strategy> plan_;
  std::unique_ptr<RankProducts> strategy_;
  Buffer x_, y_;
};

double mean_over_ranks(MpiWorld& world, double mine) {
  std::string bytes(sizeof mine, '\0');
  std::memcpy(bytes.data(), &mine, sizeof mine);
  double sum = 0;
  for (const std::string& one : world.all_gather(bytes)) {
    double value = 0;
    std::memcpy(&value, one.data(), sizeof value);
    sum += value;
  }
  return sum / world.size();
}

template <class Part>
double median_of(MpiWorld& world, const std::vector<Product>& runs, const Part& part) {
  std::vector<double> means;
  for (const Product& run : runs) means.push_back(mean_over_ranks(world, part(run)));
  return median(means);
}

void bench(MpiWorld& world, Communicator& communicator, const std::string& dataset,
           std::int64_t width, const std::string& kernels) {
  const ThreadPool pool(available_cores());
  DatasetOptions options;
  options.path = dataset;
  options.symmetric = true;
  Problem problem;
  problem.data = std::make_shared<const Dataset>(load_dataset(options));
  problem.strategy.type = "spmm_1d";
  problem.partition = partition_graph(*problem.data->graph, world.size(), {"random", "", 1});
  Problem serial = problem;
  serial.strategy.overlap = false;
  const auto factory = kernel_factory(kernels);
  const int threads = std::max(1, available_cores() / world.size());
  Bench off(world, communicator, serial, width, factory, threads);
  Bench on(world, communicator, problem, width, factory, threads);
  std::vector<Product> without, with;
  for (int i = 0; i < kRepetitions; ++i) {
    without.push_back(off.run());
    with.push_back(on.run());
  }

  std::vector<double> b, s;
  double bound = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(world.size()); ++i) {
    b.push_back(median_of(world, without, [i](const Product& p) { return p.broadcast[i]; }));
    s.push_back(median_of(world, without, [i](const Product& p) { return p.spmm[i]; }));
    if (i > 0) bound += std::min(b[i], s[i - 1]);
  }
  const auto whole = [](const Product& p) { return p.whole; };
  const double serial_seconds = median_of(world, without, whole),
               overlapped_seconds = median_of(world, with, whole);
  const double hidden = median_of(world, with, [](const Product& p) { return p.hidden; });
  if (world.rank() != 0) return;
  fmt::print(
      "{{\"dataset\":\"{}\",\"width\":{},\"kernels\":\"{}\",\"ranks\":{},\"servers\":{},"
      "\"broadcast_seconds\":[{:.5f}],\"product_seconds\":[{:.5f}],\"serial_seconds\":{:.5f},"
      "\"overlapped_seconds\":{:.5f},\"can_be_hidden_seconds\":{:.5f},\"saved_seconds\":{:.5f},"
      "\"saved_share\":{:.3f},\"hidden_seconds\":{:.5f},\"hidden_share\":{:.3f}}}\n",
      problem.data->name, width, kernels, world.size(), world.placement().servers(),
      fmt::join(b, ","), fmt::join(s, ","), serial_seconds, overlapped_seconds, bound,
      serial_seconds - overlapped_seconds, (serial_seconds - overlapped_seconds) / bound, hidden,
      hidden / bound);
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
  const std::string dataset = argc > 1 ? argv[1] : "ogbn-arxiv";
  const std::int64_t width = argc > 2 ? std::stoll(argv[2]) : 128;
  const std::string kernels = argc > 3 ? argv[3] : "cpu";
  orrery::MpiWorld world({});
  world.run([&](orrery::Communicator& communicator) {
    orrery::bench(world, communicator, dataset, width, kernels);
  });
}
