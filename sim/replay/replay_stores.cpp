// Requests of ranks to the owners of rows.
#include <algorithm>

#include "core/ops/row_pieces.hpp"
#include "sim/replay/replayer.hpp"

namespace orrery::sim {
namespace {

/// The part of an answer that an owner sends while it gathers the next one (as backends/comm_mpi does).
constexpr auto kPieceBytes = static_cast<double>(kRowPieceBytes);

/// The most that other messages between two ranks wait behind: OpenMPI sends the first 64 KiB of each piece
/// at once, the rest when the receiver has agreed. Sums of gradients were seen to wait for 0.7 to 1.1 MiB
/// each way, with one owner (docs/validation.md).
double queued_bytes(int owners) {
  const auto pieces = static_cast<double>(row_pieces_under_way(owners));
  return pieces / std::max(1, owners) * (64 << 10);
}

}  // namespace

void Replayer::ask_owners(int r, int l) {
  Rank& rank = ranks_[at(r)];
  LaneState& lane = rank.lanes[at(l)];
  const RankSchedule& schedule = rank.schedule();
  const LaneItem& item = schedule.lanes[at(l)][lane.cursor];
  const StoreAccess& access = schedule.accesses[item.index];
  std::vector<int> slots;
  for_each_owner(schedule, access, rank.program->groups, [&](int owner, double rows, double s) {
    const int slot = take_slot();
    Asked& asked = asked_[at(slot)] = {};
    asked.rank = r;
    asked.lane = l;
    asked.owner = owner;
    asked.counted = schedule.phases[item.phase].in_epoch();
    asked.there = access.asked(rows);
    asked.back = access.answered(rows);
    asked.bytes = rows * access.row_bytes;
    asked.seconds = s;
    asked.alone =
        owner == r || (access.mapped != 0 && !external(r, owner) && s_.library.name != "threads");
    if (!asked.alone && access.adds == 0 && ends_of(asked).first != ends_of(asked).second)
      asked.first = std::min(1.0, kPieceBytes / asked.bytes);
    slots.push_back(slot);
  });
  lane.open = static_cast<int>(slots.size());
  if (slots.empty()) return complete(r, l);
  const auto by_messages =
      std::ranges::count_if(slots, [&](int s) { return !asked_[at(s)].alone; });
  for (const int slot : slots) {
    asked_[at(slot)].owners = static_cast<int>(by_messages);
    const int owner = asked_[at(slot)].owner;
    if (owner != r) lane.exchange_told().under_way(external(r, owner), +1, network_.now());
    if (asked_[at(slot)].alone)
      serve(slot);
    else
      send_words(slot);
  }
}

int Replayer::take_slot() {
  if (free_asked_.empty()) {
    free_asked_.push_back(static_cast<int>(asked_.size()));
    asked_.emplace_back();
  }
  const int slot = free_asked_.back();
  free_asked_.pop_back();
  return slot;
}

/// The request, or its answer.
void Replayer::send_words(int slot, bool may_wait) {
  Asked& asked = asked_[at(slot)];
  const std::uint64_t part = token(Happening::access_message, slot);
  const auto [from, to] = ends_of(asked);
  const auto [sender, receiver] = ranks_of(asked);
  if (may_wait && from != to && asked.stage == Asked::asking &&
      waits_behind_rows(sender, receiver, token(Happening::access_behind_rows, slot)))
    return;
  asked.sent_at = network_.now();
  ++messages_;
  if (from == to) {
    asked.messages = 1;
    network_.at(network_.now() + s_.library.message_seconds, part);
    return;
  }
  const double bytes = asked.stage == Asked::asking ? asked.there : asked.back;
  const double core = bytes * s_.library.core_seconds_per_byte;
  asked.messages = core > 0 ? 3 : 1;
  for (const int r : {asked.rank, asked.owner}) {
    if (core > 0) start_on_core(ranks_[at(r)].device, core, part);
    communicates(r, +1);
  }
  const int connection = traffic_.connection({from, to});
  if (s_.library.name == "mpi") {
    const auto [known, is_new] = rows_under_way_.try_emplace(pair_of(sender, receiver), slot);
    if (!is_new && bytes_left(asked_[at(known->second)]) < bytes_left(asked)) known->second = slot;
  }
  if (asked.counted) traffic_.begin(connection, bytes, network_.now());
  network_.send(connection, bytes,
                s_.library.message_seconds + traffic_.latency_seconds(connection),
                token(Happening::access_arrival, slot));
}

/// For the message of its stage.
Traffic::Pair Replayer::ends_of(const Asked& asked) const {
  const auto [from, to] = ranks_of(asked);
  return {ranks_[at(from)].memory_end, ranks_[at(to)].memory_end};
}

/// A message of rows begins (+1) or ends (−1) at a rank; a device with a host is not part of it.
void Replayer::communicates(int r, int change) {
  if (!hosts_beside_) processor_of(ranks_[at(r)].device).communicates(change);
}

void Replayer::access_arrived(int slot) {
  const Asked& asked = asked_[at(slot)];
  for (const int r : {asked.rank, asked.owner}) communicates(r, -1);
  if (asked.counted) traffic_.end(connection_of(asked), network_.now());
  const auto [sender, receiver] = ranks_of(asked);
  const auto last = rows_under_way_.find(pair_of(sender, receiver));
  if (last != rows_under_way_.end() && last->second == slot) rows_under_way_.erase(last);
  message_part_ended(slot);
}

/// Of its message that is under way, as far as the link's rate says.
double Replayer::bytes_left(const Asked& asked) const {
  const int connection = connection_of(asked);
  const double begun =
      asked.sent_at + s_.library.message_seconds + traffic_.latency_seconds(connection);
  const double passed =
      std::max(0.0, network_.now() - begun) * traffic_.bytes_per_second(connection);
  return (asked.stage == Asked::asking ? asked.there : asked.back) - passed;
}

/// What one process sends to another over MPI leaves in order, so a message waits behind rows that are
/// under way: those that have been sent but not passed, as long as the link alone would take for them.
///
/// Returns   whether `token` comes back later, for that reason
bool Replayer::waits_behind_rows(int from, int to, std::uint64_t token) {
  const auto most = rows_under_way_.find(pair_of(from, to));
  if (most == rows_under_way_.end()) return false;
  const Asked& asked = asked_[at(most->second)];
  const double bytes = std::min(bytes_left(asked), queued_bytes(asked.owners));
  if (bytes <= 0) return false;
  network_.at(network_.now() + bytes / traffic_.bytes_per_second(connection_of(asked)), token);
  return true;
}

void Replayer::message_part_ended(int slot) {
  Asked& asked = asked_[at(slot)];
  if (--asked.messages > 0) return;
  if (asked.stage == Asked::asking) return wait_for_owner(slot);
  if (asked.gathering == 0) answered(slot);
}

/// Whether the owner's thread serves it: not what the requesting rank reads itself.
bool Replayer::takes_thread(const Asked& asked) const {
  return !asked.alone && s_.library.name != "threads";
}

void Replayer::wait_for_owner(int slot) {
  const Asked& asked = asked_[at(slot)];
  if (!takes_thread(asked)) return serve(slot);
  ranks_[at(asked.owner)].to_serve.push_back(slot);
  serve_next(asked.owner);
}

void Replayer::serve_next(int r) {
  Rank& owner = ranks_[at(r)];
  if (owner.serves || owner.to_serve.empty()) return;
  const int slot = owner.to_serve.front();
  owner.to_serve.pop_front();
  owner.serves = true;
  serve(slot);
}

void Replayer::serve(int slot) {
  asked_[at(slot)].stage = Asked::serving;
  serve_share(slot, asked_[at(slot)].first);
}

/// On the host of the owner, whatever its lanes do; of the asker, if that reads alone.
void Replayer::serve_share(int slot, double share) {
  Asked& asked = asked_[at(slot)];
  const Rank& reader = ranks_[at(asked.alone ? asked.rank : asked.owner)];
  asked.gathering = host_of(reader).start(share * asked.seconds, 1, share * asked.bytes,
                                          token(Happening::access_served, slot), kMover);
  follow(reader.works_at);
}

void Replayer::served_part(int slot) {
  Asked& asked = asked_[at(slot)];
  if (--asked.gathering > 0) return;
  if (asked.alone) return answered(slot);
  if (asked.stage == Asked::serving) {  // the first piece is sent while the rest is gathered
    asked.stage = Asked::answering;
    send_words(slot);
    if (asked.first < 1) return serve_share(slot, 1 - asked.first);
  } else if (asked.messages == 0) {  // the wire waited for the last piece
    asked.messages = 1;
    const int connection = connection_of(asked);
    network_.at(network_.now() + s_.library.message_seconds + traffic_.latency_seconds(connection) +
                    kPieceBytes / traffic_.bytes_per_second(connection),
                token(Happening::access_message, slot));
  }
  if (!takes_thread(asked)) return;
  ranks_[at(asked.owner)].serves = false;
  serve_next(asked.owner);
}

void Replayer::answered(int slot) {
  const int r = asked_[at(slot)].rank, l = asked_[at(slot)].lane;
  if (const int owner = asked_[at(slot)].owner; owner != r)
    ranks_[at(r)].lanes[at(l)].exchange_told().under_way(external(r, owner), -1, network_.now());
  free_asked_.push_back(slot);
  if (--ranks_[at(r)].lanes[at(l)].open == 0) complete(r, l);
}

}  // namespace orrery::sim
