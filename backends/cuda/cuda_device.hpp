// A GPU, or a share of one, under one rank: its memory and its patterns.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "backends/cuda/library.hpp"
#include "backends/cuda/near_cores.hpp"
#include "core/runtime/execute/host_device.hpp"
#include "core/runtime/execute/rank_device.hpp"
#include "core/runtime/ledger.hpp"

namespace orrery::cuda {

/// Which GPU a rank works on.
struct GpuChoice {
  int index = 0;       ///< among the GPUs that this process sees
  int sharing = 1;     ///< ranks that work on the same one
  std::string bus_id;  ///< distinguishes the GPUs of a server
};

/// The GPU of the `place`-th rank of a server: ranks take the GPUs in turn. `ranks`: number of
/// ranks of the server. If each process sees other GPUs, whoever knows them all sets `sharing`.
///
/// Errors    NotBuilt (the library) · Error: no driver, no GPU
GpuChoice choose_gpu(int place, int ranks);

/// "NVIDIA A100-SXM4-80GB, driver 12.4, CUDA 13.0, cuBLAS 13.0.2, cuSPARSE 12.6.3".
std::string describe_gpu(int index);

/// The thread that opens one, and those that it starts, stay on the cores beside the GPU until it
/// closes it.
class CudaDevice final : public RankDevice, public Storage {
 public:
  struct Options {
    GpuChoice gpu;
    /// memory of the rank; the arena is as large, or smaller
    std::int64_t device_bytes = kUnlimited;
    bool tf32 = false;           ///< dense products round their operands to TF32
    bool graphs = false;         ///< repeated work is launched as CUDA graphs
    KernelFactory host_kernels;  ///< make the host's random draws: initial weights
    std::chrono::steady_clock::time_point origin = std::chrono::steady_clock::now();
  };
  /// Errors    Error: the GPU has no room for the arena
  explicit CudaDevice(Options options);
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  std::chrono::steady_clock::time_point origin() const override { return options_.origin; }
  Storage& storage() override { return *this; }
  std::unique_ptr<DeviceLane> open_lane(Lane lane) override;
  void drop_pattern(std::uint32_t id) noexcept override;

  // Blocks of Space::device come from the arena. Blocks of the other spaces are pinned host memory,
  // which copies and kernels of the GPU also read and write.
  void* take(Space space, std::int64_t bytes) override;
  void give(Space space, void* block) noexcept override;
  std::int64_t capacity(Space space) const override;
  void set(Space space, void* at, unsigned char byte, std::int64_t bytes) override;
  void read(Space space, void* to, const void* from, std::int64_t bytes) const override;

  const Options& options() const { return options_; }
  OrreryDevice* handle() const { return device_.get(); }
  void put_pattern(std::uint32_t id, Handle<OrreryPattern> pattern);
  struct HeldPattern {
    OrreryPattern* pattern = nullptr;  ///< null if there is none with this id
    std::uint64_t number = 0;          ///< that no other one of this device ever has
  };
  HeldPattern pattern(std::uint32_t id) const;

  /// The origin of the times of a lane's events. GPUs report them with seven digits, so an origin
  /// is good for some seconds.
  struct Moment {
    Handle<OrreryEvent> event;
    double seconds = 0;  ///< since the origin
  };
  std::shared_ptr<const Moment> recent_moment();

 private:
  double now() const;

  Options options_;
  StayOn near_;
  std::int64_t arena_bytes_ = 0;
  Handle<OrreryDevice> device_;
  Handle<OrreryStream> service_;  ///< for what the host sets and reads
  mutable std::mutex service_mutex_;
  mutable std::mutex patterns_mutex_;
  struct OwnedPattern {
    Handle<OrreryPattern> pattern;
    std::uint64_t number;
  };
  std::map<std::uint32_t, OwnedPattern> patterns_;
  std::uint64_t patterns_so_far_ = 0;
  std::shared_ptr<const Moment> moment_;
};

}  // namespace orrery::cuda
