// The processes of the ranks on this server, as the system shows them.
#pragma once

#include <sys/types.h>

#include <vector>

namespace orrery::mpi {

/// The processes that ranks of this server run in. The start time separates a process from a later
/// one with the same number.
class Neighbours {
 public:
  /// Ranks and their processes, one for one.
  void know(const std::vector<int>& ranks, const std::vector<pid_t>& processes);
  /// Ranks of this server whose process has ended.
  std::vector<int> dead() const;
  /// Whether no rank before this one lives on this server, so that this one may report for all.
  bool first_living(int rank) const;

 private:
  struct Known {
    int rank;
    pid_t process;
    unsigned long long started;
  };
  std::vector<Known> known_;
};

/// While ranks start, before they know each other: which of `size` have no living process, or a
/// stopped one, by the environment that mpirun (Open MPI) gives to its children. Nothing if they
/// are on several servers or something else has started them.
std::vector<int> lost_at_start(int size);

/// Notices that mpirun, which started this process, is gone; never if something else started it.
class Parent {
 public:
  Parent();
  bool gone() const;

 private:
  pid_t parent_ = -1;  ///< -1: not mpirun
};

}  // namespace orrery::mpi
