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

/// An expansion with what follows from what.
struct PreparedExpansion {
  PreparedExpansion(Expansion made, int ranks);
  Expansion expansion;
  Lists followers;  ///< of each message: those that wait for its end
  Lists streamers;  ///< of each message: those that pass it on as it comes in
  Lists sources;    ///< of each message: those that it passes on as they come in
  Lists touching;   ///< of each rank: the messages it sends or receives
};

/// One collective of one group. The owner asks which messages may start and tells what ended.
class Instance {
 public:
  Instance(std::shared_ptr<const PreparedExpansion> plan, int ranks, bool barriers);

  const Message& message(int m) const { return plan_->expansion.messages[at(m)]; }
  std::span<const std::int32_t> streamers(int m) const { return plan_->streamers.of(m); }
  std::span<const std::int32_t> sources(int m) const { return plan_->sources.of(m); }

  /// Rank index i has come. Messages that may start now are appended to `ready`, rank indices that
  /// are done (they had nothing to do) to `finished`.
  void arrive(int i, std::vector<int>& ready, std::vector<int>& finished);
  /// A message that m passes on has been under way long enough.
  void stream(int m, std::vector<int>& ready);
  /// Message m has arrived and been added up.
  void end(int m, std::vector<int>& ready, std::vector<int>& finished);
  /// All ranks have left: each is reported as finished once.
  bool over() const { return finished_ == static_cast<int>(left_.size()); }

  /// What the flow of a message needs to know while it runs.
  struct State {
    std::int32_t pending = 0;  ///< conditions that are not met
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
  bool barriers_;  ///< all come before anything moves, all leave together
  std::vector<State> states_;
  std::vector<std::int32_t> left_;  ///< messages of each rank that have not ended
  int here_ = 0, finished_ = 0;
  std::int64_t messages_left_ = 0;
};

}  // namespace orrery::sim
