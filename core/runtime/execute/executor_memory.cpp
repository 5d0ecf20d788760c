// What an executor holds for its rank: tensors and patterns are made on demand, and freed when the
// work issued before their release has passed.
#include <exception>
#include <new>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/runtime/execute/executor.hpp"

namespace orrery {
namespace {

/// What a map held under an id, which it forgets; nothing if it is not there.
template <class Map>
typename Map::mapped_type take(Map& of, std::uint32_t id) {
  const auto node = of.extract(id);
  return node ? node.mapped() : typename Map::mapped_type{};
}

}  // namespace

Tensor Executor::alloc(Shape shape, DType dtype, Space space, std::string_view name) {
  free_what_is_done();
  const Tensor t = recorder_.alloc(shape, dtype, space, name);
  tensor_uses_[t.id] = {};
  if (space == Space::device) make_room(t.bytes());
  allocate(t, name);
  mark_memory();
  return t;
}

void Executor::release(const Tensor& tensor) noexcept {
  recorder_.release(tensor);
  mark_memory();
  free_later(
      [this, id = tensor.id] {
        const bool whole = memory_.free(id);
        ORRERY_ASSERT(whole && "a kernel wrote outside its tensor");
      },
      take(tensor_uses_, tensor.id));
}

Sparse Executor::declare(Lane on, Pattern pattern, std::string_view name) {
  const Sparse s = recorder_.declare(on, pattern, name);
  sparse_uses_[s.id][at(on)] = recorder_.record(on).position;
  make_room(s.bytes());
  if (const auto* csr = std::get_if<std::shared_ptr<const Csr>>(&pattern)) {
    memory_.add_sparse(s.id, *csr);
    enqueue(on, [this, s, csr = *csr, text = std::string(name)](DeviceLane& work) {
      put(work, s, *csr, text);
      return std::nullopt;
    });
  } else {
    memory_.add_sparse_room(s.id, std::get<Counts>(pattern));
    enqueue(on, [](DeviceLane&) { return std::nullopt; });
  }
  mark_memory();
  return s;
}

void Executor::release(const Sparse& sparse) noexcept {
  recorder_.release(sparse);
  mark_memory();
  free_later(
      [this, id = sparse.id] {
        device_.drop_pattern(id);
        memory_.remove_sparse(id);
      },
      take(sparse_uses_, sparse.id));
}

void Executor::put(DeviceLane& work, const Sparse& sparse, const Csr& pattern,
                   const std::string& name) {
  try {
    work.put(sparse, pattern);
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(name, sparse.bytes(), memory_.bytes_in_use(),
                      device_.storage().capacity(Space::device));
  }
}

/// Notes that the lane's last item needs the memory that the op names.
void Executor::use(Lane on, const Op& op) {
  const std::uint32_t position = recorder_.record(on).position;
  for (const Operand& operand : operands_of(op)) tensor_uses_[operand.tensor.id][at(on)] = position;
  for (const SparseOperand& operand : sparse_of(op))
    sparse_uses_[operand.sparse.id][at(on)] = position;
}

void Executor::free_later(std::function<void()> free, const LastUses& after) {
  if (std::uncaught_exceptions() > 0) leave_early();
  pending_frees_.push_back({std::move(free), after});
  free_what_is_done();
}

void Executor::free_what_is_done() {
  std::erase_if(pending_frees_, [this](const PendingFree& pending) {
    for (std::size_t i = 0; i < lanes_.size(); ++i)
      if (!passed(static_cast<Lane>(i), pending.after[i])) return false;
    // What others read is freed by a program that leaves early: it withdraws nothing before.
    if (std::uncaught_exceptions() > 0) communicator_.close_stores();
    pending.free();
    return true;
  });
}

/// Waits for pending releases if they stand in the way of this many more bytes.
void Executor::make_room(std::int64_t bytes) {
  const std::int64_t capacity = device_.storage().capacity(Space::device);
  while (!pending_frees_.empty() && bytes > capacity - memory_.bytes_in_use()) wait_for_a_free();
}

/// Waits for the oldest pending release.
void Executor::wait_for_a_free() {
  const auto after = pending_frees_.front().after;
  for (std::size_t i = 0; i < lanes_.size(); ++i) await(static_cast<Lane>(i), after[i]);
  free_what_is_done();
}

/// Memory that is released but still in use may leave gaps in which a tensor would fit.
void Executor::allocate(const Tensor& tensor, std::string_view name) {
  for (;;) try {
      return memory_.allocate(tensor.id, tensor.bytes(), tensor.space);
    } catch (const std::bad_alloc&) {
      if (pending_frees_.empty())
        throw OutOfMemory(std::string(name), tensor.bytes(), memory_.bytes_in_use(tensor.space),
                          device_.storage().capacity(tensor.space),
                          std::string(name_of(tensor.space)));
      wait_for_a_free();
    }
}

void Executor::mark_memory() {
  const std::int64_t bytes = recorder_.ledger().in_use(Space::device);
  if (memory_marks_.empty() || memory_marks_.back().device_bytes != bytes)
    memory_marks_.push_back({now(), bytes});
}

}  // namespace orrery
