// Counts the bytes of every memory space of a rank, so that peak memory is the same number in every
// mode.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>

#include "core/base/index.hpp"
#include "core/ops/tensor.hpp"

namespace orrery {

constexpr int kSpaces = 4;
constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

/// Capacity of each space in bytes, indexed by Space.
struct Capacities {
  std::array<std::int64_t, kSpaces> bytes{kUnlimited, kUnlimited, kUnlimited, kUnlimited};
};

/// "activations/layer 1" -> "activations": the unit of memory reports.
std::string_view tensor_class(std::string_view name);

/// Current and peak bytes of a rank, by space and by tensor class.
class Ledger {
 public:
  explicit Ledger(Capacities capacities) : capacities_(capacities) {}
  /// Errors    OutOfMemory naming the tensor; nothing is then taken
  void take(Space space, std::int64_t bytes, std::string_view name);
  void give(Space space, std::int64_t bytes, std::string_view name);

  std::int64_t in_use(Space space) const { return at(space).in_use; }
  std::int64_t peak(Space space) const { return at(space).peak; }
  /// Bytes of each class at the moment of the space's peak.
  const std::map<std::string, std::int64_t>& peak_by_class(Space space) const {
    return at(space).peak_by_class;
  }

 private:
  struct Account {
    std::int64_t in_use = 0, peak = 0;
    std::map<std::string, std::int64_t> by_class, peak_by_class;
  };
  const Account& at(Space space) const { return accounts_[orrery::at(space)]; }

  Capacities capacities_;
  std::array<Account, kSpaces> accounts_;
};

}  // namespace orrery
