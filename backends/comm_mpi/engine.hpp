// Shared by all parts of the MPI communicator: the library itself, its lock, and the end of a job.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/comm_mpi/comm_mpi.hpp"
#include "backends/comm_mpi/neighbours.hpp"
#include "core/base/index.hpp"
#include "core/cluster/placement.hpp"

namespace orrery::mpi {

class Batch;

/// Every MPI call of the process is made under this lock. (The library then needs no locks of its
/// own, and lane threads, watchdog and host program may all use it.)
std::mutex& library_lock();
/// The lock, or nothing if it is held for 50 ms by a thread that hangs inside the library, perhaps
/// because of a dead rank.
std::unique_lock<std::mutex> try_library_lock();

/// MPI, initialised, with one communicator for each kind of traffic, so that they never mix.
class Engine {
 public:
  explicit Engine(MpiOptions options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  const MpiOptions& options() const { return options_; }
  const Placement& placement() const { return placement_; }
  MPI_Comm comm_of(Lane lane) const { return lanes_[at(lane)]; }
  MPI_Comm host_comm() const { return host_; }
  MPI_Comm control_comm() const { return control_; }
  /// Requests for rows of stores and their answers.
  MPI_Comm rows_comm() const { return rows_; }
  /// A tag that separates calls of one kind as far as MPI's range of tags allows.
  int tag_of(int kind, std::uint64_t call) const;
  /// The tag of a lane's answers; each lane awaits those of one op at a time.
  static int answer_tag(int kind, Lane lane);
  static int kind_of_tag(int tag);

  /// From now on this process sends and receives nothing, because memory that messages arrive in
  /// may be freed: whoever waits, now or later, gets Aborted with this reason.
  void freeze(std::string_view why) noexcept;
  /// Throws Aborted after freeze(). Call with the lock held.
  void require_alive() const;
  bool frozen() const;
  /// Asks whether this rank may report why the job ends. `failed`: the rank at fault; absent if
  /// unknown.
  bool claim(std::string_view what, std::optional<int> failed) const noexcept;
  /// The same, if this rank is at fault.
  bool claim(std::string_view what) const noexcept { return claim(what, rank_); }
  /// Prints why the job ends, if this rank may.
  void report(std::string_view what, std::optional<int> failed) const noexcept;
  /// Prints the reason (if this rank may) and ends all ranks.
  [[noreturn]] void fail(std::string_view what, int status, std::optional<int> failed) noexcept;
  [[noreturn]] void fail(std::string_view what, int status = 1) noexcept {
    fail(what, status, rank_);
  }
  /// Ends all ranks without a message.
  [[noreturn]] void end(int status = 1) noexcept;

  /// The other ranks of this server.
  const Neighbours& neighbours() const { return neighbours_; }

  /// The operations under way. Use with the lock held.
  std::vector<const Batch*>& batches() { return batches_; }

 private:
  /// Leaves MPI and throws, if it sees another number of processes than were started.
  void require_all_processes() const;
  void find_servers();

  MpiOptions options_;
  int rank_ = 0, size_ = 1, tag_space_ = 0;
  std::array<MPI_Comm, kLanes> lanes_{};
  MPI_Comm host_ = MPI_COMM_NULL, control_ = MPI_COMM_NULL, rows_ = MPI_COMM_NULL;
  Placement placement_;
  Neighbours neighbours_;
  std::atomic<bool> frozen_ = false;
  mutable std::atomic<bool> reported_ = false;  ///< why this rank ends
  std::string why_;
  std::vector<const Batch*> batches_;
};

/// Throws an Error naming the call unless it succeeded.
void require_success(int code, std::string_view call);

}  // namespace orrery::mpi
