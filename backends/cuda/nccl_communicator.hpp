// Collectives by NCCL: one rank per GPU, everything in the order of the lanes' streams.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "backends/cuda/cuda_mover.hpp"
#include "backends/cuda/nccl_watch.hpp"
#include "core/runtime/execute/communicator.hpp"

namespace orrery::cuda {

/// run() issues and returns. NCCL counts nothing, so received_from() has the logical bytes of what
/// was issued. Its sums have their own order.
///
/// Each communicating lane has its own communicators, one for all ranks and one for each group that
/// it meets: otherwise two lanes would wait for each other.
class NcclCommunicator final : public Communicator {
 public:
  struct Options {
    int rank = 0, size = 1;
    /// Gives every rank the bytes of rank 0; all ranks call it the same number of times.
    std::function<void(std::string& bytes)> share;
    double wait_seconds = 600;  ///< longest time of one operation
    /// Called on a separate thread when NCCL or an operation has failed; it should end the job.
    std::function<void(const std::string& what)> failed;
  };
  /// Joins the other ranks: all construct theirs.
  ///
  /// Errors    NotBuilt: a library without NCCL · Error
  NcclCommunicator(CudaDevice& device, Options options);
  std::string_view name() const override { return "nccl"; }
  void abort(std::string_view why) noexcept override;

 protected:
  void move(const Call& call, const RankMemory& memory) override;

 private:
  class Move;
  using Key = std::tuple<Lane, std::uint16_t, int, int, int>;
  OrreryNccl* communicator_of(Lane lane, const Group& group, StreamMover& mover);
  OrreryNccl* keep(const Key& key, int size, int rank, const std::string& id);
  std::string id_from_first(OrreryNccl* world, const Group& group, StreamMover& mover);

  CudaDevice& device_;
  Options options_;
  std::mutex mutex_;
  std::map<Key, Handle<OrreryNccl>> communicators_;
  NcclWatch watch_;  ///< last: it looks at them
};

}  // namespace orrery::cuda
