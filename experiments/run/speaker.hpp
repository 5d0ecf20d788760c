// Which rank of a job over MPI reports why it ends.
#pragma once

#include <filesystem>

#include "backends/comm_mpi/comm_mpi.hpp"

namespace orrery {

/// Lets the ranks agree on one message when several fail, and stores it: the first that puts
/// failure.json into the result folder reports. Before that exists, the lowest living rank reports,
/// and the others only if they outlive it.
class Speaker {
 public:
  /// `asked`: the folder that the user named, if any.
  explicit Speaker(std::filesystem::path asked) : asked_(std::move(asked)) {}
  void meet_in(const std::filesystem::path& folder) { folder_ = folder; }
  bool may_speak(const JobFailure& failure) const;

 private:
  std::filesystem::path asked_, folder_;
};

}  // namespace orrery
