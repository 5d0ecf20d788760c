// `orrery infer`: a trained model's output for all vertices, real or simulated.
#pragma once

#include <string>
#include <vector>

#include "experiments/results/results.hpp"

namespace orrery {

struct InferOptions {
  std::string file, backend, out;
  std::vector<std::string> overrides;
  bool json = false, quiet = false, force = false;
  bool anyway = false;       ///< also what exceeds this machine's memory
  bool keep_layers = false;  ///< and what comes before them, in files, until the result is there
  bool resume = false;       ///< continue from what was kept
  bool plan = false;         ///< only count every way to lay it out

  Existing existing() const {
    return resume ? Existing::resume : force ? Existing::overwrite : Existing::refuse;
  }
};

/// Trains the model first if no weights are given; infers; writes embeddings/ and result.json;
/// prints the time of each stage. For a plan, it prints every way to lay it out on its ranks
/// instead, the best first. Returns the exit code.
///
/// Errors    ConfigError, whatever loading, training and running throw
int infer_session(InferOptions options);

}  // namespace orrery
