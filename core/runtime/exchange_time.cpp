#include "core/runtime/exchange_time.hpp"

#include <algorithm>

namespace orrery {

void ExchangeTime::add_wait(double begin, double inside, double outside) {
  const double both = std::max(0.0, std::min(inside, outside) - begin);
  add(false, both / 2);
  add(true, both / 2);
  const double from = begin + both;
  add(false, std::max(0.0, inside - from));
  add(true, std::max(0.0, outside - from));
}

std::optional<double> ExchangeTime::external_share() const {
  const double all = seconds_[0] + seconds_[1];
  if (all <= 0) return std::nullopt;
  return seconds_[1] / all;
}

void ExchangeTime::count(Counts& counts, bool external, int change, double now) {
  const bool moves = moving_[0] + moving_[1] > 0;
  divide(moves ? moving_ : awaited_, now - since_);
  since_ = now;
  counts[external ? 1 : 0] += change;
}

void ExchangeTime::divide(const Counts& among, double seconds) {
  if (seconds <= 0) return;
  const bool inside = among[0] > 0, between = among[1] > 0;
  const double each = inside && between ? seconds / 2 : seconds;
  if (inside) seconds_[0] += each;
  if (between) seconds_[1] += each;
}

double external_share_of_bytes(const Op& op, const Placement& placement, int rank) {
  double all = 0, outside = 0;
  const auto add = [&](int peer, double weight) {
    all += weight;
    if (!placement.same_server(rank, peer)) outside += weight;
  };
  received_bytes(op, rank, add);
  served_bytes(op, rank, add);
  if (all > 0) return outside / all;
  const Group group = *group_of(op);
  for (int i = 0; i < group.size; ++i)
    if (group.rank_of(i) != rank) add(group.rank_of(i), 1);
  return all > 0 ? outside / all : 0;
}

}  // namespace orrery
