// `orrery infer`: a trained model's output for all vertices, for real or simulated.
#pragma once

#include <string>
#include <vector>

#include "experiments/results/results.hpp"

namespace orrery {

struct InferOptions {
  std::string file, backend, out;
  std::vector<std::string> overrides;
  bool json = false, quiet = false, force = false;
  bool anyway = false;       ///< also what this machine's memory cannot hold
  bool keep_layers = false;  ///< in files, until the result is there
  bool resume = false;       ///< go on from the last layer that was kept
  bool plan = false;         ///< nothing but count every way to lay it out

  Existing existing() const {
    return resume ? Existing::resume : force ? Existing::overwrite : Existing::refuse;
  }
};

/// Trains the model first, where no weights are given; infers; writes embeddings/ and result.json;
/// tells what each stage took. Or, of a plan, prints every way to lay it out on its ranks, the best
/// first. Returns the exit code.
///
/// Errors    ConfigError, whatever loading, training and running throw
int infer_session(InferOptions options);

}  // namespace orrery
