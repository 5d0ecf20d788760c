// A limit on how fast files are read, which processes share: a disk or a file system slower than this
// machine's, as a netcluster makes links that are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace orrery {

/// Reads pass one after the other, in the order in which they are asked for.
class StorageRate {
 public:
  /// `limits`: "RATE@FILE,...", RATE in bytes per second; everyone who names the same FILE shares the rate.
  /// FILE says when the last read that has passed will have ended, and is made where it is missing.
  ///
  /// Errors    ConfigError under ORRERY_STORAGE: another text, a rate that is not above 0, a file that cannot
  ///           be had
  explicit StorageRate(const std::string& limits);
  ~StorageRate();
  StorageRate(const StorageRate&) = delete;
  StorageRate& operator=(const StorageRate&) = delete;

  /// Returns when so many bytes have had their time at every limit.
  void pass(std::int64_t bytes) const;

  /// As the environment variable ORRERY_STORAGE says; null: nobody limits anything.
  static const StorageRate* of_environment();

 private:
  struct Limit;
  std::vector<Limit> limits_;
};

/// StorageRate::pass() of the environment's, where there is one.
void pass_storage(std::int64_t bytes);

}  // namespace orrery
