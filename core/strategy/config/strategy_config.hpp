// What an experiment file says under "strategy", as plain data.
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

/// What ranks that train on parts average: their models every so many epochs, or their gradients in
/// every step.
enum class Averaging : std::uint8_t { model, gradient };

/// By which degrees a part's matrix is normalised: those of its own graph, in which replicas at the
/// rim have lost edges, or those of the whole graph.
enum class Degrees : std::uint8_t { part, original };

/// Where an edge between two parts is that hold no neighbours (hops 0): in neither, in the one of
/// the two that is drawn, or, with all other edges, where an edge partitioner put it.
enum class CrossEdges : std::uint8_t { drop, one_side, as_cut };

/// What a model is evaluated on: the own vertices of each part within what the part holds, or the
/// whole graph (on rank 0).
enum class EvaluateOn : std::uint8_t { parts, graph };

/// What stays in memory until the backward pass: our own few buffers, or beside them what a
/// framework with a tape would keep (core/model/network/tape.hpp).
enum class Memory : std::uint8_t { lean, autograd };

/// How a server's vertices are cut into co-batches, and these over its ranks.
enum class ServerSplit : std::uint8_t { metis, random };

/// Which vertices beyond its own a server holds, instead of all they depend on.
struct SamplingConfig {
  ExpansionSampling expansion{};  ///< hops 0: none beside its own
  bool every_epoch = false;       ///< drawn anew in every epoch; else once for the run
};

struct StrategyConfig {
  std::string type = "full_graph";  ///< a name in strategy_infos()
  bool overlap = true;              ///< communication beside computation; off: one after the other
  bool permute = false;             ///< renumber the vertices at random before cutting equal blocks
  int column_tiles = 1;  ///< cut local products into so many column tiles (cache locality)
  Variant variant = Variant::row;  ///< spmm_1d
  Memory memory = Memory::lean;
  FirstLayer first_layer = FirstLayer::exact;  ///< not spmm_2d, which always recomputes
  int replication = 1;                         ///< spmm_15d: copies of every block of rows
  double boundary_sampling = 1;  ///< full_graph: chance of a halo row to be used in an epoch
  /// full_graph: epochs (0, 1) by which halo rows and their gradients are old; spmm_1d: epochs from
  /// one broadcast of a layer's rows to the next in which the last ones are used again
  int staleness = 0;
  /// spmm_1d with staleness, where not 0: a rank broadcasts its rows of a layer sooner when they
  /// have changed by at least this part of their norm
  double skip_below = 0;
  /// Whether which operations follow depends on values: a recording then has more than a run.
  bool depends_on_values() const { return skip_below > 0; }

  // model_averaging
  Averaging averaging = Averaging::model;
  int interval = 1;            ///< epochs from one averaging of models to the next
  std::int64_t batch = 0;      ///< training vertices of a part in a step; 0: all
  std::vector<int> fanouts{};  ///< of a batch's layers, the first at these; none: all neighbours
  int hops = 1;                ///< that parts hold beyond their own vertices
  CrossEdges cross_edges = CrossEdges::drop;
  Degrees degrees = Degrees::part;
  EvaluateOn evaluate_on = EvaluateOn::parts;
  int parts = 0;    ///< 0: one per rank
  int workers = 0;  ///< ranks; 0: one per part

  // shared_preloading; also degrees and evaluate_on
  int ranks_per_server = 1;  ///< consecutive ranks, of every server
  std::optional<int> depth;  ///< layers whose dependencies are preloaded, from the last; none: all
  std::optional<SamplingConfig> sampling;
  int batches = 1;  ///< co-batches of each server, a step each
  ServerSplit split = ServerSplit::metis;

  /// The settings of one strategy alone, in the type that its file defines (StrategyInfo::read).
  std::any own;
};

}  // namespace orrery
