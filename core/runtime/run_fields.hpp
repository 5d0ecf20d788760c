// The members of what a run leaves, for serialise.hpp.
#pragma once

#include "core/runtime/serialise.hpp"
#include "core/runtime/summary.hpp"
#include "core/runtime/timeline.hpp"

namespace orrery {

/// Each fields() hands the members of a struct to an archive.
template <class A>
void fields(A& a, Breakdown& b) {
  for (const EpochPart& part : kEpochParts) a(b.*part.seconds);
  a(b.compute_by_kind);
}

template <class A>
void fields(A& a, EpochCost& cost) {
  auto& [seconds, breakdown] = cost;
  a(seconds, breakdown);
}

template <class A>
void fields(A& a, Span& span) {
  auto& [lane, kind, communicates, external, phase, begin, end, flops, bytes, group, root, shape] =
      span;
  a(lane, kind, communicates, external, phase, begin, end, flops, bytes, group, root, shape);
}

template <class A>
void fields(A& a, Timeline& timeline) {
  auto& [rank, spans, marks, memory] = timeline;
  a(rank, spans, marks, memory);
}

template <class A>
void fields(A& a, Totals& totals) {
  auto& [by_kind] = totals;
  a(by_kind);
}

template <class A>
void fields(A& a, Summary& summary) {
  auto& [setup, epoch, evaluation, epochs, peak_device_bytes, peak_by_class] = summary;
  a(setup, epoch, evaluation, epochs, peak_device_bytes, peak_by_class);
}

}  // namespace orrery
