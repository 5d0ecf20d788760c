// The time of an operation while all cores do the same: its price in a run whose ranks share a
// machine.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/ops/ops.hpp"
#include "experiments/calibrate/workspace.hpp"

namespace orrery::calibrate {

/// Ranks that share the cores, each with this many threads for its kernels.
struct Team {
  int ranks = 1, threads = 1;
};

/// The same operation several times, each time on other operands: an epoch touches other buffers
/// between two calls of an operation, and a benchmark of one buffer would not.
using BuildOps = std::function<std::vector<Op>(Workspace&, int rank)>;

struct TimingOptions {
  double round_seconds = 2e-3;  ///< of calls in a row, as many as fit, but at least one
  int most_calls = 40, rounds = 3;
  std::int64_t workspace_bytes = std::int64_t{288} << 20;  ///< of each rank, twice
};

/// Seconds of each case with the cpu kernels: the smallest median of a round of calls of each rank,
/// averaged over ranks. Calls are repeated, a few times, if the system gave a core to another
/// program. Before each call, the operand that the previous operation would have made (fresh_input)
/// is written, outside the measurement. A rank that is done goes on until all are, so none has the
/// machine for itself. `done` is called after each case.
///
/// Errors    whatever the building of a case throws
std::vector<double> time_ops(const Team& team, const std::vector<BuildOps>& cases,
                             const TimingOptions& options,
                             const std::function<void(std::size_t done)>& done);

/// The operand that the previous operation makes when a model is trained; its part in the caches
/// costs no memory traffic. Empty if there is none.
std::optional<Tensor> fresh_input(const Op& op);

/// The middle value; the lower of two if their number is even.
///
/// Requires  at least one
double median(std::vector<double> values);

}  // namespace orrery::calibrate
