// A limit on how fast files are read, which processes share. It makes a disk or a file system slower
// than this machine's, as a netcluster makes links slower.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace orrery {

/// Reads pass one after the other, in the order in which they are asked for.
class StorageRate {
 public:
  /// `limits`: "RATE@FILE,...", RATE in bytes per second; all who name the same FILE share the rate.
  /// FILE keeps the time at which the last read ends, and is made if it is missing.
  ///
  /// Errors    ConfigError under ORRERY_STORAGE: another text, a rate that is not above 0, a file
  ///           that cannot be opened and shared
  explicit StorageRate(const std::string& limits);
  ~StorageRate();
  StorageRate(const StorageRate&) = delete;
  StorageRate& operator=(const StorageRate&) = delete;

  /// Returns when so many bytes have had their time at every limit.
  void pass(std::int64_t bytes) const;

  /// The limits in the environment variable ORRERY_STORAGE; null: there are none.
  static const StorageRate* of_environment();

 private:
  struct Limit;
  std::vector<Limit> limits_;
};

/// Waits as StorageRate::of_environment() says, if there is one.
void pass_storage(std::int64_t bytes);

}  // namespace orrery
