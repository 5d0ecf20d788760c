// A recorded run of one rank, as plain data: it can be printed, compared, checked, measured and
// replayed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "core/runtime/ledger.hpp"
#include "core/runtime/runtime.hpp"

namespace orrery {

struct AllocStep {
  Tensor tensor;  ///< the whole allocation
  std::string name;
};
struct ReleaseStep {
  Tensor tensor;  ///< the whole allocation
};
struct DeclareStep {
  Lane lane;
  Sparse sparse;
  std::string name;
};
struct ReleaseSparseStep {
  Sparse sparse;
};
struct SubmitStep {
  Lane lane;
  Op op;
};
struct WaitStep {
  Lane lane;
  Event event;
};
struct SyncStep {
  Event event;
};
struct HostStep {
  Lane lane;
  Task task;
  HostWork work;
};
struct JoinStep {
  Task task;
};
struct ScalarStep {
  Lane lane;
  Tensor tensor;
};
struct PhaseStep {
  Phase phase;
};
struct ProductStep {
  ProductMark mark;
};

/// One call of a Runtime. Submit, declare, wait and host steps take the next position of their
/// lane.
using Step =
    std::variant<AllocStep, ReleaseStep, DeclareStep, ReleaseSparseStep, SubmitStep, WaitStep,
                 SyncStep, HostStep, JoinStep, ScalarStep, PhaseStep, ProductStep>;

/// All calls that a rank makes of its Runtime, in order.
///
/// Placement the steps of one rank
struct Program {
  int rank = 0, size = 1;
  std::vector<Step> steps;
  std::array<std::int64_t, kSpaces> peak_bytes{};     ///< by Space
  std::map<std::string, std::int64_t> peak_by_class;  ///< device bytes at the device's peak
  std::int64_t loads = 0;  ///< in a recording, the sum of its EpochReport::loads
  std::int64_t foreign_rows = 0, kept_rows = 0;  ///< and of its EpochReport::rows
};

/// "compute  spmm a=s0[5x5 nnz 9] x=t2[5x4] y>t3[5x4] beta=0": one line, no newline.
std::string to_string(const Step& step);

/// One line per step: the form that is diffed and kept as golden text.
std::string to_string(const Program& program);

}  // namespace orrery
