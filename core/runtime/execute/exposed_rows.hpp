// What a rank exposes of its memory in a store, and the requests of others.
#pragma once

#include <cstdint>
#include <functional>
#include <shared_mutex>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/ops/one_sided.hpp"
#include "core/runtime/execute/memory.hpp"

namespace orrery {

/// to ← the rows with these numbers of a table, one after the other or, with places, row k at
/// places[k].
void copy_rows(const char* table, std::int64_t row_bytes, std::span<const std::int32_t> index,
               void* to, const std::int32_t* places);

/// One rank's rows in an open store: many threads read at a time, or one adds, so that no row is
/// seen half added.
///
/// Placement rows: on their owner; requests come from all ranks of the store's group
class ExposedRows {
 public:
  /// Called with the bytes of each request, before anybody can close the rows.
  using Served = std::function<void(int from, std::int64_t bytes)>;
  ExposedRows(const Tensor& rows, const RankMemory& memory, Served served);

  const Tensor& window() const { return rows_; }
  /// to ← the rows with these numbers, as copy_rows(). False, with nothing done, once they are
  /// closed.
  ///
  /// Requires  numbers of existing rows
  bool read(int from, std::span<const std::int32_t> index, void* to,
            const std::int32_t* places = nullptr) const;
  /// The rows with these numbers get + those of x, in order. False, with nothing done, once they
  /// are closed.
  ///
  /// Requires  numbers of existing rows; f32
  bool add(int from, std::span<const std::int32_t> index, const float* x);
  /// After it returns nobody reads or adds: the memory may be freed.
  void close() noexcept;

 private:
  std::int64_t row_bytes() const { return rows_.cols() * bytes_of(rows_.dtype); }

  Tensor rows_;
  char* first_;
  Served served_;
  mutable std::shared_mutex mutex_;
  bool open_ = true;
};

/// The part of a pull or push that one owner serves.
struct OwnerRequest {
  int owner = 0;           ///< its rank
  int owner_index = 0;     ///< in the store's group
  std::int64_t first = 0;  ///< its first row of y or x
  std::span<const std::int32_t> index;
};

/// One part for each owner of requested rows, in group order.
template <class T>
std::vector<OwnerRequest> requests_of(const T& op, const RankMemory& memory) {
  const std::int32_t* index = memory.data<std::int32_t>(op.index);
  std::vector<OwnerRequest> requests;
  std::int64_t first = 0;
  for (int i = 0; i < op.store.group.size; ++i) {
    const std::int64_t count = (*op.rows_per_owner)[static_cast<std::size_t>(i)];
    if (count > 0)
      requests.push_back(
          {op.store.group.rank_of(i), i, first, {index + first, static_cast<std::size_t>(count)}});
    first += count;
  }
  return requests;
}

/// Checks that only existing rows are requested.
///
/// Errors    Error naming the owner and the number
void require_rows(const Store& store, const OwnerRequest& request, std::int64_t rows_of_owner);

/// Rank `rank` requests rows of an owner that exposes none.
ProgramError not_exposed(int rank, const Store& store, int owner);

/// Errors    ProgramError if the rows are in memory that others read without their owner
void require_pushable(int rank, const Store& store, const Tensor& rows);

/// Errors    ProgramError unless y or x has the width and type of the store's rows
void require_same_width(int rank, const Store& store, const Tensor& values, const Tensor& rows);

}  // namespace orrery
