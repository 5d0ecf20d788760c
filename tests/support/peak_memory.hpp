// The resident memory that this process takes from here on.
#pragma once

#include <malloc.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

namespace orrery::testing {

/// Measures from its construction on.
class PeakMemory {
 public:
  PeakMemory() {
    ::malloc_trim(0);                               // memory that earlier work freed does not count
    std::ofstream("/proc/self/clear_refs") << "5";  // the peak starts from here
    before_ = status_bytes("VmRSS:");
    start_ = status_bytes("VmHWM:");
  }
  /// Why nothing can be measured here; empty where it can.
  std::string unknown() const {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return "sanitizers take memory of their own";
#else
    return before_ < 0 || start_ > before_ + (1 << 22) ? "the peak cannot be reset here" : "";
#endif
  }
  std::int64_t bytes() const { return status_bytes("VmHWM:") - before_; }

 private:
  static std::int64_t status_bytes(const std::string& key) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with(key)) return std::stoll(line.substr(key.size() + 1)) * 1024;
    return -1;
  }

  std::int64_t before_ = -1, start_ = -1;
};

}  // namespace orrery::testing
