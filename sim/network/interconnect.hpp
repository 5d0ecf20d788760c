// Time and messages: what a replay needs of a simulator.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/index.hpp"

namespace orrery::sim {

/// Called when something that was asked for has happened; `token` belongs to the caller.
class NetworkListener {
 public:
  virtual ~NetworkListener() = default;
  virtual void on_timer(std::uint64_t token) = 0;
  virtual void on_arrival(std::uint64_t token) = 0;
};

/// A simulated clock, and flows that share links max-min fairly. Times in seconds.
///
/// A message of n bytes takes its latency, then n / rate. The rate is its share: all flows grow
/// alike until one of their links is full.
class Interconnect {
 public:
  using Timer = void*;

  virtual ~Interconnect() = default;
  double now() const { return now_; }
  /// Requires  time >= now()
  virtual Timer at(double time, std::uint64_t token) = 0;
  /// For a timer that has not rung.
  virtual void cancel(Timer timer) = 0;
  /// Has a timer that has not rung ring at another time, after all that are due then and were asked
  /// for before.
  virtual Timer move(Timer timer, double time, std::uint64_t token) = 0;
  /// A message of whole bytes over one of the plan's connections, by its number.
  virtual void send(int connection, double bytes, double latency_seconds, std::uint64_t token) = 0;
  /// Until nothing is left to happen.
  virtual void run(NetworkListener& listener) = 0;

 protected:
  double now_ = 0;  ///< current whenever the listener is called
};

/// A network as data: capacities, and which of them each pair of ends uses.
struct InterconnectPlan {
  std::vector<double> bytes_per_second;  ///< for each capacity: a direction of a link, or both
  int ends = 0;
  struct Connection {
    int from, to;
    std::vector<int> capacities;
  };
  std::vector<Connection> connections;
};

}  // namespace orrery::sim
