#include "experiments/execute/outcome_bytes.hpp"

#include "core/runtime/run_fields.hpp"

namespace orrery {

template <class A>
void fields(A& a, RankOutcome& outcome) {
  auto& [epochs, timeline, summary, program, received_from, seconds_to_first_epoch, final_bytes,
         peak_bytes, pinned_peak_bytes, loads, foreign_rows, kept_rows] =
      outcome;  // the program is not sent
  a(epochs, timeline, summary, received_from, seconds_to_first_epoch, final_bytes, peak_bytes,
    pinned_peak_bytes, loads, foreign_rows, kept_rows);
}

std::string to_bytes(const RankOutcome& outcome) { return written(outcome); }

RankOutcome outcome_from_bytes(const std::string& bytes) { return read_back<RankOutcome>(bytes); }

}  // namespace orrery
