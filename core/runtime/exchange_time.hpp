// How the time of one communication divides into inside a server and between servers.
#pragma once

#include <array>
#include <optional>

#include "core/cluster/placement.hpp"
#include "core/ops/ops.hpp"

namespace orrery {

/// The time of one rank in one collective or one-sided operation, divided between messages inside
/// the rank's server and messages from or to another server.
///
/// Rule      An instant belongs to the rank's own messages that are under way: to those inside the
///           server, to those between servers, or half to each where there are both. If none is
///           under way it belongs, by the same rule, to those that the rank still waits for. If it
///           waits for neither (others have yet to leave), it is divided like the rest of the time.
///           A replay knows more: a message that waits for one between servers counts as one of
///           these until its own data move.
/// Units     seconds of any clock that does not run backwards
class ExchangeTime {
 public:
  /// From `now` on this many more (or fewer) messages are under way.
  void under_way(bool external, int change, double now) { count(moving_, external, change, now); }
  /// From `now` on the rank waits for this many more (or fewer) messages that are not under way
  /// yet.
  void awaited(bool external, int change, double now) { count(awaited_, external, change, now); }
  /// This much time was spent on one of the two.
  void add(bool external, double seconds) { seconds_[external ? 1 : 0] += seconds; }
  /// Waiting began at `begin`. What the rank waits for inside its server came at `inside`, what it
  /// waits for from other servers at `outside` (at or before `begin` if it waits for none).
  void add_wait(double begin, double inside, double outside);
  /// The share of the time that belongs to messages between servers; nothing if no time was
  /// measured.
  std::optional<double> external_share() const;

 private:
  using Counts = std::array<int, 2>;  ///< messages inside the server, between servers
  void count(Counts& counts, bool external, int change, double now);
  void divide(const Counts& among, double seconds);

  Counts moving_{}, awaited_{};
  double since_ = 0;  ///< of the last change
  std::array<double, 2> seconds_{};
};

/// The time of one operation of `rank`, and which of its peers are on other servers.
struct ExchangeMeter {
  const Placement& placement;
  int rank = 0;
  ExchangeTime time{};

  bool external(int peer) const { return !placement.same_server(rank, peer); }
};

/// The share of an operation's bytes that `rank` receives from other servers, or causes them to
/// receive. If it moves none itself: the share of its peers on other servers. For times of which
/// only the total is known: every byte has the same cost.
///
/// `op`      as this rank submits it: with its own group
double external_share_of_bytes(const Op& op, const Placement& placement, int rank);

}  // namespace orrery
