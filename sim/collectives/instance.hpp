// A collective under way: which of its messages may start, and which of its ranks are done.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
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

/// An expansion with its dependencies.
struct PreparedExpansion {
  PreparedExpansion(Expansion made, int ranks);
  Expansion expansion;
  Lists followers;  ///< for each message: those that wait for its end
  Lists streamers;  ///< for each message: those that pass it on while it arrives
  Lists sources;    ///< for each message: those that it passes on while they arrive
  Lists touching;   ///< for each rank: the messages it sends or receives
};

/// One collective of one group. The owner asks which messages may start, and reports which have
/// ended.
class Instance {
 public:
  Instance(std::shared_ptr<const PreparedExpansion> plan, int ranks, bool barriers);

  const Message& message(int m) const { return plan_->expansion.messages[at(m)]; }
  std::span<const std::int32_t> streamers(int m) const { return plan_->streamers.of(m); }
  std::span<const std::int32_t> sources(int m) const { return plan_->sources.of(m); }

  /// Rank index i has come. Appends messages that may start now to `ready`, and rank indices that
  /// are done (they had nothing to do) to `finished`.
  void arrive(int i, std::vector<int>& ready, std::vector<int>& finished);
  /// The first chunk of a message that m passes on has arrived.
  void stream(int m, std::vector<int>& ready);
  /// Message m has arrived and been added up.
  void end(int m, std::vector<int>& ready, std::vector<int>& finished);
  /// All ranks have left: each was reported as finished once.
  bool over() const { return finished_ == static_cast<int>(left_.size()); }

  /// State of a message while it runs.
  struct State {
    std::int32_t pending = 0;  ///< unfulfilled conditions
    std::int8_t parts = 0;     ///< flow and cores under way
    bool ended = false, held = false;
    double ended_at = 0;
  };
  State& state(int m) { return states_[at(m)]; }

 private:
  void met(int m, std::vector<int>& ready);
  void finish(int i, std::vector<int>& finished);
  void finish_all(std::vector<int>& finished);

  std::shared_ptr<const PreparedExpansion> plan_;
  bool barriers_;  ///< all come before anything moves, and all leave together
  std::vector<State> states_;
  std::vector<std::int32_t> left_;  ///< messages of each rank that have not ended
  int here_ = 0, finished_ = 0;
  std::int64_t messages_left_ = 0;
};

}  // namespace orrery::sim
