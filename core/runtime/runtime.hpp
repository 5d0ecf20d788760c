// The only door between a strategy and a machine. A strategy is ordinary SPMD code against this
// interface. A Runtime either executes the calls (Executor) or records them (Recorder), and the
// strategy cannot tell which.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ops/ops.hpp"
#include "core/ops/tensor.hpp"

namespace orrery {

/// A point in a lane: it has passed when the first `position` items issued to the lane are done.
/// Rank-local.
struct Event {
  Lane lane = Lane::compute;
  std::uint32_t position = 0;
  bool operator==(const Event&) const = default;
};

/// Work given to a host lane (sampling, slicing); read its results only after join().
struct Task {
  std::uint32_t id = 0;
  bool operator==(const Task&) const = default;
};

/// What a host task reports about itself, for its price in a simulation: {"sample", edges drawn,
/// bytes touched, threads}.
struct HostWork {
  std::string kind;
  std::int64_t items = 0, bytes = 0;
  int threads = 1;
  std::vector<HostWork> more{};  ///< of the same task, behind it
  bool operator==(const HostWork&) const = default;
};

/// The owner of the following steps. Times, volumes and timelines are split by it.
enum class Stage : std::uint8_t {
  setup,
  load,
  sample,
  forward,
  backward,
  synchronise,
  update,
  evaluate
};
std::string_view name_of(Stage stage);

struct Phase {
  Stage stage = Stage::setup;
  /// −1 outside epochs; evaluation carries its epoch but is outside the epoch time.
  std::int32_t epoch = -1;
  std::int32_t layer = -1;  ///< −1: it belongs to no layer
  /// Setup and evaluation are not part of an epoch's time or volume.
  bool in_epoch() const { return epoch >= 0 && stage != Stage::evaluate && stage != Stage::setup; }
  bool operator==(const Phase&) const = default;
};
std::string to_string(const Phase& phase);  // "epoch 3 forward layer 1"

/// Marks the operations of one product with a matrix that is spread over the ranks: a beginning,
/// stages, an end. The computation of a stage needs what the same stage brings (or, in a product
/// that `sums`, sends away what it has computed). Stages are numbered from 0, and a stage may be
/// issued in several pieces.
struct ProductMark {
  enum class At : std::uint8_t { begin, stage, end };
  At at = At::begin;
  std::int64_t width = 0;  ///< begin: columns that are multiplied, over all ranks
  bool sums = false;       ///< begin: partial results travel, not operands
  int stage = 0;
  bool operator==(const ProductMark&) const = default;
};

/// One rank's machine.
///
/// Calls return at once. Work of one lane is done in order; work of different lanes runs
/// concurrently unless a wait() orders it. Two accesses to the same elements from two lanes, one of
/// them a write, without such an order are a race. check() finds it without running anything.
///
/// Placement tensors: on this rank; only operations that communicate reach those of others
class Runtime {
 public:
  virtual ~Runtime() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// A new tensor with undefined contents, 64-byte aligned. `name` is "class/detail"; memory
  /// reports are by class.
  ///
  /// Errors    OutOfMemory naming it
  virtual Tensor alloc(Shape shape, DType dtype, Space space, std::string_view name) = 0;
  /// Frees the allocation after the work issued so far; later work must not use it. Any window of
  /// it will do.
  virtual void release(const Tensor& tensor) noexcept = 0;

  /// Puts a sparse pattern on the device: memory at once, the copy in `lane` order.
  virtual Sparse declare(Lane lane, Pattern pattern, std::string_view name) = 0;
  virtual void release(const Sparse& sparse) noexcept = 0;

  /// Asynchronous; in order within the lane.
  ///
  /// Errors    ShapeError
  virtual void submit(Lane lane, const Op& op) = 0;

  /// The point after everything issued to the lane so far.
  virtual Event record(Lane lane) = 0;
  /// The lane continues only after the event; the host does not wait.
  virtual void wait(Lane lane, Event event) = 0;
  /// The host waits for the event.
  virtual void sync(Event event) = 0;

  /// Runs `work` in a host lane (host, sampler, store) and returns at once.
  virtual Task host(Lane lane, std::function<HostWork()> work) = 0;
  /// The host waits for the task; this is the only way to read its result.
  virtual void join(Task task) = 0;

  /// Element 0 of a tensor after the work issued so far in `lane`; nothing if there are no values
  /// (a recorder).
  virtual std::optional<double> scalar(Lane lane, const Tensor& tensor) = 0;

  virtual void phase(Phase phase) = 0;
  /// Changes nothing; a mark for those who analyse the program.
  virtual void product(const ProductMark& mark) = 0;

  void begin_product(std::int64_t width, bool sums = false) {
    product({ProductMark::At::begin, width, sums, 0});
  }
  void product_stage(int stage) { product({ProductMark::At::stage, 0, false, stage}); }
  void end_product() { product({ProductMark::At::end, 0, false, 0}); }
};

}  // namespace orrery
