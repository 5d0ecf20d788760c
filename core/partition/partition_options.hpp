// What is asked for when a graph is cut: the method and what its paper leaves to its users.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/graph/edge_list.hpp"
#include "core/partition/vertex_weights.hpp"

namespace orrery {

struct MetisOptions {
  bool volume = false;  ///< least communication volume instead of least cut
  int servers = 1;      ///< first into so many parts, then each of them into parts/servers
  std::vector<Constraint> constraints{Constraint::work};
  double balance = 1.03;  ///< most of a constraint in a part / mean; METIS' own default
};

struct PowergraphOptions {
  double balance = 1.05;  ///< most edges of a part / mean
};

struct HdrfOptions {
  double lambda = 1.1;    ///< weight of balance; the order of edges decides below 1
  double balance = 1.05;  ///< most edges of a part / mean
};

struct TwoPsLOptions {
  double max_volume = 1;  ///< of a cluster, in units of Σd/k = 2|E|/k
  double balance = 1.05;  ///< most edges of a part / mean
};

struct SpringOptions {
  /// v_max: clusters of less volume grow and give, in units of a part's share Σd/k.
  double max_volume = 0.105;
  double balance = 1.05;  ///< β: merged clusters have fewer vertices than β·n/k; refined parts too
  bool persistent = false;  ///< clusters that cannot follow their representative try other vertices
  int refine = 0;           ///< rounds of refinement: refine.hpp
};

struct LdgOptions {
  double balance = 1.05;  ///< most vertices of a part / mean
};

struct FennelOptions {
  double gamma = 1.5;    ///< γ: exponent of what a part's size costs
  double balance = 1.1;  ///< ν, most vertices of a part / mean
};

/// Told which part an edge partitioner gives an edge of its stream.
using EdgeSink = std::function<void(const Edge& edge, std::int32_t part)>;

/// What an experiment file says under "partition".
struct PartitionOptions {
  std::string method = "block";  ///< see partition_graph()
  std::string file;              ///< one owner per line (method "file")
  std::uint64_t seed = 0;
  int parts = 0;  ///< how many; 0: as the strategy, or else the devices (number_of_parts), ask for
  std::int64_t working_bytes = 0;  ///< what a model computes with on a device; 0: 2/3 of its memory
  int hops = 1;                    ///< how far parts that are written reach, 0 to 3
  bool one_sided = false;  ///< with hops 0: a cross edge is in one of its two parts, not in none
  MetisOptions metis{};
  PowergraphOptions powergraph{};
  HdrfOptions hdrf{};
  TwoPsLOptions two_ps_l{};
  SpringOptions spring{};
  LdgOptions ldg{};
  FennelOptions fennel{};
  std::map<std::string, double>
      numbers{};        ///< of a method from outside, by key, that were asked for
  EdgeSink assigned{};  ///< where set, edge partitioners tell it of every edge
};

}  // namespace orrery
