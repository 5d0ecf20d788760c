// Settings of a real run.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "core/cluster/placement.hpp"
#include "core/runtime/body.hpp"
#include "core/runtime/ledger.hpp"
#include "core/runtime/timeline.hpp"

namespace orrery {

struct ExecuteOptions {
  std::string kernels = "cpu";  ///< cpu | reference | cuda
  bool tf32 = false;            ///< dense products of cuda in TF32
  bool cuda_graph = false;      ///< repeated work is launched as CUDA graphs
  bool nccl = false;            ///< with cuda and ranks as processes: collectives by NCCL
  Placement placement;
  Capacities capacities;             ///< of each rank
  bool keep_steps = false;           ///< also record what is executed
  std::int64_t guard_bytes = 0;      ///< guards around every tensor
  EpochRange timeline_epochs{0, 3};  ///< epochs whose spans are kept
  /// Set by a signal: all ranks stop after the same epoch.
  const std::atomic<bool>* stop = nullptr;
  RunControl control;
  /// Called with the host memory that the tensors of all ranks on this machine will need, in bytes,
  /// before any of them exists; what it throws ends the run.
  std::function<void(std::int64_t)> require_memory;
  /// Called with the checkpoints of rank 0, on a separate thread; what it throws ends the run.
  std::function<void(const Checkpoint&)> keep;
  /// The same of every model that is the best so far (TrainConfig::keep_best).
  std::function<void(const Checkpoint&)> keep_best;
};

}  // namespace orrery
