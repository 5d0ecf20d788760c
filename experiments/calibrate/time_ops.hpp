// How long an operation takes while all cores do the same: the price of an operation in a run whose
// ranks share a machine.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/ops/ops.hpp"
#include "experiments/calibrate/workspace.hpp"

namespace orrery::calibrate {

/// Ranks that share the cores: each has so many threads for its kernels.
struct Team {
  int ranks = 1, threads = 1;
};

/// The same operation several times over, each time on other operands: an epoch touches other
/// buffers between two calls of an operation, which a benchmark of one buffer would not.
using BuildOps = std::function<std::vector<Op>(Workspace&, int rank)>;

struct TimingOptions {
  double round_seconds = 2e-3;  ///< of calls in a row, as many as fit, but at least one
  int most_calls = 40, rounds = 3;
  std::int64_t workspace_bytes = std::int64_t{288} << 20;  ///< of each rank, twice
};

/// Seconds of each case with the cpu kernels: of each rank the least median of a round of calls,
/// averaged over ranks. Calls in which the system gave a core to another program are repeated, a
/// few times. Before each call the operand that the operation before would have made (fresh_input)
/// is written, out of the measurement. A rank that is done goes on until all are, so that none has
/// the machine to itself. `done` is told after each case.
///
/// Errors    whatever the building of a case throws
std::vector<double> time_ops(const Team& team, const std::vector<BuildOps>& cases,
                             const TimingOptions& options,
                             const std::function<void(std::size_t done)>& done);

/// The operand that the operation before this one makes when a model is trained; what is in the
/// caches of it costs no memory traffic. Nothing where that is none.
std::optional<Tensor> fresh_input(const Op& op);

/// The middle one of the values; with an even number the lower.
///
/// Requires  at least one
double median(std::vector<double> values);

}  // namespace orrery::calibrate
