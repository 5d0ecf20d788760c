#include "core/runtime/execute/executor.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/runtime/execute/operation_failure.hpp"

namespace orrery {
namespace {

/// See Span::root.
int root_of(const Op& op) {
  return std::visit(
      []<class T>([[maybe_unused]] const T& o) {
        if constexpr (requires { o.root; })
          return o.root;
        else if constexpr (std::is_same_v<T, SendRecv>)
          return o.send ? o.to : -1;
        else
          return -1;
      },
      op);
}

/// For the first tensor that the op writes.
Shape written_shape(const Op& op) {
  for (const Operand& operand : operands_of(op))
    if (operand.access != Access::read) return operand.tensor.shape;
  return {};
}

}  // namespace

Executor::Executor(Options options, std::unique_ptr<RankDevice> own, RankDevice* device,
                   Communicator& communicator)
    : options_(options),
      own_(std::move(own)),
      device_(own_ ? *own_ : *device),
      communicator_(communicator),
      recorder_({options.rank, options.size, options.capacities, options.keep_steps}),
      memory_(options.guard_bytes, device_.storage(), communicator.server_storage()) {}

Executor::Executor(Options options, RankDevice& device, Communicator& communicator)
    : Executor(options, nullptr, &device, communicator) {}

Executor::Executor(Options options, KernelFactory make_kernels, Communicator& communicator)
    : Executor(options, std::make_unique<HostDevice>(std::move(make_kernels), options.origin),
               nullptr, communicator) {}

Executor::~Executor() {
  if (std::uncaught_exceptions() > 0) leave_early();
  await_all();
  communicator_.close_stores();  // also those that a program forgot: the memory is freed
  for (LaneState& state : lanes_) state.thread.reset();
}

void Executor::submit(Lane on, const Op& op) {
  recorder_.submit(on, op);
  use(on, op);
  if (options_.one_lane && moves_nothing(op))
    return enqueue(on, [](DeviceLane&) { return std::nullopt; });
  enqueue(on, [this, on, op, phase = recorder_.current_phase()](DeviceLane& work) {
    return run(work, on, op, phase);
  });
}

Event Executor::record(Lane on) {
  if (!options_.one_lane) lanes_[at(on)].event_recorded = true;
  return recorder_.record(on);
}

void Executor::wait(Lane on, Event event) {
  recorder_.wait(on, event);
  if (issued_to(on) == issued_to(event.lane))
    return enqueue(on, [](DeviceLane&) { return std::nullopt; });  // one after the other anyway
  LaneState& other = lane(event.lane);
  enqueue(on, [&other, place = place_of(event.lane, event.position)](DeviceLane& work) {
    other.thread->await(place);
    work.wait_for(*other.work, place);
    return std::nullopt;
  });
}

void Executor::sync(Event event) {
  recorder_.sync(event);
  await(event.lane, event.position);
  rethrow_failure();
}

Task Executor::host(Lane on, std::function<HostWork()> work) {
  const Task task = recorder_.place_task(on);
  enqueue(on, [this, on, task, work = std::move(work),
               phase = recorder_.current_phase()](DeviceLane& lane) {
    lane.begin_span(nullptr);
    HostWork done = work();
    const std::lock_guard lock(mutex_);
    task_work_[task.id] = std::move(done);
    return Span{on, "host", false, 0, phase, 0, 0, 0, 0};
  });
  task_events_[task.id] = recorder_.record(on);
  return task;
}

void Executor::join(Task task) {
  recorder_.join(task);
  const auto event = task_events_.extract(task.id);
  if (!event) return;  // it was joined before
  await(event.mapped().lane, event.mapped().position);
  rethrow_failure();
  const std::lock_guard lock(mutex_);
  recorder_.report_task(task, task_work_.extract(task.id).mapped());
}

std::optional<double> Executor::scalar(Lane on, const Tensor& tensor) {
  recorder_.scalar(on, tensor);
  await(on, recorder_.record(on).position);
  rethrow_failure();
  const auto first = [&]<class T>(T value) {
    Tensor element = tensor;
    element.shape = {1, 1};
    memory_.read(element, &value);
    return static_cast<double>(value);
  };
  switch (tensor.dtype) {
    case DType::f64:
      return first(double{});
    case DType::f32:
      return first(float{});
    case DType::i32:
      return first(std::int32_t{});
    case DType::f16:
      break;  // no scalar is one
  }
  return std::nullopt;
}

void Executor::phase(Phase phase) {
  recorder_.phase(phase);
  marks_.push_back({phase, now()});
}

void Executor::finish() {
  await_all();
  free_what_is_done();
  rethrow_failure();
}

Timeline Executor::take_timeline() {
  Timeline timeline{options_.rank, {}, std::exchange(marks_, {}), std::exchange(memory_marks_, {})};
  for (LaneState& state : lanes_) {
    if (!state.work) continue;
    const auto spans = state.work->take_spans();
    timeline.spans.insert(timeline.spans.end(), spans.begin(), spans.end());
  }
  std::stable_sort(timeline.spans.begin(), timeline.spans.end(),
                   [](const Span& a, const Span& b) { return a.begin < b.begin; });
  return timeline;
}

Lane Executor::issued_to(Lane on) const {
  const bool communicates = on == Lane::comm || on == Lane::comm2;
  return options_.one_lane && communicates ? Lane::compute : on;
}

std::uint32_t Executor::place_of(Lane on, std::uint32_t position) const {
  if (!options_.one_lane || position == 0) return position;
  return places_[at(on)][position - 1];
}

Executor::LaneState& Executor::lane(Lane logical) {
  const Lane on = issued_to(logical);
  LaneState& state = lanes_[at(on)];
  if (!state.thread) {
    state.work = device_.open_lane(on);
    const bool computes = on == Lane::compute, moves_data = !computes && on != Lane::sampler;
    state.thread = std::make_unique<LaneThread>(computes ? options_.kernel_threads : 1, moves_data);
  }
  return state;
}

void Executor::enqueue(Lane on, Item item) {
  LaneState& state = lane(on);
  if (options_.one_lane) places_[at(on)].push_back(++state.issued);
  const bool behind_event = std::exchange(state.event_recorded, false);
  state.thread->enqueue([this, &work = *state.work, behind_event, item = std::move(item)] {
    {
      const std::lock_guard lock(mutex_);
      if (failure_) return work.skip_item();
    }
    try {
      if (behind_event) work.pass_event();
      work.end_item(item(work));
    } catch (...) {
      work.skip_item();
      fail(std::current_exception());
    }
  });
}

Span Executor::run(DeviceLane& work, Lane on, const Op& op, const Phase& phase) {
  const auto group = group_of(op);
  Span span{on, kind_of(op), group.has_value(), 0, phase, 0, 0, flops_of(op), bytes_of(op)};
  ExchangeMeter meter{options_.placement, options_.rank};
  if (is_collective(op)) span.group = *group;
  span.root = root_of(op);
  span.shape = written_shape(op);
  work.begin_span(&op);
  as_operation(span.kind, phase, [&] {
    if (group)
      communicator_.run(on, op, memory_, phase, work.mover(), &meter);
    else
      work.kernels().run(op, memory_);
    // A pattern comes to the host.
    const auto* come = std::get_if<BroadcastSparse>(&op);
    if (come != nullptr && come->group.rank_of(come->root) != options_.rank)
      put(work, come->a, memory_.pattern(come->a), "a tile that came by");
  });
  if (group && options_.placement.crosses_servers(*group)) {
    const std::optional<double> measured = meter.time.external_share();
    span.external =
        measured ? *measured : external_share_of_bytes(op, options_.placement, options_.rank);
  }
  return span;
}

bool Executor::passed(Lane on, std::uint32_t position) {
  const LaneState& state = lanes_[at(issued_to(on))];
  const std::uint32_t place = place_of(on, position);
  return !state.thread || (state.thread->done() >= place && state.work->passed(place));
}

void Executor::await(Lane on, std::uint32_t position) {
  const LaneState& state = lanes_[at(issued_to(on))];
  if (!state.thread) return;
  const std::uint32_t place = place_of(on, position);
  state.thread->await(place);
  try {
    state.work->await(place);
  } catch (...) {
    fail(std::current_exception());
  }
}

void Executor::await_all() {
  for (int i = 0; i < kLanes; ++i) {
    const auto on = static_cast<Lane>(i);
    await(on, recorder_.record(on).position);
  }
}

void Executor::fail(std::exception_ptr error) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return;
    failure_ = std::move(error);
  }
  communicator_.abort("another rank failed");
}

/// A strategy leaves early (an exception): peers wait for it, and lanes wait for peers.
void Executor::leave_early() noexcept { fail(std::make_exception_ptr(Aborted("rank stopped"))); }

void Executor::rethrow_failure() {
  std::exception_ptr failure;
  {
    const std::lock_guard lock(mutex_);
    failure = failure_;
  }
  if (failure) std::rethrow_exception(failure);
}

double Executor::now() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - device_.origin()).count();
}

}  // namespace orrery
