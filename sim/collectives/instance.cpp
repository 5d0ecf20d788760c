#include "sim/collectives/instance.hpp"

#include "core/base/index.hpp"

namespace orrery::sim {
namespace {

/// Orders are kept for the next equal one, up to this many messages in all.
constexpr std::size_t kMostKept = 2'000'000;
/// A size is looked for among this many before it. One that is missed is written down once more.
constexpr std::ptrdiff_t kLookBack = 16;
/// Orders of more words a message than this are not kept.
constexpr std::size_t kMostWords = 16;

}  // namespace

Lists::Lists(int owners, const std::vector<std::pair<std::int32_t, std::int32_t>>& pairs)
    : starts_(static_cast<std::size_t>(owners) + 1, 0), numbers_(pairs.size()) {
  for (const auto& [owner, number] : pairs) ++starts_[at(owner) + 1];
  for (std::size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
  std::vector<std::int32_t> next(starts_.begin(), starts_.end() - 1);
  for (const auto& [owner, number] : pairs) numbers_[at(next[at(owner)]++)] = number;
}

Dependencies::Dependencies(const Expansion& expansion) {
  const auto count = static_cast<std::int32_t>(expansion.messages.size());
  std::vector<std::pair<std::int32_t, std::int32_t>> follow, streamed;
  for (std::int32_t m = 0; m < count; ++m) {
    const Message& message = expansion.messages[at(m)];
    const auto wait = [&](std::int32_t w) { return expansion.waits[at(message.first_wait + w)]; };
    const std::int32_t whole = message.waits - message.streamed_waits;
    for (std::int32_t w = 0; w < whole; ++w) follow.emplace_back(wait(w), m);
    for (std::int32_t w = whole; w < message.waits; ++w) streamed.emplace_back(m, wait(w));
    if (message.streams >= 0) streamed.emplace_back(m, message.streams);
  }
  followers = Lists(count, follow);
  sources = Lists(count, streamed);
  for (auto& [m, source] : streamed) std::swap(m, source);
  streamers = Lists(count, streamed);
}

PreparedExpansion::PreparedExpansion(Expansion made, int ranks)
    : Dependencies(made), expansion(std::move(made)) {
  std::vector<std::pair<std::int32_t, std::int32_t>> touch;
  touch.reserve(2 * expansion.messages.size());
  for (std::size_t m = 0; m < expansion.messages.size(); ++m) {
    touch.emplace_back(expansion.messages[m].from, static_cast<std::int32_t>(m));
    touch.emplace_back(expansion.messages[m].to, static_cast<std::int32_t>(m));
  }
  touching = Lists(ranks, touch);
}

MessageOrder::MessageOrder(const Expansion& expansion) : Dependencies(expansion) {
  waits.reserve(expansion.messages.size());
  for (const Message& message : expansion.messages)
    waits.push_back(message.waits + (message.streams >= 0 ? 1 : 0));
}

std::shared_ptr<const MessageOrder> OrderInterner::intern(const Expansion& expansion) {
  sizes_.clear();
  words_.clear();
  std::uint64_t hash = expansion.messages.size();
  const auto word = [&](std::int32_t value) {
    words_.push_back(value);
    hash = (hash ^ static_cast<std::uint32_t>(value)) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32;
  };
  std::size_t size = 0;  // of the message before
  for (const Message& m : expansion.messages) {
    const MessageOrder::Size own{m.bytes, m.chunk, m.reduced};
    if (size >= sizes_.size() || sizes_[size] != own) {
      const auto recent = sizes_.end() - std::min<std::ptrdiff_t>(std::ssize(sizes_), kLookBack);
      size = at(std::find(recent, sizes_.end(), own) - sizes_.begin());
      if (size == sizes_.size()) sizes_.push_back(own);
    }
    word(static_cast<std::int32_t>(size));
    word(m.streams);
    word(m.waits);
    word(m.streamed_waits);
    for (std::int32_t w = 0; w < m.waits; ++w) word(expansion.waits[at(m.first_wait + w)]);
  }
  for (auto [known, end] = known_.equal_range(hash); known != end; ++known)
    if (known->second.words == words_ && known->second.order->sizes == sizes_)
      return known->second.order;
  auto order = std::make_shared<MessageOrder>(expansion);
  order->sizes = sizes_;
  for (std::size_t m = 0, next = 0; m < expansion.messages.size(); ++m) {
    order->size_of.push_back(words_[next]);
    next += 4 + at(words_[next + 2]);
  }
  if (words_.size() > kMostWords * expansion.messages.size()) return order;
  kept_ += expansion.messages.size();
  if (kept_ > kMostKept) {
    known_.clear();
    kept_ = expansion.messages.size();
  }
  known_.emplace(hash, Known{words_, order});
  return order;
}

void Instance::begin(const MessagePlan& plan, int ranks, bool barriers) {
  plan_ = &plan;
  barriers_ = barriers;
  here_ = finished_ = 0;
  const std::vector<std::int32_t>& waits = plan.order->waits;
  messages_left_ = static_cast<std::int64_t>(waits.size());
  states_.clear();
  states_.resize(waits.size());
  // Both ends must have come, or with barriers everybody.
  for (std::size_t m = 0; m < waits.size(); ++m) states_[m].pending = waits[m] + (barriers ? 1 : 2);
  left_.resize(at(ranks));
  for (int i = 0; i < ranks; ++i)
    left_[at(i)] = static_cast<std::int32_t>(plan.touching.of(i).size());
}

void Instance::finish(int i, std::vector<int>& finished) {
  finished.push_back(i);
  ++finished_;
}

void Instance::finish_all(std::vector<int>& finished) {
  for (int i = 0; i < static_cast<int>(left_.size()); ++i) finish(i, finished);
}

void Instance::arrive(int i, double time, std::vector<int>& ready, std::vector<int>& finished) {
  ++here_;
  if (!barriers_) {
    for (const std::int32_t m : plan_->touching.of(i)) met(m, time, ready);
    if (left_[at(i)] == 0) finish(i, finished);
  } else if (here_ == static_cast<int>(left_.size())) {
    for (int m = 0; m < static_cast<int>(states_.size()); ++m) met(m, time, ready);
    if (messages_left_ == 0) finish_all(finished);
  }
}

void Instance::end(int m, double time, std::vector<int>& ready, std::vector<int>& finished) {
  State& ended = state(m);
  ended.ended = true;
  ended.time = time;
  --messages_left_;
  for (const std::int32_t next : plan_->order->followers.of(m)) met(next, time, ready);
  for (const int i : {path(m).from, path(m).to})
    if (--left_[at(i)] == 0 && !barriers_) finish(i, finished);
  if (barriers_ && messages_left_ == 0) finish_all(finished);
}

}  // namespace orrery::sim
