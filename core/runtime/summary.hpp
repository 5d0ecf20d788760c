// Sums over a recorded program: operations, FLOPs, bytes and memory, by stage and kind.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "core/cluster/placement.hpp"
#include "core/runtime/program.hpp"

namespace orrery {

/// Sums over the steps of one stage of one rank. Bytes over links are logical and received (see
/// received_bytes). Bytes that owners of a store receive because of a pull or push are counted with
/// the op that caused them (see served_bytes), so each byte is counted once over all ranks.
struct Totals {
  struct Kind {
    std::int64_t count = 0;
    double flops = 0;
    double bytes = 0;     ///< moved between memory and cores (local ops) or over links (the others)
    double internal = 0;  ///< received from ranks of the same server
    double external = 0;  ///< received from ranks of other servers
    bool operator==(const Kind&) const = default;
  };
  std::map<std::string, Kind> by_kind;

  Kind sum() const;
  bool operator==(const Totals&) const = default;
};

struct Summary {
  Totals setup, epoch, evaluation;  ///< the first epoch, or epochs, and the last evaluation
  int epochs = 1;                   ///< number of epochs in `epoch`
  std::int64_t peak_device_bytes = 0;
  std::map<std::string, std::int64_t> peak_by_class;
  bool operator==(const Summary&) const = default;
};

/// `epochs`: the number after which the program repeats itself.
Summary summarise(const Program& program, const Placement& placement, int epochs = 1);

/// The same for another rank that does what the program does, except for its number and its groups:
/// own_group gives its group for that of the program.
Summary summarise(const Program& program, const Placement& placement, int rank,
                  const std::function<Group(const Group&)>& own_group, int epochs = 1);

}  // namespace orrery
