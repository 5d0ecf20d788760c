// The processes of the ranks on this server, as the system tells about them.
#pragma once

#include <sys/types.h>

#include <vector>

namespace orrery::mpi {

/// The processes that ranks of this server run in. A process is told from a later one of its number
/// by when it was started.
class Neighbours {
 public:
  /// Ranks and their processes, one for one.
  void know(const std::vector<int>& ranks, const std::vector<pid_t>& processes);
  /// Ranks of this server whose process has ended.
  std::vector<int> dead() const;
  /// Whether no rank before this one lives on this server, so that this one may speak for all.
  bool first_living(int rank) const;

 private:
  struct Known {
    int rank;
    pid_t process;
    unsigned long long started;
  };
  std::vector<Known> known_;
};

/// While ranks start, before they know each other: which of `size` have no living process, or one
/// that is stopped, by the environment that mpirun (Open MPI) gives to its children. Nothing where
/// they are on several servers or something else has started them.
std::vector<int> lost_at_start(int size);

/// Notices that mpirun is gone, which started this process; never where something else did.
class Parent {
 public:
  Parent();
  bool gone() const;

 private:
  pid_t parent_ = -1;  ///< -1: not mpirun
};

}  // namespace orrery::mpi
