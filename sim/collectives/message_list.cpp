#include "sim/collectives/message_list.hpp"

#include <algorithm>
#include <utility>

#include "core/base/index.hpp"

namespace orrery::sim {
namespace {

template <class Visit>
void each_piece(const Message& m, int pieces, const Visit& visit) {
  for (int k = 0, piece = m.first_piece; k < m.pieces; ++k) {
    visit(piece);
    piece += m.stride;
    if (piece >= pieces) piece %= pieces;
  }
}

}  // namespace

MessageList::MessageList(int ranks, int pieces, double chunk_bytes)
    : chunk_bytes_(chunk_bytes),
      held_(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(pieces), -1),
      last_(static_cast<std::size_t>(ranks)) {
  out_.pieces = pieces;
}

std::size_t MessageList::place(int rank, int piece) const {
  return static_cast<std::size_t>(rank) * static_cast<std::size_t>(out_.pieces) +
         static_cast<std::size_t>(piece);
}

int MessageList::send(int from, int to, double bytes, Pieces pieces, Arrival arrival, int after) {
  if (bytes <= 0) return after;
  Message& m = out_.messages.emplace_back();
  m.from = from;
  m.to = to;
  m.bytes = bytes;
  m.reduced = arrival == Arrival::adds ? bytes : 0;
  m.first_piece = pieces.first % out_.pieces;
  m.pieces = pieces.count;
  m.stride = pieces.stride;
  find_waits(m, chunk_bytes_ > 0 && bytes > chunk_bytes_, after);
  if (m.streams >= 0) m.chunk = chunk_bytes_;
  const int number = static_cast<int>(out_.messages.size()) - 1;
  arrive(m, number, arrival);
  return number;
}

void MessageList::find_waits(Message& m, bool streamed, int after) {
  if (m.pieces > 1 || after >= 0) return write_waits(m, streamed, after);
  const int parts = held_[place(m.from, m.first_piece)];
  if (parts < 0) return;
  Last& last = last_[at(m.from)];
  if (last.parts != parts || last.streamed != streamed) {
    write_waits(m, streamed, after);
    last = {parts, m.first_wait, m.waits, m.streams, streamed};
  }
  m.first_wait = last.first_wait;
  m.waits = last.waits;
  m.streams = last.streams;
  m.streamed_waits = streamed ? last.waits : 0;
}

void MessageList::write_waits(Message& m, bool streamed, int after) {
  found_.clear();
  each_piece(m, out_.pieces, [&](int piece) {
    for (int at = held_[place(m.from, piece)]; at >= 0;) {
      const auto [message, next] = parts_[orrery::at(at)];
      if (std::find(found_.rbegin(), found_.rend(), message) == found_.rend())
        found_.push_back(message);
      at = next;
    }
  });
  m.first_wait = static_cast<std::int32_t>(out_.waits.size());
  if (after >= 0 && std::find(found_.begin(), found_.end(), after) == found_.end())
    out_.waits.push_back(after);
  auto begin = found_.begin();
  if (streamed && begin != found_.end()) m.streams = *begin++;
  out_.waits.insert(out_.waits.end(), begin, found_.end());
  m.waits = static_cast<std::int32_t>(out_.waits.size()) - m.first_wait;
  m.streamed_waits = streamed ? static_cast<std::int32_t>(found_.end() - begin) : 0;
}

void MessageList::arrive(const Message& m, int number, Arrival arrival) {
  each_piece(m, out_.pieces, [&](int piece) {
    int& held = held_[place(m.to, piece)];
    parts_.push_back({number, arrival == Arrival::adds ? held : -1});
    held = static_cast<int>(parts_.size()) - 1;
  });
}

Expansion MessageList::take(std::string algorithm) {
  out_.algorithm = std::move(algorithm);
  return std::move(out_);
}

}  // namespace orrery::sim
