// `orrery infer --plan`: every way to lay out an inference on its ranks, counted, and the one that
// receives the fewest bytes among those that fit into memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/infer/prepare_inference.hpp"

namespace orrery {

/// One way: rows times columns, how products with weights and numbers of edges are made, what each
/// layer multiplies by first, how large groups are, and how features in files are prepared.
struct TileChoice {
  InferenceConfig config;
  LayerOrder order = LayerOrder::automatic;
  double received_bytes = 0;        ///< by all ranks from others
  double file_bytes = 0;            ///< of features in files, read by all ranks
  std::int64_t peak_bytes = 0;      ///< the most that a rank holds
  bool fits = true;                 ///< into the bytes of a rank
  std::optional<double> seconds{};  ///< of its layers and the output, where it was simulated
};

/// All ways for so many ranks, the best first: those that fit before others, by
/// bytes received and read from files of features, then by bytes held. Orders that come to the same are one way. group_bytes stays
/// where it is given.
///
/// Requires  `asked` with its data, and without graphs
/// Cost      draws once for each number of parts, and records every way
std::vector<TileChoice> choose_tiles(const InferenceProblem& asked, int ranks,
                                     const std::optional<std::int64_t>& device_bytes);

/// What was asked for, laid out as chosen: with its graphs.
InferenceProblem laid_out(const InferenceProblem& asked, const TileChoice& choice);

/// "auto", "aggregate_first", "transform_first": as model.order says it.
std::string name_of(LayerOrder order);

}  // namespace orrery
