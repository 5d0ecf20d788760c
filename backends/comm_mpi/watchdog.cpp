#include "backends/comm_mpi/watchdog.hpp"

#include <fmt/core.h>

#include <cstdlib>

#include "backends/comm_mpi/batch.hpp"

namespace orrery::mpi {
namespace {

constexpr auto kLook = std::chrono::milliseconds(50);  // between looks of the watchdog
constexpr double kOwnDelay = 2;                        // seconds: this process itself was stopped
constexpr double kWaitsForTheDead = 0.3;               // seconds without progress
constexpr double kGrace = 0.4;        // seconds between SIGTERM and the end; mpirun leaves one
                                      // second until SIGKILL, in which the line must be written
constexpr double kLookAround = 0.5;   // seconds between looks at the ranks of this server
constexpr double kDeadForLong = 1.5;  // seconds in which mpirun should have noticed
constexpr int kPatience = 20;         // tries to get the library's lock
constexpr char kAlive = 1, kFarewell = 2;

double seconds(std::chrono::steady_clock::duration d) {
  return std::chrono::duration<double>(d).count();
}

}  // namespace

Watchdog::Watchdog(Engine& engine) : engine_(engine), thread_([this] { watch(); }) {}

Watchdog::~Watchdog() { stop(); }

void Watchdog::stop() {
  leaving_ = true;
  if (thread_.joinable()) thread_.join();
}

void Watchdog::abandon() {
  abandoned_ = true;
  stop();
}

void Watchdog::watch() {
  while (!abandoned_) {
    const auto now = Clock::now();
    // While this process was stopped, or got no core, the others' signs could not be read.
    if (seconds(now - looked_) > kOwnDelay) heard_ = now;
    looked_ = now;
    const bool leaving = leaving_;
    if (!alone() && !end_seen_ && !engine_.frozen()) {
      send_sign(now, leaving);
      listen(now);
      judge_silence(now);
      if (!leaving) judge_neighbours(now);
    }
    judge_end(now);
    if (!leaving) judge_parent();
    if (leaving && (alone() || (said_farewell_ && heard_farewell_))) return;
    std::this_thread::sleep_for(leaving ? std::chrono::milliseconds(1) : kLook);
  }
}

void Watchdog::send_sign(Clock::time_point now, bool leaving) {
  const auto lock = try_library_lock();
  if (!lock.owns_lock()) return;
  int done = 1;
  if (sending_ != MPI_REQUEST_NULL) MPI_Test(&sending_, &done, MPI_STATUS_IGNORE);
  if (done == 0) return;
  if (out_ == kFarewell) {
    said_farewell_ = true;
    return;
  }
  if (!leaving && seconds(now - sent_) < engine_.options().heartbeat_seconds) return;
  out_ = leaving ? kFarewell : kAlive;
  sent_ = now;
  const int next = (engine_.rank() + 1) % engine_.size();
  MPI_Isend(&out_, 1, MPI_CHAR, next, 0, engine_.control_comm(), &sending_);
}

void Watchdog::listen(Clock::time_point now) {
  const auto lock = try_library_lock();
  if (!lock.owns_lock()) return;
  const int previous = (engine_.rank() + engine_.size() - 1) % engine_.size();
  while (!heard_farewell_) {
    if (listening_ == MPI_REQUEST_NULL)
      MPI_Irecv(&in_, 1, MPI_CHAR, previous, 0, engine_.control_comm(), &listening_);
    int done = 0;
    MPI_Test(&listening_, &done, MPI_STATUS_IGNORE);
    if (done == 0) return;
    heard_ = now;
    heard_farewell_ = in_ == kFarewell;
  }
}

void Watchdog::judge_silence(Clock::time_point now) {
  const double silent = seconds(now - heard_);
  if (heard_farewell_ || silent < engine_.options().silence_seconds) return;
  const int previous = (engine_.rank() + engine_.size() - 1) % engine_.size();
  // Nobody ends this process meanwhile, so that a busy machine has time to say what waits.
  std::string waits;
  for (int i = 0; i < kPatience && waits.empty(); ++i) waits = waits_here(0);
  engine_.fail(fmt::format("rank {} has been silent for {:.0f} s: it was stopped, has lost its "
                           "connection or is gone{}",
                           previous, silent, waits.empty() ? "" : "; " + waits),
               1, previous);
}

void Watchdog::judge_end(Clock::time_point now) {
  if (engine_.options().ending == nullptr || !*engine_.options().ending || end_expected_) return;
  if (!end_seen_) end_seen_ = now;
  const std::vector<int> dead = engine_.neighbours().dead();
  const std::string waits = waits_here(kWaitsForTheDead);
  // Ranks on the server of a dead rank know it: they report first.
  if ((waits.empty() || dead.empty()) && seconds(now - *end_seen_) < kGrace) return;
  if (dead.empty())
    engine_.report(
        fmt::format("the job is being ended from outside, perhaps because a rank died, which "
                    "mpirun names then{}",
                    waits.empty() ? "" : "; here " + waits),
        std::nullopt);
  else
    report_dead(dead, waits);
  std::_Exit(1);  // whoever ends the job needs no MPI_Abort for it
}

/// mpirun notices first, and asks all to end, unless it is stopped or gone itself.
void Watchdog::judge_neighbours(Clock::time_point now) {
  if (end_seen_ || seconds(now - looked_around_) < kLookAround) return;
  looked_around_ = now;
  const std::vector<int> dead = engine_.neighbours().dead();
  if (dead.empty()) return death_seen_.reset();
  if (!death_seen_) death_seen_ = now;
  if (seconds(now - *death_seen_) < kDeadForLong) return;
  report_dead(dead, waits_here(0));
  engine_.end();
}

void Watchdog::report_dead(const std::vector<int>& dead, const std::string& waits) const {
  engine_.report(fmt::format("{} died{}", ranks_text(dead), waits.empty() ? "" : "; here " + waits),
                 dead.front());
}

/// Ranks whose mpirun is gone would compute on for nobody.
void Watchdog::judge_parent() {
  if (!parent_.gone()) return;
  const std::string waits = waits_here(0);
  engine_.report(fmt::format("mpirun, which started this job, has died{}",
                             waits.empty() ? "" : "; here " + waits),
                 std::nullopt);
  std::_Exit(1);
}

/// "all_reduce, epoch 3 synchronise on comm waits for rank 2" for every operation without progress
/// for this long.
std::string Watchdog::waits_here(double longer_than) const {
  const std::unique_lock lock = try_library_lock();
  std::string text;
  if (!lock.owns_lock()) return text;
  for (const Batch* batch : engine_.batches()) {
    const auto whom = batch->awaited();
    if (whom.empty() || batch->seconds_without_progress() < longer_than) continue;
    text += fmt::format("{}{} waits for {}", text.empty() ? "" : "; ", to_string(batch->title()),
                        ranks_text(whom));
  }
  return text;
}

}  // namespace orrery::mpi
