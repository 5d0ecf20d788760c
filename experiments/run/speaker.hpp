// Which rank of a job over MPI tells why it ends.
#pragma once

#include <filesystem>

#include "backends/comm_mpi/comm_mpi.hpp"

namespace orrery {

/// Lets the ranks agree on one message when several fail, and keeps it: the first to put failure.json
/// into the result folder speaks. Before that is there, the lowest that lives does, and the others
/// only if they outlive it.
class Speaker {
 public:
  /// `asked`: the folder that the user named, if so.
  explicit Speaker(std::filesystem::path asked) : asked_(std::move(asked)) {}
  void meet_in(const std::filesystem::path& folder) { folder_ = folder; }
  bool may_speak(const JobFailure& failure) const;

 private:
  std::filesystem::path asked_, folder_;
};

}  // namespace orrery
