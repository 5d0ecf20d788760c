// Which rank owns which vertex.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/graph/csr.hpp"
#include "core/graph/dataset.hpp"
#include "core/partition/metis_options.hpp"
#include "core/partition/streaming_options.hpp"

namespace orrery {

/// owner[v] in [0, parts) for every vertex; parts may be empty.
struct Partition {
  int parts = 1;
  std::vector<std::int32_t> owner;

  /// The vertices of every part, ascending.
  std::vector<std::vector<Vertex>> members() const;
};

/// What an experiment file says under "partition".
struct PartitionOptions {
  std::string method = "block";  ///< see partition_graph
  std::string file;              ///< one owner per line (method "file")
  std::uint64_t seed = 0;
  int parts = 0;  ///< how many; 0: as the strategy, or else the devices (number_of_parts), ask for
  std::int64_t working_bytes = 0;  ///< what a model computes with on a device; 0: 2/3 of its memory
  int hops = 1;                    ///< how far parts that are written reach, 0 to 3
  MetisOptions metis{};
  PowergraphOptions powergraph{};
  HdrfOptions hdrf{};
  TwoPsLOptions two_ps_l{};
  SpringOptions spring{};
  LdgOptions ldg{};
  FennelOptions fennel{};
};

/// Cuts a graph into parts. block: equal runs of vertex numbers; degree_block: runs of equal work,
/// 1 + in-degree per vertex; random: a random permutation cut into equal runs; metis: metis.hpp;
/// file; and the streaming methods hash, ldg, fennel, dbh, powergraph, hdrf, 2ps-l, spring
/// (streaming.hpp), of which cut_graph says more. `split` is needed where metis balances it.
///
/// Errors    ConfigError (unknown method, names the known ones) · NotBuilt (metis without libmetis)
/// · DataError (file)
Partition partition_graph(const Csr& graph, int parts, const PartitionOptions& options,
                          std::span<const Split> split = {});

/// Directed edges between different parts / all edges.
double edge_cut(const Csr& graph, const Partition& partition);

/// Vertices that the parts hold with complete neighbourhoods, own ones and in-neighbours, / all:
/// Σ_p |owned_p ∪ N(owned_p)| / |V|.   Source  CATGNN 5.2
double replication_factor(const Csr& graph, const Partition& partition);

/// Largest part / mean part, in vertices.
double balance(const Partition& partition);

}  // namespace orrery
