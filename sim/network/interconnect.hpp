// Time and messages: what a replay needs of a simulator.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/index.hpp"

namespace orrery::sim {

/// Told when something that was asked for has happened; `token` is the asker's own.
class NetworkListener {
 public:
  virtual ~NetworkListener() = default;
  virtual void on_timer(std::uint64_t token) = 0;
  virtual void on_arrival(std::uint64_t token) = 0;
};

/// A simulated clock, and flows that share links max-min fairly. Times in seconds.
///
/// A message of n bytes takes its latency, then n / rate, where the rate is its share: all flows
/// grow alike until a link of theirs is full.
class Interconnect {
 public:
  using Timer = void*;

  virtual ~Interconnect() = default;
  virtual double now() const = 0;
  /// Requires  time >= now()
  virtual Timer at(double time, std::uint64_t token) = 0;
  /// Of a timer that has not rung.
  virtual void cancel(Timer timer) = 0;
  /// A message of whole bytes over one of the plan's connections, by its number.
  virtual void send(int connection, double bytes, double latency_seconds, std::uint64_t token) = 0;
  /// Until nothing is left to happen.
  virtual void run(NetworkListener& listener) = 0;
};

/// What a network is made of: capacities, and which of them each pair of ends uses.
struct InterconnectPlan {
  std::vector<double> bytes_per_second;  ///< of each capacity: a direction of a link, or both
  int ends = 0;
  struct Connection {
    int from, to;
    std::vector<int> capacities;
  };
  std::vector<Connection> connections;
};

}  // namespace orrery::sim
