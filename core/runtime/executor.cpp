#include "core/runtime/executor.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/error.hpp"

namespace orrery {

Executor::Executor(Options options, KernelFactory make_kernels, Communicator& communicator)
    : options_(options),
      make_kernels_(std::move(make_kernels)),
      communicator_(communicator),
      recorder_({options.rank, options.size, options.capacities, options.keep_steps}),
      memory_(options.guard_bytes) {}

Executor::~Executor() {
  // A strategy that leaves early (an exception) leaves peers waiting and lanes waiting for peers.
  if (std::uncaught_exceptions() > 0) fail(std::make_exception_ptr(Aborted("rank stopped")));
  for (LaneState& state : lanes_)
    if (state.thread)
      state.thread->await(recorder_.record(static_cast<Lane>(&state - lanes_.data())).position);
  for (LaneState& state : lanes_) state.thread.reset();
}

Tensor Executor::alloc(Shape shape, DType dtype, Space space, std::string_view name) {
  free_what_is_done();
  const Tensor t = recorder_.alloc(shape, dtype, space, name);
  try {
    memory_.allocate(t.id, t.bytes());
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(std::string(name), t.bytes(), memory_.bytes_in_use(), kUnlimited);
  }
  mark_memory();
  return t;
}

void Executor::release(const Tensor& tensor) noexcept {
  recorder_.release(tensor);
  mark_memory();
  free_later([this, id = tensor.id] {
    const bool whole = memory_.free(id);
    ORRERY_ASSERT(whole && "a kernel wrote outside its tensor");
  });
}

Sparse Executor::declare(Lane on, Pattern pattern, std::string_view name) {
  const Sparse s = recorder_.declare(on, pattern, name);
  if (const auto* csr = std::get_if<std::shared_ptr<const Csr>>(&pattern))
    memory_.add_sparse(s.id, *csr);
  else
    memory_.add_sparse_room(s.id, std::get<Counts>(pattern));
  enqueue(on, [] {});
  mark_memory();
  return s;
}

void Executor::release(const Sparse& sparse) noexcept {
  recorder_.release(sparse);
  mark_memory();
  free_later([this, id = sparse.id] { memory_.remove_sparse(id); });
}

void Executor::submit(Lane on, const Op& op) {
  recorder_.submit(on, op);
  LaneState& state = lane(on);
  enqueue(on,
          [this, &state, on, op, phase = recorder_.current_phase()] { run(state, on, op, phase); });
}

void Executor::wait(Lane on, Event event) {
  recorder_.wait(on, event);
  LaneThread& other = *lane(event.lane).thread;
  enqueue(on, [&other, event] { other.await(event.position); });
}

void Executor::sync(Event event) {
  recorder_.sync(event);
  lane(event.lane).thread->await(event.position);
  rethrow_failure();
}

Task Executor::host(Lane on, std::function<HostWork()> work) {
  const Task task = recorder_.place_task(on);
  task_work_.resize(task.id + 1);
  LaneState& state = lane(on);
  enqueue(on, [this, &state, on, task, work = std::move(work), phase = recorder_.current_phase()] {
    Span span{on, "host", false, false, phase, now(), 0, 0, 0};
    HostWork done = work();
    span.end = now();
    state.spans.push_back(span);
    const std::lock_guard lock(mutex_);
    task_work_[task.id] = std::move(done);
  });
  task_events_.push_back(recorder_.record(on));
  return task;
}

void Executor::join(Task task) {
  recorder_.join(task);
  const Event event = task_events_[task.id];
  lane(event.lane).thread->await(event.position);
  rethrow_failure();
  const std::lock_guard lock(mutex_);
  recorder_.report_task(task, task_work_[task.id]);
}

std::optional<double> Executor::scalar(Lane on, const Tensor& tensor) {
  recorder_.scalar(on, tensor);
  lane(on).thread->await(recorder_.record(on).position);
  rethrow_failure();
  switch (tensor.dtype) {
    case DType::f64:
      return *memory_.data<double>(tensor);
    case DType::f32:
      return *memory_.data<float>(tensor);
    case DType::i32:
      return *memory_.data<std::int32_t>(tensor);
  }
  return std::nullopt;
}

void Executor::phase(Phase phase) {
  recorder_.phase(phase);
  marks_.push_back({phase, now()});
}

void Executor::finish() {
  for (int i = 0; i < kLanes; ++i) {
    const auto on = static_cast<Lane>(i);
    if (lanes_[static_cast<std::size_t>(i)].thread)
      lane(on).thread->await(recorder_.record(on).position);
  }
  free_what_is_done();
  rethrow_failure();
}

Timeline Executor::take_timeline() {
  Timeline timeline{options_.rank, {}, std::exchange(marks_, {}), std::exchange(memory_marks_, {})};
  for (LaneState& state : lanes_) {
    timeline.spans.insert(timeline.spans.end(), state.spans.begin(), state.spans.end());
    state.spans.clear();
  }
  std::sort(timeline.spans.begin(), timeline.spans.end(),
            [](const Span& a, const Span& b) { return a.begin < b.begin; });
  return timeline;
}

Executor::LaneState& Executor::lane(Lane on) {
  LaneState& state = lanes_[static_cast<std::size_t>(on)];
  if (!state.thread) {
    state.kernels = make_kernels_();
    const bool computes = on == Lane::compute;
    state.thread = std::make_unique<LaneThread>(computes ? options_.kernel_threads : 1, !computes);
  }
  return state;
}

void Executor::enqueue(Lane on, std::function<void()> item) {
  lane(on).thread->enqueue([this, item = std::move(item)] {
    {
      const std::lock_guard lock(mutex_);
      if (failure_) return;
    }
    try {
      item();
    } catch (...) {
      fail(std::current_exception());
    }
  });
}

void Executor::run(LaneState& state, Lane on, const Op& op, const Phase& phase) {
  const auto group = group_of(op);
  Span span{on, kind_of(op), group.has_value(), false, phase, now(), 0, flops_of(op), bytes_of(op)};
  if (group) span.crosses_servers = options_.placement.crosses_servers(*group);
  try {
    if (group)
      communicator_.run(on, op, memory_, phase);
    else
      state.kernels->run(op, memory_);
  } catch (const Aborted&) {
    throw;
  } catch (Error& error) {
    error.add_context(fmt::format("in {}, {}", kind_of(op), to_string(phase)));
    throw;
  }
  span.end = now();
  state.spans.push_back(span);
}

void Executor::free_later(std::function<void()> free) {
  PendingFree pending{std::move(free), {}};
  for (int i = 0; i < kLanes; ++i)
    pending.after[static_cast<std::size_t>(i)] = recorder_.record(static_cast<Lane>(i)).position;
  pending_frees_.push_back(std::move(pending));
  free_what_is_done();
}

void Executor::free_what_is_done() {
  std::erase_if(pending_frees_, [this](const PendingFree& pending) {
    for (std::size_t i = 0; i < lanes_.size(); ++i)
      if (lanes_[i].thread && lanes_[i].thread->done() < pending.after[i]) return false;
    pending.free();
    return true;
  });
}

void Executor::mark_memory() {
  const std::int64_t bytes = recorder_.ledger().in_use(Space::device);
  if (memory_marks_.empty() || memory_marks_.back().device_bytes != bytes)
    memory_marks_.push_back({now(), bytes});
}

void Executor::fail(std::exception_ptr error) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return;
    failure_ = std::move(error);
  }
  communicator_.abort("another rank failed");
}

void Executor::rethrow_failure() {
  std::exception_ptr failure;
  {
    const std::lock_guard lock(mutex_);
    failure = failure_;
  }
  if (failure) std::rethrow_exception(failure);
}

double Executor::now() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - options_.origin).count();
}

}  // namespace orrery
