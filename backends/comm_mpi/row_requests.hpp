// What a rank asks of the owners of rows, and how it is cut into messages.
#pragma once

#include <cstdint>
#include <span>

#include "backends/comm_mpi/batch.hpp"
#include "core/runtime/execute/exposed_rows.hpp"

namespace orrery::mpi {

/// Of every message to an owner; the answers have tags of ops that move rows, which are larger.
constexpr int kRowRequestTag = 0;
/// Widest row of a store: a request with one row is then one message.
constexpr std::int64_t kWidestRow = std::int64_t{32} << 20;

/// The head of a message to an owner. Behind it are the row numbers, and of a push the rows. The
/// answer to a pull is the rows, that to a push one byte.
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
  const std::int32_t* places = nullptr;    ///< of the rows of a pull in y; null: in order
  std::int64_t row_bytes = 0;
};

/// Asks all owners at once, in pieces, and returns when all have answered.
///
/// Cost      a message per piece of 512 KiB of rows, and its answer
void ask_owners(Batch& batch, const RowCall& call);

}  // namespace orrery::mpi
