// What cuts that take long cost, for those who wait.
#pragma once

#include <string>

#include "core/partition/kept/kept_cuts.hpp"

namespace orrery {

/// Planning begins: the share of cut_line() is of the time from here.
void begin_planning();

/// Remembers a cut for cut_line(). If it took more than a second, notes once in a process that
/// ORRERY_CACHE keeps cuts, or that this one is from there. Who measures cuts is not told.
void report_cut(const std::string& method, const MadeCut& made);

/// The cut that was reported last since planning began, as a line for a summary: "cut by metis in
/// 12.3 s, 58 % of planning", or that it was taken from ORRERY_CACHE. Empty if it took no more than
/// a second, so that reports of small graphs are always the same.
std::string cut_line();

}  // namespace orrery
