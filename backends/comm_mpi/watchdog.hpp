// Notices ranks that are gone, and then ends the job.
#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "backends/comm_mpi/engine.hpp"
#include "backends/comm_mpi/neighbours.hpp"

namespace orrery::mpi {

/// A thread that sends signs of life to the next rank of the ring and listens for those of the rank
/// before. A rank that computes or waits is alive; one that was killed or stopped is not.
class Watchdog {
 public:
  explicit Watchdog(Engine& engine);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Ends the watch. All ranks must have agreed to leave: each still receives its predecessor's
  /// farewell.
  void stop();
  /// That somebody ends the job is no failure from now on.
  void expect_end() { end_expected_ = true; }
  /// Ends the watch at once; the others will miss this rank.
  void abandon();

 private:
  using Clock = std::chrono::steady_clock;
  void watch();
  bool alone() const { return engine_.size() == 1; }
  void send_sign(Clock::time_point now, bool leaving);
  void listen(Clock::time_point now);
  void judge_silence(Clock::time_point now);
  void judge_end(Clock::time_point now);
  void judge_neighbours(Clock::time_point now);
  void judge_parent();
  void report_dead(const std::vector<int>& dead, const std::string& waits) const;
  std::string waits_here(double longer_than) const;

  Engine& engine_;
  std::atomic<bool> leaving_ = false, abandoned_ = false, end_expected_ = false;
  bool said_farewell_ = false, heard_farewell_ = false;
  char out_ = 0, in_ = 0;
  MPI_Request sending_ = MPI_REQUEST_NULL, listening_ = MPI_REQUEST_NULL;
  Clock::time_point sent_{}, heard_ = Clock::now(), looked_ = Clock::now();
  Clock::time_point looked_around_{};
  std::optional<Clock::time_point> end_seen_, death_seen_;
  Parent parent_;
  std::thread thread_;
};

}  // namespace orrery::mpi
