#include "sim/network/agenda.hpp"

#include <algorithm>
#include <utility>

#include "core/base/error.hpp"

namespace orrery::sim {
namespace {

/// Entries of a slot when the calendar is made. More come while they wait: most events follow their
/// causes closely.
constexpr double kInASlot = 0.5;
/// Entries that count for nothing, beside as many as those that do, before they are thrown away; and
/// entries that come late, beside four times as many, before slots have another width.
constexpr std::size_t kMostOld = 1024, kMostLate = 256;

}  // namespace

void Agenda::set(int number, double time, std::uint64_t order) {
  ORRERY_ASSERT(number >> kNumberBits == 0 && order >> (64 - kNumberBits) == 0 && time >= 0);
  if (at(number) >= present_.size()) present_.resize(at(number) + 1, kAbsent);
  const Entry entry{std::bit_cast<std::uint64_t>(time + 0.0),
                    order << kNumberBits | static_cast<std::uint64_t>(number)};
  const Entry former = std::exchange(present_[at(number)], entry);
  if (former == kAbsent) ++count_;
  if (former == entry) return;
  put(entry);
  ++stored_;
  if (entry.before(first_))
    first_ = entry;
  else if (former == first_)
    find_first();
  if (stored_ > 2 * count_ + kMostOld || late_puts_ > 4 * count_ + kMostLate) renew();
}

void Agenda::remove(int number) {
  const Entry former = std::exchange(present_[at(number)], kAbsent);
  --count_;
  if (former == first_) find_first();
}

int Agenda::take_first() {
  const auto number = static_cast<int>(first_.number());
  remove(number);
  return number;
}

/// Where an entry belongs. Rounding does not matter: a later time never has an earlier slot.
void Agenda::put(const Entry& entry) {
  const double slot = (std::bit_cast<double>(entry.time) - begin_) * slots_a_second_;
  if (slot >= static_cast<double>(kSlots)) {
    beyond_.push_back(entry);
  } else if (slot >= static_cast<double>(slot_ + 1)) {
    slots_[static_cast<std::size_t>(slot)].push_back(entry);
  } else {
    late_.push_back(entry);
    std::push_heap(late_.begin(), late_.end(), Later{});
    ++late_puts_;
  }
}

void Agenda::find_first() {
  do {
    while (!now_.empty() && !counts(now_.back())) {
      now_.pop_back();
      --stored_;
    }
    while (!late_.empty() && !counts(late_.front())) {
      std::pop_heap(late_.begin(), late_.end(), Later{});
      late_.pop_back();
      --stored_;
    }
  } while (now_.empty() && late_.empty() && turn());
  first_ = kAbsent;
  if (!now_.empty()) first_ = now_.back();
  if (!late_.empty() && late_.front().before(first_)) first_ = late_.front();
}

/// To the next slot that has entries; false if there is none.
bool Agenda::turn() {
  while (++slot_ < kSlots)
    if (!slots_[slot_].empty()) {
      now_.swap(slots_[slot_]);
      if (now_.size() > 1) std::sort(now_.begin(), now_.end(), Later{});
      return true;
    }
  if (beyond_.empty()) {
    slot_ = kSlots - 1;
    return false;
  }
  spread();
  return true;
}

/// Makes a new calendar, without what counts for nothing.
void Agenda::renew() {
  const auto move = [&](std::vector<Entry>& from) {
    beyond_.insert(beyond_.end(), from.begin(), from.end());
    from.clear();
  };
  move(now_);
  move(late_);
  for (auto& slot : slots_) move(slot);
  spread();
  find_first();
}

/// Spreads what lies beyond over a new calendar, whose width is that of the earlier half.
void Agenda::spread() {
  std::vector<Entry> all;
  all.swap(beyond_);
  stored_ = 0;
  std::erase_if(all, [&](const Entry& entry) { return !counts(entry); });
  slot_ = 0;
  late_puts_ = 0;
  if (all.empty()) {
    begin_ = slots_a_second_ = 0;
    return;
  }
  const auto half = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  const auto earlier = [](const Entry& a, const Entry& b) { return a.before(b); };
  std::nth_element(all.begin(), half, all.end(), earlier);
  begin_ = std::bit_cast<double>(std::min_element(all.begin(), half + 1, earlier)->time);
  const double width = std::bit_cast<double>(half->time) - begin_;
  const double slots =
      std::min(static_cast<double>(kSlots), static_cast<double>(all.size() / 2) / kInASlot);
  // If they do not differ, or one is never, the first slot has them all.
  slots_a_second_ = width > 0 && width < 1e300 ? slots / width : 0;
  for (const Entry& entry : all) put(entry);
  stored_ = all.size();
  late_puts_ = 0;
}

}  // namespace orrery::sim
