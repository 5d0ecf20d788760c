// The outcome of a run, made up: every member of every struct has a value of its own that is not
// its default, so that a test notices one that gets lost.
#pragma once

#include "core/runtime/summary.hpp"
#include "core/runtime/timeline.hpp"

namespace orrery::test {

/// Makes up an epoch whose numbers begin with `first`.
inline EpochCost made_up_cost(double first) {
  return {first,
          {first + 1,
           first + 2,
           first + 3,
           first + 4,
           first + 5,
           first + 6,
           first + 7,
           first + 8,
           {{"gemm", first + 9}, {"spmm", first + 10}}}};
}

/// Makes up a timeline of a computation and a collective.
inline Timeline made_up_timeline(int rank) {
  const Phase forward{Stage::forward, 3, 1}, gradients{Stage::synchronise, 4, 2};
  return {rank,
          {{Lane::sampler, "made up by a host", false, true, forward, 0.1, 0.2, 3, 4},
           {Lane::comm2, "all_reduce", true, false, gradients, 0.5, 0.6, 7, 8}},
          {{forward, 0.1}, {gradients, 0.4}},
          {{0.3, 4096}, {0.7, 512}}};
}

/// Makes up the totals of two kinds of operation.
inline Totals made_up_totals(double first) {
  return {{{"spmm", {7, first, first + 1, first + 2, first + 3}},
           {"broadcast", {8, first + 4, first + 5, first + 6, first + 7}}}};
}

/// Makes up a summary of three epochs.
inline Summary made_up_summary() {
  return {made_up_totals(10),    made_up_totals(20),
          made_up_totals(30),    3,
          std::int64_t{1} << 40, {{"features", 600}, {"scratch", 70}}};
}

}  // namespace orrery::test
