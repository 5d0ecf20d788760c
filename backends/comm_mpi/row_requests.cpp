#include "backends/comm_mpi/row_requests.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/ops/row_pieces.hpp"

namespace orrery::mpi {
namespace {

static_assert(std::is_trivially_copyable_v<RowRequest>);
static_assert(sizeof(RowRequest) % sizeof(float) == 0, "what lies behind it is aligned");

struct Piece {
  int owner;
  std::int64_t first;  ///< its first row of y or x
  std::span<const std::int32_t> index;
};

/// The first piece of every owner, then the second of every owner, and so on.
std::vector<Piece> pieces_of(const RowCall& call) {
  const auto rows =
      static_cast<std::size_t>(std::max<std::int64_t>(1, kRowPieceBytes / call.row_bytes));
  std::vector<Piece> pieces;
  bool more = true;
  for (std::size_t begin = 0; more; begin += rows) {
    more = false;
    for (const OwnerRequest& r : call.requests) {
      if (begin >= r.index.size()) continue;
      pieces.push_back({r.owner, r.first + static_cast<std::int64_t>(begin),
                        r.index.subspan(begin, std::min(rows, r.index.size() - begin))});
      more = true;
    }
  }
  return pieces;
}

void write_message(const RowCall& call, const Piece& piece, std::vector<char>& message) {
  RowRequest head = call.head;
  head.rows = static_cast<std::int32_t>(piece.index.size());
  const std::size_t numbers = piece.index.size_bytes();
  const std::size_t rows =
      head.adds != 0 ? piece.index.size() * static_cast<std::size_t>(call.row_bytes) : 0;
  message.resize(sizeof head + numbers + rows);
  std::memcpy(message.data(), &head, sizeof head);
  std::memcpy(message.data() + sizeof head, piece.index.data(), numbers);
  if (rows > 0)
    std::memcpy(message.data() + sizeof head + numbers, call.values + piece.first * call.row_bytes,
                rows);
}

/// What a pending piece needs.
struct UnderWay {
  std::vector<char> message;
  std::vector<char> rows;  ///< the answer, if its rows have places
  char acknowledged = 0;
};

void put_in_places(const RowCall& call, const Piece& piece, const std::vector<char>& rows) {
  const auto bytes = static_cast<std::size_t>(call.row_bytes);
  for (std::size_t k = 0; k < piece.index.size(); ++k)
    std::memcpy(
        call.values + call.places[piece.first + static_cast<std::int64_t>(k)] * call.row_bytes,
        rows.data() + k * bytes, bytes);
}

}  // namespace

void ask_owners(Batch& batch, const RowCall& call, const std::function<void()>& meanwhile) {
  const std::vector<Piece> pieces = pieces_of(call);
  std::vector<UnderWay> slots(at(row_pieces_under_way(std::ssize(call.requests))));
  const int window = static_cast<int>(slots.size()), count = static_cast<int>(pieces.size());
  const auto finish = [&](int k) {
    if (call.places != nullptr) put_in_places(call, pieces[at(k)], slots[at(k % window)].rows);
  };
  for (int k = 0; k < count; ++k) {
    if (k == window) meanwhile();
    if (k >= window) {
      batch.wait(k - window);
      finish(k - window);
    }
    const Piece& piece = pieces[at(k)];
    UnderWay& slot = slots[at(k % window)];
    write_message(call, piece, slot.message);
    const std::int64_t bytes = static_cast<std::int64_t>(piece.index.size()) * call.row_bytes;
    if (call.places != nullptr) slot.rows.resize(static_cast<std::size_t>(bytes));
    char* to =
        call.places != nullptr ? slot.rows.data() : call.values + piece.first * call.row_bytes;
    if (call.head.adds != 0)
      batch.receive(k, piece.owner, &slot.acknowledged, 1, call.head.answer_tag);
    else
      batch.receive(k, piece.owner, to, bytes, call.head.answer_tag);
    batch.send(k, piece.owner, slot.message.data(), static_cast<std::int64_t>(slot.message.size()),
               kRowRequestTag);
  }
  if (count <= window) meanwhile();
  batch.wait(count);
  for (int k = std::max(0, count - window); k < count; ++k) finish(k);
}

}  // namespace orrery::mpi
