// Communication inside a server and between servers: how the time of one operation divides.
#pragma once

#include <array>
#include <optional>

#include "core/cluster/placement.hpp"
#include "core/ops/ops.hpp"

namespace orrery {

/// The time of one rank in one collective or one-sided operation, divided between the messages
/// that stay in the rank's server and those that come from or go to another one.
///
/// Rule      An instant belongs to the rank's own messages that are under way: to those inside the
///           server, to those between servers, or half to each where there are both. Where none is
///           under way it belongs, by the same rule, to those that the rank still waits for. Where
///           it waits for neither (others have yet to leave), it follows the rest of the time.
/// Units     seconds of any clock that does not run backwards
class ExchangeTime {
 public:
  /// From `now` on so many messages more (or fewer) are under way.
  void under_way(bool external, int change, double now) { count(moving_, external, change, now); }
  /// From `now` on the rank waits for so many more (or fewer) that are not under way yet.
  void awaited(bool external, int change, double now) { count(awaited_, external, change, now); }
  /// So much time was spent on one of the two.
  void add(bool external, double seconds) { seconds_[external ? 1 : 0] += seconds; }
  /// Waiting began at `begin`; what the rank waits for inside its server came at `inside`, what it
  /// waits for from other servers at `outside` (each at or before `begin` where it waits for none).
  void add_wait(double begin, double inside, double outside);
  /// The share of the time that belongs to messages between servers; nothing where no time was
  /// measured.
  std::optional<double> external_share() const;

 private:
  using Counts = std::array<int, 2>;  ///< of messages inside the server, between servers
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
/// receive; where it moves none itself, the share of its peers that are there. For times of which
/// only the whole is known: every byte is taken to cost the same.
///
/// `op`      as this rank submits it: with its own group
double external_share_of_bytes(const Op& op, const Placement& placement, int rank);

}  // namespace orrery
