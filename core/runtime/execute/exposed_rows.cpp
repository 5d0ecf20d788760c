#include "core/runtime/execute/exposed_rows.hpp"

#include <fmt/core.h>

#include <cstring>
#include <mutex>
#include <utility>

#include "core/base/cache_line.hpp"
#include "core/base/error.hpp"

namespace orrery {

void copy_rows(const char* table, std::int64_t row_bytes, std::span<const std::int32_t> index,
               void* to, const std::int32_t* places) {
  constexpr std::size_t kAhead = 8;  // rows
  for (std::size_t k = 0; k < index.size(); ++k) {
    if (k + kAhead < index.size())
      for (std::int64_t byte = 0; byte < row_bytes; byte += kCacheLineBytes)
        prefetch(table + index[k + kAhead] * row_bytes + byte);
    const std::int64_t place = places != nullptr ? places[k] : static_cast<std::int64_t>(k);
    std::memcpy(static_cast<char*>(to) + place * row_bytes, table + index[k] * row_bytes,
                static_cast<std::size_t>(row_bytes));
  }
}

ExposedRows::ExposedRows(const Tensor& rows, const RankMemory& memory, Served served)
    : rows_(rows), first_(static_cast<char*>(memory.bytes_at(rows))), served_(std::move(served)) {}

bool ExposedRows::read(int from, std::span<const std::int32_t> index, void* to,
                       const std::int32_t* places) const {
  const std::shared_lock lock(mutex_);
  if (!open_) return false;
  copy_rows(first_, row_bytes(), index, to, places);
  served_(from, static_cast<std::int64_t>(index.size_bytes()));
  return true;
}

bool ExposedRows::add(int from, std::span<const std::int32_t> index, const float* x) {
  const std::lock_guard lock(mutex_);
  if (!open_) return false;
  const std::int64_t width = rows_.cols();
  auto* rows = reinterpret_cast<float*>(first_);
  for (const std::int32_t row : index) {
    float* y = rows + row * width;
    for (std::int64_t j = 0; j < width; ++j) y[j] += x[j];
    x += width;
  }
  const auto count = static_cast<std::int64_t>(index.size());
  served_(from, count * (4 + row_bytes()));
  return true;
}

void ExposedRows::close() noexcept {
  const std::lock_guard lock(mutex_);
  open_ = false;
}

void require_rows(const Store& store, const OwnerRequest& request, std::int64_t rows_of_owner) {
  for (std::size_t k = 0; k < request.index.size(); ++k) {
    const std::int32_t row = request.index[k];
    if (row >= 0 && row < rows_of_owner) continue;
    throw Error(fmt::format(
        "{}: index[{}] asks for row {} of rank {}, which has {} rows there: row numbers are the "
        "owner's own, counted from 0",
        to_string(store), request.first + static_cast<std::int64_t>(k), row, request.owner,
        rows_of_owner));
  }
}

ProgramError not_exposed(int rank, const Store& store, int owner) {
  return {rank, 0,
          fmt::format("{} is used although rank {} has not exposed its rows there, or has "
                      "withdrawn them",
                      to_string(store), owner)};
}

void require_pushable(int rank, const Store& store, const Tensor& rows) {
  if (rows.space != Space::server_host) return;
  throw ProgramError(rank, 0,
                     fmt::format("{} takes no push: its rows are in server_host, where other "
                                 "ranks read them at any time; expose rows in host",
                                 to_string(store)));
}

void require_same_width(int rank, const Store& store, const Tensor& values, const Tensor& rows) {
  if (values.cols() == rows.cols() && values.dtype == rows.dtype) return;
  throw ProgramError(
      rank, 0,
      fmt::format("{} has rows of {} {}, not of {} {}", to_string(store), rows.cols(),
                  name_of(rows.dtype), values.cols(), name_of(values.dtype)));
}

}  // namespace orrery
