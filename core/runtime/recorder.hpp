// The Runtime that only records: it validates, counts memory and keeps the steps, but computes
// nothing.
#pragma once

#include <array>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/index.hpp"
#include "core/runtime/ledger.hpp"
#include "core/runtime/program.hpp"
#include "core/runtime/runtime.hpp"

namespace orrery {

/// Records one rank. The Executor contains one, so ids, shape checks, memory and step lists of a
/// real run come from the same code as those of a recorded one.
class Recorder final : public Runtime {
 public:
  struct Options {
    int rank = 0, size = 1;
    Capacities capacities;
    bool keep_steps = true;  ///< false: only validate and count
  };
  explicit Recorder(Options options) : options_(options), ledger_(options.capacities) {}

  int rank() const override { return options_.rank; }
  int size() const override { return options_.size; }
  Tensor alloc(Shape shape, DType dtype, Space space, std::string_view name) override;
  void release(const Tensor& tensor) noexcept override;
  Sparse declare(Lane lane, Pattern pattern, std::string_view name) override;
  void release(const Sparse& sparse) noexcept override;
  void submit(Lane lane, const Op& op) override;
  Event record(Lane lane) override { return {lane, position(lane)}; }
  void wait(Lane lane, Event event) override;
  void sync(Event event) override;
  /// Runs the work at once: structure is real in every mode.
  Task host(Lane lane, std::function<HostWork()> work) override;
  void join(Task task) override;
  /// Always nothing.
  std::optional<double> scalar(Lane lane, const Tensor& tensor) override;
  void phase(Phase phase) override;
  void product(const ProductMark& mark) override;

  /// For the Executor, which runs the work itself: reserves the task's place now; its report comes
  /// when it is known.
  Task place_task(Lane lane);
  void report_task(Task task, const HostWork& work);

  const Phase& current_phase() const { return phase_; }
  const Ledger& ledger() const { return ledger_; }
  /// The steps so far with the peaks so far.
  Program program() const;

 private:
  struct Allocation {
    Tensor whole;
    std::string name;
    /// A second release is kept as a step, so that check() finds it, but counts once.
    bool held = true;
  };
  struct Declaration {
    Sparse sparse;
    std::string name;
    bool held = true;
  };
  std::uint32_t position(Lane lane) const { return positions_[at(lane)]; }
  void advance(Lane lane) { ++positions_[at(lane)]; }
  void keep(Step step);

  Options options_;
  Ledger ledger_;
  // By id. A long run makes ever more of them: only a program that is kept needs those that are over.
  std::unordered_map<std::uint32_t, Allocation> allocations_;
  std::unordered_map<std::uint32_t, Declaration> declarations_;
  std::unordered_map<std::uint32_t, std::size_t> task_steps_;
  std::uint32_t tensors_ = 0, sparses_ = 0, tasks_ = 0;  ///< so far
  std::array<std::uint32_t, kLanes> positions_{};
  Phase phase_;
  std::vector<Step> steps_;
};

}  // namespace orrery
