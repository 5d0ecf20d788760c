// A communicator of host memory (MPI) for a rank whose tensors are on a GPU: sent data goes to
// pinned memory first, received data from there to the GPU.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "backends/cuda/cuda_mover.hpp"
#include "core/runtime/execute/communicator.hpp"

namespace orrery::cuda {

/// Sums, counts, time-outs and errors are those of the communicator below.
class StagedCommunicator final : public Communicator {
 public:
  StagedCommunicator(Communicator& below, int ranks, int rank, CudaDevice& device);
  std::string_view name() const override { return below_.name(); }
  void abort(std::string_view why) noexcept override { below_.abort(why); }
  void close_stores() noexcept override { below_.close_stores(); }
  Storage& server_storage() override { return below_.server_storage(); }
  std::vector<std::int64_t> received_from() const override { return below_.received_from(); }

 protected:
  void move(const Call& call, const RankMemory& memory) override;

 private:
  class Stage;
  /// The pinned memory of one lane: a block for each operand of a call, as large as was ever
  /// needed.
  struct Room {
    explicit Room(CudaDevice& device) : memory(0, device) {}
    RankMemory memory;
    std::vector<std::int64_t> bytes;
  };

  Communicator& below_;
  int rank_;
  CudaDevice& device_;
  std::array<std::unique_ptr<Room>, kLanes> rooms_;  ///< each used by its lane's thread alone
};

}  // namespace orrery::cuda
