#include "core/runtime/summary.hpp"

#include <cmath>

#include "core/base/index.hpp"

namespace orrery {

Totals::Kind Totals::sum() const {
  Kind all;
  for (const auto& [name, kind] : by_kind) {
    all.count += kind.count;
    all.flops += kind.flops;
    all.bytes += kind.bytes;
    all.internal += kind.internal;
    all.external += kind.external;
  }
  return all;
}

Summary summarise(const Program& program, const Placement& placement, int epochs) {
  return summarise(
      program, placement, program.rank, [](const Group& group) { return group; }, epochs);
}

Summary summarise(const Program& program, const Placement& placement, int rank,
                  const std::function<Group(const Group&)>& own_group, int epochs) {
  Summary summary;
  summary.epochs = epochs;
  summary.peak_device_bytes = program.peak_bytes[at(Space::device)];
  summary.peak_by_class = program.peak_by_class;
  Phase phase;
  for (const Step& step : program.steps) {
    if (const auto* mark = std::get_if<PhaseStep>(&step)) {
      if (phase.in_epoch() && mark->phase.stage == Stage::evaluate)
        summary.evaluation = {};  // the last one counts: it always evaluates in full
      phase = mark->phase;
    }
    const auto* submit = std::get_if<SubmitStep>(&step);
    if (submit == nullptr || (phase.in_epoch() && phase.epoch >= epochs)) continue;
    Totals& totals = phase.in_epoch()                 ? summary.epoch
                     : phase.stage == Stage::evaluate ? summary.evaluation
                                                      : summary.setup;
    Totals::Kind& kind = totals.by_kind[std::string(kind_of(submit->op))];
    ++kind.count;
    kind.flops += flops_of(submit->op);
    kind.bytes += bytes_of(submit->op);
    const auto group = group_of(submit->op);
    if (!group) continue;
    const Op op = in_group(submit->op, own_group(*group));
    const auto add = [&](int peer, double bytes) {
      (placement.same_server(peer, rank) ? kind.internal : kind.external) += bytes;
    };
    received_bytes(op, rank, add);
    served_bytes(op, rank, add);
    // Shares of an all-reduce are fractions of bytes that add up to whole ones.
    for (double* sum : {&kind.internal, &kind.external}) *sum = std::round(*sum * 1e6) / 1e6;
  }
  return summary;
}

}  // namespace orrery
