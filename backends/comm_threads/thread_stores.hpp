// The open stores of ranks that are threads: rows are read and added to in place.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "core/runtime/execute/exposed_rows.hpp"

namespace orrery {

class ThreadStores {
 public:
  /// From now on rows_of() finds what group index `index` exposes; false if it already exposes
  /// rows.
  bool open(const Store& store, int index, std::shared_ptr<ExposedRows> rows);
  /// Returns when nobody uses the rows any more.
  void close(const Store& store, int index) noexcept;
  /// The same for all stores in which the rank still exposes rows.
  void close_those_of(int rank) noexcept;
  /// Nothing if they are not open.
  std::shared_ptr<ExposedRows> rows_of(const Store& store, int index) const;

 private:
  struct Entry {
    Store store;
    int index;
    std::shared_ptr<ExposedRows> rows;
  };
  template <class Condition>
  void close_where(const Condition& condition) noexcept;

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace orrery
