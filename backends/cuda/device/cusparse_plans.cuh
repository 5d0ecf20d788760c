// What cuSPARSE prepares for the products of one pattern, kept from one product to the next.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "backends/cuda/device/device.cuh"

namespace orrery::cuda {

/// Descriptors and workspace for one width and pair of strides on one stream.
struct CusparsePlan {
  CusparsePlan() = default;
  ~CusparsePlan();
  CusparsePlan(const CusparsePlan&) = delete;
  CusparsePlan& operator=(const CusparsePlan&) = delete;

  cusparseSpMatDescr_t a = nullptr;
  cusparseDnMatDescr_t x = nullptr, y = nullptr;
  Beside workspace;
};

class CusparsePlans {
 public:
  using Key = std::tuple<const OrreryStream*, std::int64_t, std::int64_t, std::int64_t, bool>;

  std::mutex mutex;
  /// The key is: stream, width, ld of x, ld of y, repeatable.
  std::map<Key, std::unique_ptr<CusparsePlan>> by_key;
  Beside offsets;  ///< in 32 bits
  Beside ones;     ///< the values of a pattern without
};

}  // namespace orrery::cuda
