// The rung above the replay: plans that it does not find apart run for real.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "experiments/advise/advise.hpp"

namespace orrery {

/// Plans that are measured at most, the fastest by their replays, and how often each is. After the first
/// turns plans that take this much more than the fastest run no more.
inline constexpr std::size_t kMostMeasured = 6;
inline constexpr int kTurns = 9, kFirstTurns = 3;
inline constexpr double kFar = 0.25;
/// Epochs of a run.
inline constexpr int kFewestEpochs = 3, kMostEpochs = 20;

/// A run of a plan for this many epochs: the median of their seconds, without the first.
///
/// Errors    Error: the run failed
using RunPlan = std::function<double(const Plan& plan, int epochs)>;

/// Epochs of each run: as many as last about a second, within these bounds. `seconds`: of one,
/// simulated.
int epochs_to_measure(double seconds);

/// Runs the first plan and those that are as fast by their replays or cannot be told from it, in turns,
/// and compares what they took within turns, because what drifts meets all plans of a turn. None runs where
/// all others are slower. The measured plans then come first, in the order of the median of their turns at
/// the pace that the machine usually had; a plan that fails is out, with the reason.
///
/// `plans`: the fastest first. `tell` is called before each run with its number, from 0, and theirs.
/// Errors    Error: no plan could be measured; NotBuilt
Measuring measure_plans(std::vector<RatedPlan>& plans, const RunPlan& run,
                        const std::function<void(int run, int of)>& tell);

}  // namespace orrery
