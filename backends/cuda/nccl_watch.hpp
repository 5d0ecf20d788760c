// Notices that NCCL has failed or an operation does not end. Nothing else would, because the ranks'
// threads have gone on.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backends/cuda/cuda_device.hpp"

namespace orrery::cuda {

class NcclWatch {
 public:
  /// `failed` is called at most once, on a separate thread; all communicators have been aborted
  /// then, so that whoever waits for the streams continues.
  NcclWatch(CudaDevice& device, int rank, double wait_seconds,
            std::function<void(const std::string& what)> failed);
  ~NcclWatch();
  NcclWatch(const NcclWatch&) = delete;
  NcclWatch& operator=(const NcclWatch&) = delete;

  void add(OrreryNccl* communicator);
  /// An operation will be issued to the stream; NCCL may wait for other ranks there, too.
  void begins(OrreryStream* stream, const std::string& operation);
  /// It has been issued.
  void issued(OrreryStream* stream);
  /// Ends all operations under way, now and later, without a report.
  void abort() noexcept;
  bool aborted() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Operation {
    std::string what;
    Clock::time_point since;  ///< begun, or at the head of its stream
    Handle<OrreryEvent> end;  ///< null until it is issued
  };
  void watch();
  std::string look();
  void abort_locked() noexcept;

  CudaDevice& device_;
  int rank_;
  double wait_seconds_;
  std::function<void(const std::string&)> failed_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<OrreryNccl*> communicators_;
  std::map<OrreryStream*, std::deque<Operation>> under_way_;
  std::vector<Handle<OrreryEvent>> spare_;
  bool aborted_ = false, stop_ = false;
  std::thread thread_;
};

}  // namespace orrery::cuda
