// Runs ops through the C table on copies of a test's memory, so that the tests of kernels on the
// host serve those on a device.
#pragma once

#include <stdexcept>

#include "tests/backends/kernel_cases/backend.hpp"
#include "tests/cuda/library.hpp"

namespace orrery::testing {

/// A device and one stream, for as long as it lives.
class CudaSession {
 public:
  explicit CudaSession(const OrreryCudaApi& table,
                       std::int64_t arena_bytes = std::int64_t{256} << 20U)
      : api(table) {
    must(api.device_open(0, arena_bytes, &device));
    must(api.stream_open(device, &stream));
  }
  ~CudaSession() {
    api.stream_close(stream);
    api.device_close(device);
  }
  CudaSession(const CudaSession&) = delete;
  CudaSession& operator=(const CudaSession&) = delete;

  void must(int code) const {
    if (code != kOrreryOk) throw std::runtime_error(api.last_error());
  }
  template <class T = void>
  T* allocate(std::int64_t bytes) const {
    void* p = nullptr;
    must(api.allocate(device, bytes, &p));
    return static_cast<T*>(p);
  }

  const OrreryCudaApi& api;
  OrreryDevice* device = nullptr;
  OrreryStream* stream = nullptr;
};

struct TableOptions {
  OrrerySpmmBy by = kOrrerySpmmChosen;
  std::int64_t max_repeats = 0;
};

/// Copies all tensors of the world to the device, between guards, runs the op and copies them back.
/// EXPECTs that no guard has changed.
void run_by_table(const CudaSession& session, const World& world, const Op& op,
                  const TableOptions& options = {});

/// run_by_table() and once more, which must give the same bits.   Requires  the session outlives
/// them
std::vector<Runner> twice_by_table(const CudaSession& session, const TableOptions& options = {});

}  // namespace orrery::testing
