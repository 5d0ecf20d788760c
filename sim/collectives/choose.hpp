// The algorithm that a library would choose.
#pragma once

#include <string_view>

#include "sim/collectives/algorithms.hpp"

namespace orrery::sim {

/// The library whose rules choose.
enum class Chooser { nccl, mpi, threads };
/// Errors    ConfigError naming the known libraries
Chooser chooser_of(std::string_view library);

std::string_view choose(Chooser chooser, const Task& task);

/// Seconds of an all-reduce by NCCL's tuning model: the least over its protocols of
///
///   ring          base + (2(p − 1) − 2(S − 1))·intra + 2(S − 1)·net + 2(p − 1)/p · n / (B·f)
///   double tree   base + 2((g − 1)·intra + log2(S)·net) + 2n / (.92·B·f)
///   hierarchical  3·base + 2((g − 1)·intra + log2(S)·net) + 2(g − 1)/g · n / (I·f)
///                 + 2n / (.92·A·f)
///
/// for p ranks on S servers of g, B the lesser of the rates inside servers and A across them, R
/// that of one ring inside, f the protocol's share. Beyond kManyRanks a double tree has two
/// channels.
///
/// Source    NCCL src/graph/tuning.cc: latencies and shares
/// Departs   hierarchical is three collectives, not one of NCCL's; rates are those of this
///           cluster's links, not NCCL's classes; no caps per channel, no corrections of small
///           sizes
struct AllReduceTimes {
  double ring = 0, double_tree = 0, hierarchical = 0;
};
AllReduceTimes nccl_all_reduce_seconds(const Layout& layout, double bytes);

}  // namespace orrery::sim
