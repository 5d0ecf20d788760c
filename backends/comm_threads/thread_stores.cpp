#include "backends/comm_threads/thread_stores.hpp"

#include <utility>

namespace orrery {

bool ThreadStores::open(const Store& store, int index, std::shared_ptr<ExposedRows> rows) {
  if (rows_of(store, index)) return false;
  const std::lock_guard lock(mutex_);
  entries_.push_back({store, index, std::move(rows)});
  return true;
}

void ThreadStores::close(const Store& store, int index) noexcept {
  close_where([&](const Entry& e) { return e.store == store && e.index == index; });
}

void ThreadStores::close_those_of(int rank) noexcept {
  close_where([&](const Entry& e) { return e.store.group.rank_of(e.index) == rank; });
}

std::shared_ptr<ExposedRows> ThreadStores::rows_of(const Store& store, int index) const {
  const std::lock_guard lock(mutex_);
  for (const Entry& e : entries_)
    if (e.store == store && e.index == index) return e.rows;
  return nullptr;
}

/// Each rank's rows have their own lock, so that those of other ranks stay usable.
template <class Condition>
void ThreadStores::close_where(const Condition& condition) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [&](const Entry& e) {
    if (!condition(e)) return false;
    e.rows->close();
    return true;
  });
}

}  // namespace orrery
