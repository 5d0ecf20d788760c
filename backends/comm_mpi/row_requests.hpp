// A rank's requests to the owners of rows, and their division into messages.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "backends/comm_mpi/batch.hpp"
#include "core/runtime/execute/exposed_rows.hpp"

namespace orrery::mpi {

/// Tag of every message to an owner; answers have the tags of ops that move rows, which are larger.
constexpr int kRowRequestTag = 0;
/// Widest row of a store: a request for one row is then one message.
constexpr std::int64_t kWidestRow = std::int64_t{32} << 20;

/// The head of a message to an owner. After it come the row numbers, and for a push the rows. The
/// answer to a pull is the rows, the answer to a push one byte.
struct RowRequest {
  Store store;
  std::uint32_t opening = 0;  ///< how often the store had been opened before
  std::int32_t answer_tag = 0;
  std::int32_t rows = 0;
  std::int32_t adds = 0;  ///< 1: a push
};

/// One pull or push.
struct RowCall {
  RowRequest head;
  std::span<const OwnerRequest> requests;  ///< to other ranks
  char* values = nullptr;                  ///< y or x
  const std::int32_t* places = nullptr;    ///< places of the pulled rows in y; null: in order
  std::int64_t row_bytes = 0;
};

/// Asks all owners at once, in pieces, and returns when all have answered. `meanwhile` is called
/// when the first pieces are on their way.
///
/// Cost      a message per piece of 256 KiB of rows, and its answer
void ask_owners(Batch& batch, const RowCall& call, const std::function<void()>& meanwhile);

}  // namespace orrery::mpi
