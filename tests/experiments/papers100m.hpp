// An experiment on a graph that is known by its counts.
#pragma once

#include <string>

namespace orrery::testing {

inline const std::string kPapers = R"({"name": "papers",
  "dataset": {"statistics": {"vertices": 111059956, "edges": 3231371744, "features": 128,
                             "classes": 172, "skew": 1000}},
  "model": {"type": "gcn", "layers": 3, "hidden": 208, "dropout": 0},
  "strategy": {"type": "spmm_1d", "permute": true}, "train": {"eval_every": 0},
  "cluster": {"ranks": 8}})";

}  // namespace orrery::testing
