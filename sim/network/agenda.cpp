#include "sim/network/agenda.hpp"

#include <algorithm>

#include "core/base/error.hpp"

namespace orrery::sim {
namespace {

constexpr std::size_t kBranches = 4;

}  // namespace

/// The earliest of the (up to four) entries from one place on.
std::size_t Agenda::first_of(std::size_t begin, std::size_t size) const {
  if (begin + kBranches <= size) {
    const Entry* four = heap_.data() + begin;
    const std::size_t a = four[1].before(four[0]), b = 2 + std::size_t{four[3].before(four[2])};
    return begin + (four[b].before(four[a]) ? b : a);
  }
  std::size_t first = begin;
  for (std::size_t i = begin + 1; i < size; ++i)
    if (heap_[i].before(heap_[first])) first = i;
  return first;
}

/// Towards the front, from a place that is free.
void Agenda::rise(std::size_t place, const Entry& entry) {
  while (place > 0) {
    const std::size_t above = (place - 1) / kBranches;
    if (!entry.before(heap_[above])) break;
    put(place, heap_[above]);
    place = above;
  }
  put(place, entry);
}

/// Towards the end.
void Agenda::sink(std::size_t place, const Entry& entry) {
  const std::size_t size = heap_.size();
  for (;;) {
    const std::size_t first = kBranches * place + 1;
    if (first >= size) break;
    const std::size_t below = first_of(first, size);
    if (!heap_[below].before(entry)) break;
    put(place, heap_[below]);
    place = below;
  }
  put(place, entry);
}

void Agenda::set(int number, double time, std::uint64_t order) {
  ORRERY_ASSERT(number >> kNumberBits == 0 && order >> (64 - kNumberBits) == 0 && time >= 0);
  if (at(number) >= places_.size()) places_.resize(at(number) + 1, kAbsent);
  const Entry entry{std::bit_cast<std::uint64_t>(time + 0.0),
                    order << kNumberBits | static_cast<std::uint64_t>(number)};
  if (places_[at(number)] == kAbsent) {
    heap_.emplace_back();
    return rise(heap_.size() - 1, entry);
  }
  const std::size_t place = at(places_[at(number)]);
  if (entry.before(heap_[place]))
    rise(place, entry);
  else
    sink(place, entry);
}

int Agenda::take_first() {
  const auto number = static_cast<int>(heap_.front().number());
  remove(number);
  return number;
}

void Agenda::remove(int number) {
  const std::size_t place = at(places_[at(number)]);
  places_[at(number)] = kAbsent;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (place == heap_.size()) return;
  if (place > 0 && last.before(heap_[(place - 1) / kBranches]))
    rise(place, last);
  else
    sink(place, last);
}

}  // namespace orrery::sim
