#include "sim/cores/host.hpp"

#include <algorithm>

#include "core/base/error.hpp"

namespace orrery::sim {

double HostClock::work_at(double time) const {
  const Turn& last = turns_.back();
  return last.work + (time - last.time) * last.rate;
}

double HostClock::time_of(double work) const {
  const auto after = [](double value, const Turn& turn) { return value < turn.work; };
  const auto next = std::upper_bound(turns_.begin() + 1, turns_.end(), work, after);
  const Turn& turn = *(next - 1);
  return turn.time + (work - turn.work) / turn.rate;
}

void HostClock::turn(double now, double rate) { turns_.push_back({now, work_at(now), rate}); }

Host::Host(Interconnect& network, int cores, double memory_bytes_per_second,
           std::uint64_t cores_token, std::uint64_t memory_token)
    : own_(std::in_place, network, cores, 1.0, cores_token),
      cores_(cores),
      memory_bytes_per_second_(memory_bytes_per_second),
      memory_(network, 1, 1.0, memory_token) {}

Host::Host(Interconnect& network, Processor& device, int cores, double memory_bytes_per_second,
           std::uint64_t memory_token)
    : device_(&device),
      cores_(cores),
      memory_bytes_per_second_(memory_bytes_per_second),
      memory_(network, 1, 1.0, memory_token) {}

int Host::start(double seconds, int threads, double bytes, std::uint64_t token, Thread thread) {
  ORRERY_ASSERT(has_cores() && (bytes == 0 || has_memory()));
  const double passing = bytes == 0 ? 0 : bytes / memory_bytes_per_second_;
  // A thread that waits for memory keeps its core.
  cores().start(cores().takes_turns() ? std::max(seconds, passing) : seconds, threads, token,
                thread);
  if (bytes == 0) return 1;
  memory_.start(passing, 1, token);
  return 2;
}

bool Host::follow(double now) {
  if (!issues()) return false;
  const double before = clock_.rate(), rate = own_->rate();
  if (rate != before) clock_.turn(now, rate);
  return rate > before;
}

}  // namespace orrery::sim
