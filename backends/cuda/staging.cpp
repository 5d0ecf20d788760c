#include "backends/cuda/staging.hpp"

#include <algorithm>

namespace orrery::cuda {

Staging::~Staging() {
  for (const Piece& piece : pieces_)
    if (piece.block != nullptr) device_.give(Space::pinned_host, piece.block);
}

void* Staging::next(std::int64_t bytes) {
  Piece& piece = pieces_[at_];
  if (piece.read) require(api().event_sync(piece.read.get()), "event_sync");
  if (piece.bytes < bytes) {
    if (piece.block != nullptr) device_.give(Space::pinned_host, piece.block);
    piece.block = nullptr;
    piece.bytes = std::max(bytes, kPiece);
    piece.block = device_.take(Space::pinned_host, piece.bytes);
  }
  return piece.block;
}

void Staging::sent() {
  Piece& piece = pieces_[at_];
  if (!piece.read) {
    OrreryEvent* event = nullptr;
    require(api().event_open(device_.handle(), &event), "event_open");
    piece.read = {event, api().event_close};
  }
  require(api().event_record(piece.read.get(), stream_), "event_record");
  at_ = 1 - at_;
}

}  // namespace orrery::cuda
