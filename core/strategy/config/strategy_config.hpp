// The key "strategy" of an experiment file, as plain data.
#pragma once

#include <any>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/model_config.hpp"
#include "core/sample/expansion_sampling.hpp"

namespace orrery {

/// How spmm_1d moves: rows of x to everyone who multiplies them (broadcast), or each rank's
/// contributions to the rows of y to their owner (reduce).
enum class Variant : std::uint8_t { row, column };

/// Averages among ranks that train on parts: of their models once in `interval` epochs, or their
/// gradients in every step.
enum class Averaging : std::uint8_t { model, gradient };

/// Which degrees normalise a part's matrix: those of its own graph, in which outer replicas have
/// lost edges, or those of the whole graph.
enum class Degrees : std::uint8_t { part, original };

/// Where an edge between two parts without neighbours (hops 0) goes: into neither, into one that is
/// drawn, or, with all other edges, where an edge partitioner put it.
enum class CrossEdges : std::uint8_t { drop, one_side, as_cut };

/// The data of an evaluation: the own vertices of each part within what the part holds, or the
/// whole graph (on rank 0).
enum class EvaluateOn : std::uint8_t { parts, graph };

/// Memory kept until the backward pass: only our own buffers, or also what a framework
/// with a tape would keep (core/model/network/tape.hpp).
enum class Memory : std::uint8_t { lean, autograd };

/// How a server's vertices are cut into co-batches, and a co-batch over the server's ranks.
enum class ServerSplit : std::uint8_t { metis, random };

/// Which vertices beyond its own a server holds, instead of all that they depend on.
struct SamplingConfig {
  ExpansionSampling expansion{};  ///< hops 0: only its own
  bool every_epoch = false;       ///< draw in every epoch; else once for the run
};

/// Features that are learned like the weights, starting from the given ones.
struct LearnedFeatures {
  double rate = 0.01;  ///< of their Adam
  /// Types of the vertices whose features are learned, while others keep theirs; none: all are.
  std::vector<std::string> types{};
};

struct StrategyConfig {
  std::string type = "full_graph";  ///< a name in strategy_infos()
  bool overlap = true;   ///< overlap communication and computation; off: one after the other
  bool permute = false;  ///< renumber the vertices at random before cutting equal blocks
  int column_tiles = 1;  ///< number of column tiles of local products (cache locality)
  Variant variant = Variant::row;  ///< spmm_1d
  Memory memory = Memory::lean;
  FirstLayer first_layer = FirstLayer::exact;  ///< not spmm_2d, which always recomputes
  int replication = 1;                         ///< spmm_15d: copies of every block of rows
  double boundary_sampling = 1;  ///< full_graph: probability that a halo row is used in an epoch
  /// full_graph: age of halo rows and their gradients in epochs (0, 1); spmm_1d: epochs between two
  /// broadcasts of a layer's rows, in which the last ones are used again
  int staleness = 0;
  /// spmm_1d with staleness, if not 0: a rank broadcasts its rows of a layer early once they have
  /// changed by at least this fraction of their norm
  double skip_below = 0;
  /// Whether values decide which operations follow; a recording then has more operations than a
  /// run.
  bool depends_on_values() const { return skip_below > 0; }

  std::optional<LearnedFeatures> learned{};  ///< full_graph, mini_batch; none: features are given

  // model_averaging
  Averaging averaging = Averaging::model;
  int interval = 1;        ///< epochs between two averagings of models
  std::int64_t batch = 0;  ///< training vertices of a part per step; 0: all
  std::vector<int>
      fanouts{};  ///< fanout of each layer, the first at the seeds; empty: all neighbours
  int hops = 1;   ///< hops that parts hold beyond their own vertices
  CrossEdges cross_edges = CrossEdges::drop;
  Degrees degrees = Degrees::part;
  EvaluateOn evaluate_on = EvaluateOn::parts;
  int parts = 0;    ///< 0: one per rank
  int workers = 0;  ///< ranks; 0: one per part

  // shared_preloading; also degrees and evaluate_on
  int ranks_per_server = 1;  ///< consecutive ranks, of every server
  std::optional<int>
      depth;  ///< layers whose dependencies are preloaded, counted from the last; none: all
  std::optional<SamplingConfig> sampling;
  int batches = 1;  ///< co-batches of each server, each a step
  ServerSplit split = ServerSplit::metis;

  /// The settings of a single strategy, in a type that its file defines (StrategyInfo::read).
  std::any own;
};

}  // namespace orrery
