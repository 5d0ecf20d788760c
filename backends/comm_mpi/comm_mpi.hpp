// Ranks as processes started by mpirun: collectives over MPI's point-to-point messages.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster/placement.hpp"
#include "core/runtime/execute/communicator.hpp"

namespace orrery {

/// Why a job ends.
struct JobFailure {
  std::optional<int> rank;  ///< the rank that failed, died or was stopped; absent if unknown
  int told_by = 0;          ///< the reporting rank
  /// The operation of that rank, "all_reduce, epoch 3 synchronise on comm", and the ranks it waited
  /// for; empty if there was none.
  std::string operation;
  std::vector<int> awaited;
  std::string message;        ///< one readable line
  bool first_living = false;  ///< no rank before `told_by` lives on its server
};

struct MpiOptions {
  double heartbeat_seconds = 1;  ///< between signs of life to the next rank of the ring
  double silence_seconds = 7;    ///< a rank that is silent for this long counts as dead
  /// Longest wait of one operation without progress while all ranks live; then an Error names the
  /// operation and the ranks it waits for.
  double wait_seconds = 600;
  double notice_seconds = 30;  ///< a line on stderr after this time (and after twice that, ...)
  /// Asked by a rank that is about to print the message that ends the job (absent: yes), so that
  /// the ranks can agree on one message, and store it.
  std::function<bool(const JobFailure&)> may_report;
  /// Set by a SIGTERM handler: the job is being ended from outside, as mpirun does when a rank has
  /// died. A waiting rank then says whom it waits for.
  const std::atomic<bool>* ending = nullptr;
  /// How many processes were started, as the environment says (0: not known). If MPI sees another number,
  /// what started them belongs to another MPI library, and the world is not made.
  int processes = 0;
};

/// This process as one rank of the job. A rank that throws, exits, is killed or is stopped, or an
/// mpirun that is gone or does not react, ends the whole job a little after `silence_seconds`:
/// nobody waits forever.
///
/// Requires  one MpiWorld in the life of a process; all ranks construct and destroy theirs
class MpiWorld {
 public:
  /// Whether this build has MPI.
  static bool built();
  /// Joins the ranks of the job.
  ///
  /// Errors    NotBuilt · Error
  explicit MpiWorld(MpiOptions options);
  /// Leaves when all ranks do. While an exception passes, it leaves without the others, who end
  /// when this process does. Errors while a world lives should be reported to fail().
  ~MpiWorld();
  MpiWorld(const MpiWorld&) = delete;
  MpiWorld& operator=(const MpiWorld&) = delete;

  int rank() const;
  int size() const;
  /// Ranks that share memory are on one server.
  Placement placement() const;

  // Exchanges of the host programs, outside any Runtime. All ranks must call the same ones in the
  // same order.
  //
  // Errors    ProgramError if they do not · Error if the others do not answer

  /// bytes of every rank ← those of `root`.
  void share(std::string& bytes, int root = 0);
  /// Everyone's bytes by rank, at rank 0; empty elsewhere.
  std::vector<std::string> gather(const std::string& bytes);
  /// Everyone's bytes by rank, everywhere.
  std::vector<std::string> all_gather(const std::string& bytes);
  /// Whether `mine` is true anywhere: the same answer everywhere.
  bool any(bool mine);

  /// All ranks have agreed to end in order: MpiOptions::ending is what they heed, and no failure.
  void expect_end();

  /// Runs this rank's part. If it throws, one line on stderr says so and the job ends: see fail().
  void run(const std::function<void(Communicator&)>& body);
  /// Ends the job with that exit status (2 for a ConfigError that leaves run()), after "orrery:
  /// error: rank R: <what>" on stderr if may_report().
  [[noreturn]] void fail(std::string_view what, int status = 1);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace orrery
