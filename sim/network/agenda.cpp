#include "sim/network/agenda.hpp"

namespace orrery::sim {

void Agenda::put(std::size_t place, const Entry& entry) {
  heap_[place] = entry;
  places_[at(entry.number)] = static_cast<int>(place);
}

/// Towards the front, from a place that is free.
void Agenda::rise(std::size_t place, const Entry& entry) {
  while (place > 0) {
    const std::size_t above = (place - 1) / 2;
    if (!entry.before(heap_[above])) break;
    put(place, heap_[above]);
    place = above;
  }
  put(place, entry);
}

/// Towards the end.
void Agenda::sink(std::size_t place, const Entry& entry) {
  for (;;) {
    std::size_t below = 2 * place + 1;
    if (below >= heap_.size()) break;
    if (below + 1 < heap_.size() && heap_[below + 1].before(heap_[below])) ++below;
    if (!heap_[below].before(entry)) break;
    put(place, heap_[below]);
    place = below;
  }
  put(place, entry);
}

void Agenda::set(int number, double time, std::uint64_t order) {
  if (at(number) >= places_.size()) places_.resize(at(number) + 1, kAbsent);
  const Entry entry{time, order, number};
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

void Agenda::remove(int number) {
  const std::size_t place = at(places_[at(number)]);
  places_[at(number)] = kAbsent;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (place == heap_.size()) return;
  if (place > 0 && last.before(heap_[(place - 1) / 2]))
    rise(place, last);
  else
    sink(place, last);
}

}  // namespace orrery::sim
