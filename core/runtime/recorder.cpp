#include "core/runtime/recorder.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/graph/reuse.hpp"
#include "core/graph/skew.hpp"

namespace orrery {
namespace {

/// An operation as a program keeps it: without the arrays that it loads, which would stay in memory
/// as long as the program.
Op without_arrays(Op op) {
  if (auto* load = std::get_if<Load>(&op)) {
    if (auto* from = std::get_if<IndexArray>(&load->from)) from->values.reset();
    if (auto* from = std::get_if<FloatArray>(&load->from)) from->values.reset();
    if (auto* from = std::get_if<FeatureRows>(&load->from)) from->vertices.reset();
    if (auto* from = std::get_if<LabelRows>(&load->from)) from->vertices.reset();
  }
  return op;
}

}  // namespace

Tensor Recorder::alloc(Shape shape, DType dtype, Space space, std::string_view name) {
  ORRERY_ASSERT(shape.rows >= 0 && shape.cols >= 0);
  Tensor t{tensors_, shape, dtype, space, 0, shape.cols};
  ledger_.take(space, t.bytes(), name);
  allocations_[tensors_++] = {t, std::string(name), true};
  keep(AllocStep{t, std::string(name)});
  return t;
}

void Recorder::release(const Tensor& tensor) noexcept {
  const auto found = allocations_.find(tensor.id);
  if (found == allocations_.end()) return;
  Allocation& allocation = found->second;
  if (std::exchange(allocation.held, false))
    ledger_.give(allocation.whole.space, allocation.whole.bytes(), allocation.name);
  keep(ReleaseStep{allocation.whole});
  if (!options_.keep_steps) allocations_.erase(found);
}

Sparse Recorder::declare(Lane lane, Pattern pattern, std::string_view name) {
  Sparse s{sparses_, {}, 0};
  if (const auto* csr = std::get_if<std::shared_ptr<const Csr>>(&pattern)) {
    s.shape = {(*csr)->rows, (*csr)->cols};
    s.nnz = (*csr)->nnz();
    if (options_.keep_steps) {  // they cost a look at every entry, and only prices need them
      s.skew = row_skew(**csr);
      s.reuse = static_cast<float>(column_reuse(**csr));
    }
  } else {
    const auto& counts = std::get<Counts>(pattern);
    s.shape = {counts.rows, counts.cols};
    s.nnz = counts.nnz;
    s.skew = static_cast<float>(counts.skew);
    if (counts.look && options_.keep_steps) {
      const Csr made = (*counts.look)();
      s.skew = row_skew(made);
      s.reuse = static_cast<float>(column_reuse(made));
    }
  }
  ledger_.take(Space::device, s.bytes(), name);
  declarations_[sparses_++] = {s, std::string(name), true};
  advance(lane);
  keep(DeclareStep{lane, s, std::string(name)});
  return s;
}

void Recorder::release(const Sparse& sparse) noexcept {
  const auto found = declarations_.find(sparse.id);
  if (found == declarations_.end()) return;
  Declaration& declaration = found->second;
  if (std::exchange(declaration.held, false))
    ledger_.give(Space::device, declaration.sparse.bytes(), declaration.name);
  keep(ReleaseSparseStep{declaration.sparse});
  if (!options_.keep_steps) declarations_.erase(found);
}

void Recorder::submit(Lane lane, const Op& op) {
  validate(op);
  advance(lane);
  if (options_.keep_steps) keep(SubmitStep{lane, without_arrays(op)});
}

void Recorder::wait(Lane lane, Event event) {
  advance(lane);
  keep(WaitStep{lane, event});
}

void Recorder::sync(Event event) { keep(SyncStep{event}); }

Task Recorder::host(Lane lane, std::function<HostWork()> work) {
  const Task task = place_task(lane);
  report_task(task, work());
  return task;
}

void Recorder::join(Task task) { keep(JoinStep{task}); }

std::optional<double> Recorder::scalar(Lane lane, const Tensor& tensor) {
  keep(ScalarStep{lane, tensor});
  return std::nullopt;
}

void Recorder::phase(Phase phase) {
  phase_ = phase;
  keep(PhaseStep{phase});
}

void Recorder::product(const ProductMark& mark) { keep(ProductStep{mark}); }

Task Recorder::place_task(Lane lane) {
  const Task task{tasks_++};
  if (options_.keep_steps) task_steps_[task.id] = steps_.size();
  advance(lane);
  keep(HostStep{lane, task, {}});
  return task;
}

void Recorder::report_task(Task task, const HostWork& work) {
  if (options_.keep_steps) std::get<HostStep>(steps_[task_steps_[task.id]]).work = work;
}

Program Recorder::program() const {
  Program p{options_.rank, options_.size, steps_, {}, ledger_.peak_by_class(Space::device)};
  for (int s = 0; s < kSpaces; ++s) p.peak_bytes[at(s)] = ledger_.peak(static_cast<Space>(s));
  return p;
}

void Recorder::keep(Step step) {
  if (options_.keep_steps) steps_.push_back(std::move(step));
}

}  // namespace orrery
