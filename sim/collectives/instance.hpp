// A collective under way: which of its messages may start, and which of its ranks are done.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/base/index.hpp"
#include "sim/collectives/expansion.hpp"

namespace orrery::sim {

/// Lists of numbers, one per owner, in one array.
class Lists {
 public:
  Lists() = default;
  /// `pairs` of (owner, number).
  Lists(int owners, const std::vector<std::pair<std::int32_t, std::int32_t>>& pairs);
  std::span<const std::int32_t> of(int owner) const {
    const auto begin = static_cast<std::size_t>(starts_[at(owner)]);
    const auto end = static_cast<std::size_t>(starts_[at(owner) + 1]);
    return {numbers_.data() + begin, end - begin};
  }

 private:
  std::vector<std::int32_t> starts_{0}, numbers_;
};

/// What the messages of an expansion wait for.
struct Dependencies {
  explicit Dependencies(const Expansion& expansion);
  Lists followers;  ///< for each message: those that wait for its end
  Lists streamers;  ///< for each message: those that pass it on while it arrives
  Lists sources;    ///< for each message: those that it passes on while they arrive
};

/// An expansion with its dependencies.
struct PreparedExpansion : Dependencies {
  PreparedExpansion(Expansion made, int ranks);
  Expansion expansion;
  Lists touching;  ///< for each rank: the messages it sends or receives
};

/// How long the messages of a collective are and what they wait for, but not who sends them:
/// broadcasts of different roots have this in common.
struct MessageOrder : Dependencies {
  struct Size {
    double bytes, chunk, reduced;  ///< as in Message
    bool operator==(const Size&) const = default;
  };
  explicit MessageOrder(const Expansion& expansion);

  std::vector<Size> sizes;            ///< distinct ones
  std::vector<std::int32_t> size_of;  ///< for each message, in `sizes`
  std::vector<std::int32_t> waits;    ///< for each message: how many others it waits for
};

/// Makes equal orders one object.
class OrderInterner {
 public:
  std::shared_ptr<const MessageOrder> intern(const Expansion& expansion);

 private:
  struct Known {
    std::vector<std::int32_t> words;  ///< all that the order of an expansion consists of
    std::shared_ptr<const MessageOrder> order;
  };
  std::unordered_multimap<std::uint64_t, Known> known_;  ///< by hash
  std::size_t kept_ = 0;                                 ///< messages of all of them
  std::vector<MessageOrder::Size> sizes_;                ///< while it looks
  std::vector<std::int32_t> words_;
};

/// The messages of a collective for its replay: 28 bytes each beside their order.
struct MessagePlan {
  /// Rank indices, and the way between them as its owner numbers it.
  struct Path {
    std::int32_t from = 0, to = 0, connection = 0;
    bool external = false;  ///< between servers
    /// Waits, directly or not, for a message between servers, or passes one on. While its data are
    /// not there, its ranks wait for the network, even if it stays inside a server itself.
    bool after_external = false;
    /// Whether the sender's, and the receiver's, time has to be divided between messages inside its
    /// server and others: all messages of a rank may be inside, and wait for nothing else.
    bool divides_from = true, divides_to = true;
  };
  std::shared_ptr<const MessageOrder> order;
  bool awaits_external(std::int32_t m) const {
    return paths[at(m)].external || paths[at(m)].after_external;
  }
  std::vector<Path> paths;  ///< of each message
  Lists touching;           ///< for each rank: the messages that it sends or receives
};

/// One collective of one group. The owner asks which messages may start, and reports which have
/// ended. What it reports may lie in the future: a message may start when all that it waits for has
/// happened, at the latest of these times.
class Instance {
 public:
  /// Begins (again) with the messages of a plan, which has to outlive it.
  void begin(const MessagePlan& plan, int ranks, bool barriers);

  const MessagePlan::Path& path(int m) const { return plan_->paths[at(m)]; }
  const MessageOrder::Size& size(int m) const {
    return plan_->order->sizes[at(plan_->order->size_of[at(m)])];
  }
  std::span<const std::int32_t> streamers(int m) const { return plan_->order->streamers.of(m); }
  std::span<const std::int32_t> sources(int m) const { return plan_->order->sources.of(m); }
  /// Whether rank index i leaves when its last message has ended, whoever else has come. If not, it
  /// may only arrive when it is time.
  bool has_own_messages(int i) const { return !barriers_ && !plan_->touching.of(i).empty(); }

  /// Rank index i comes at a time. Appends messages whose start is now known to `ready`, and rank
  /// indices that are done (they had nothing to do) to `finished`.
  void arrive(int i, double time, std::vector<int>& ready, std::vector<int>& finished);
  /// The first chunk of a message that m passes on arrives at a time.
  void stream(int m, double time, std::vector<int>& ready) { met(m, time, ready); }
  /// Message m has arrived and been added up.
  void end(int m, double time, std::vector<int>& ready, std::vector<int>& finished);
  /// All ranks have left: each was reported as finished once.
  bool over() const { return finished_ == static_cast<int>(left_.size()); }

  /// State of a message while it runs.
  struct State {
    /// It does not start before; when it has ended, when that was.
    double time = 0;
    std::int32_t pending = 0;  ///< unfulfilled conditions
    std::int8_t parts = 0;     ///< flow and cores under way
    bool ended = false, held = false;
  };
  State& state(int m) { return states_[at(m)]; }

 private:
  void met(int m, double time, std::vector<int>& ready) {
    State& s = state(m);
    s.time = std::max(s.time, time);
    if (--s.pending == 0) ready.push_back(m);
  }
  void finish(int i, std::vector<int>& finished);
  void finish_all(std::vector<int>& finished);

  const MessagePlan* plan_ = nullptr;
  bool barriers_ = false;  ///< all come before anything moves, and all leave together
  std::vector<State> states_;
  std::vector<std::int32_t> left_;  ///< messages of each rank that have not ended
  int here_ = 0, finished_ = 0;
  std::int64_t messages_left_ = 0;
};

}  // namespace orrery::sim
