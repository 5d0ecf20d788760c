// The learning rate of an epoch.
#pragma once

#include "core/model/model_config.hpp"

namespace orrery {

/// With e the epoch (from 0), w the warm-up and T the end of the schedule:
///   e < w     rate·(e + 1) / (w + 1)
///   constant  rate
///   step      rate·factor^⌊(e − w) / every⌋
///   linear    rate·(1 − (1 − least)·p),                p = min(1, (e − w) / (T − w))
///   cosine    rate·(least + (1 − least)·(1 + cos π·p) / 2)
///
/// Source    Loshchilov and Hutter 2017, eq. 5 without restarts; Goyal et al. 2017, 2.2 (gradual
///           warm-up)
double learning_rate_in(const TrainConfig& train, int epoch);

}  // namespace orrery
