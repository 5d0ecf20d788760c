#include "sim/collectives/instance.hpp"

#include "core/base/index.hpp"

namespace orrery::sim {

Lists::Lists(int owners, const std::vector<std::pair<std::int32_t, std::int32_t>>& pairs)
    : starts_(static_cast<std::size_t>(owners) + 1, 0), numbers_(pairs.size()) {
  for (const auto& [owner, number] : pairs) ++starts_[at(owner) + 1];
  for (std::size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
  std::vector<std::int32_t> next(starts_.begin(), starts_.end() - 1);
  for (const auto& [owner, number] : pairs) numbers_[at(next[at(owner)]++)] = number;
}

PreparedExpansion::PreparedExpansion(Expansion made, int ranks) : expansion(std::move(made)) {
  const auto count = static_cast<std::int32_t>(expansion.messages.size());
  std::vector<std::pair<std::int32_t, std::int32_t>> follow, streamed, touch;
  touch.reserve(2 * expansion.messages.size());
  for (std::int32_t m = 0; m < count; ++m) {
    const Message& message = expansion.messages[at(m)];
    const auto wait = [&](std::int32_t w) { return expansion.waits[at(message.first_wait + w)]; };
    const std::int32_t whole = message.waits - message.streamed_waits;
    for (std::int32_t w = 0; w < whole; ++w) follow.emplace_back(wait(w), m);
    for (std::int32_t w = whole; w < message.waits; ++w) streamed.emplace_back(m, wait(w));
    if (message.streams >= 0) streamed.emplace_back(m, message.streams);
    touch.emplace_back(message.from, m);
    touch.emplace_back(message.to, m);
  }
  followers = Lists(count, follow);
  sources = Lists(count, streamed);
  for (auto& [m, source] : streamed) std::swap(m, source);
  streamers = Lists(count, streamed);
  touching = Lists(ranks, touch);
}

Instance::Instance(std::shared_ptr<const PreparedExpansion> plan, int ranks, bool barriers)
    : plan_(std::move(plan)),
      barriers_(barriers),
      states_(plan_->expansion.messages.size()),
      left_(static_cast<std::size_t>(ranks), 0),
      messages_left_(static_cast<std::int64_t>(plan_->expansion.messages.size())) {
  for (std::size_t m = 0; m < states_.size(); ++m) {
    const Message& message = plan_->expansion.messages[m];
    // Both ends must have come, or with barriers everybody.
    states_[m].pending = message.waits + (message.streams >= 0 ? 1 : 0) + (barriers_ ? 1 : 2);
    ++left_[at(message.from)];
    ++left_[at(message.to)];
  }
}

void Instance::met(int m, std::vector<int>& ready) {
  if (--state(m).pending == 0) ready.push_back(m);
}

void Instance::finish(int i, std::vector<int>& finished) {
  finished.push_back(i);
  ++finished_;
}

void Instance::finish_all(std::vector<int>& finished) {
  for (int i = 0; i < static_cast<int>(left_.size()); ++i) finish(i, finished);
}

void Instance::arrive(int i, std::vector<int>& ready, std::vector<int>& finished) {
  ++here_;
  if (!barriers_) {
    for (const std::int32_t m : plan_->touching.of(i)) met(m, ready);
    if (left_[at(i)] == 0) finish(i, finished);
  } else if (here_ == static_cast<int>(left_.size())) {
    for (int m = 0; m < static_cast<int>(states_.size()); ++m) met(m, ready);
    if (messages_left_ == 0) finish_all(finished);
  }
}

void Instance::stream(int m, std::vector<int>& ready) { met(m, ready); }

void Instance::end(int m, std::vector<int>& ready, std::vector<int>& finished) {
  state(m).ended = true;
  --messages_left_;
  for (const std::int32_t next : plan_->followers.of(m)) met(next, ready);
  const Message& done = message(m);
  for (const int i : {done.from, done.to})
    if (--left_[at(i)] == 0 && !barriers_) finish(i, finished);
  if (barriers_ && messages_left_ == 0) finish_all(finished);
}

}  // namespace orrery::sim
