// `orrery infer --plan`: counts every way to lay out an inference on its ranks, and finds the one
// that receives the fewest bytes among those that fit into memory.
#pragma once

#include <optional>
#include <vector>

#include "experiments/infer/prepare_inference.hpp"

namespace orrery {

/// One way: rows times columns, how products with weights, with the graph and numbers of edges are
/// made, what each layer multiplies by first, the size of groups, and how features in files are
/// prepared.
struct TileChoice {
  InferenceConfig config;
  double received_bytes = 0;        ///< by all ranks from others
  double file_bytes = 0;            ///< of features in files, read by all ranks
  std::int64_t peak_bytes = 0;      ///< the most that a rank holds
  bool fits = true;                 ///< into the bytes of a rank
  std::optional<double> seconds{};  ///< of its layers and the output, where it was simulated
};

/// The ways for this many ranks, the best first: those that fit before others, by bytes received
/// and read from files of features, then by bytes held. Settings with the same effect are one way. A
/// given group_bytes stays (and then exchange_graph, which has no groups, is none). Of the 2^layers
/// orders of each way it lists the named ones, the cheapest and the next one, which so come before
/// those that it leaves out.
///
/// Requires  `asked` with its data, and without graphs
/// Cost      draws for each number of parts and product with the graph, and records every way in the
///           two orders whose layers are alike
std::vector<TileChoice> choose_tiles(const InferenceProblem& asked, int ranks,
                                     const std::optional<std::int64_t>& device_bytes);

/// The request, laid out as chosen: with its graphs.
InferenceProblem laid_out(const InferenceProblem& asked, const TileChoice& choice);

}  // namespace orrery
