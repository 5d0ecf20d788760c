// Options of a cut: the method and what its paper leaves open.
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
  int servers = 1;      ///< first into this many parts, then each of them into parts/servers
  std::vector<Constraint> constraints{Constraint::work};
  /// Vertices of each type, in the order of their numbers, for Constraint::types; else unused.
  std::vector<std::int64_t> type_counts{};
  double balance = 1.03;  ///< largest share of a constraint in a part / mean; METIS' own default
};

/// Constraints are those of MetisOptions, of which it takes one.
struct PtscotchOptions {
  int processes = 2;      ///< that cut together, each with a block of the vertices
  double balance = 1.03;  ///< largest share of the constraint in a part / mean
};

struct PowergraphOptions {
  double balance = 1.05;  ///< largest number of edges of a part / mean
};

struct HdrfOptions {
  double lambda = 1.1;    ///< weight of balance; below 1 the order of edges decides
  double balance = 1.05;  ///< largest number of edges of a part / mean
};

struct TwoPsLOptions {
  double max_volume = 1;  ///< volume of a cluster, in units of Σd/k = 2|E|/k
  double balance = 1.05;  ///< largest number of edges of a part / mean
};

struct SpringOptions {
  /// v_max: clusters below this volume grow and give vertices away, in units of a part's share
  /// Σd/k.
  double max_volume = 0.105;
  /// β: merged clusters have fewer vertices than β·n/k; so have refined parts
  double balance = 1.05;
  bool persistent = false;  ///< clusters that cannot follow their representative try other vertices
  int refine = 0;           ///< rounds of refinement: refine.hpp
};

struct LdgOptions {
  double balance = 1.05;  ///< largest number of vertices of a part / mean
};

struct FennelOptions {
  double gamma = 1.5;    ///< γ: exponent of the cost of a part's size
  double balance = 1.1;  ///< ν, largest number of vertices of a part / mean
};

/// Called with the part that an edge partitioner gives an edge of its stream.
using EdgeSink = std::function<void(const Edge& edge, std::int32_t part)>;

/// The key "partition" of an experiment file.
struct PartitionOptions {
  std::string method = "block";  ///< see partition_graph()
  std::string file;              ///< one owner per line (method "file")
  std::uint64_t seed = 0;
  /// number of parts; 0: the number that the strategy, or else the devices (number_of_parts), need
  int parts = 0;
  std::int64_t working_bytes = 0;  ///< working set of a model on a device; 0: 2/3 of its memory
  int hops = 1;                    ///< reach of written parts, 0 to 3
  bool one_sided = false;  ///< with hops 0: a cross edge is in one of its two parts instead of none
  MetisOptions metis{};
  PtscotchOptions ptscotch{};
  PowergraphOptions powergraph{};
  HdrfOptions hdrf{};
  TwoPsLOptions two_ps_l{};
  SpringOptions spring{};
  LdgOptions ldg{};
  FennelOptions fennel{};
  std::map<std::string, double> numbers{};  ///< those given of a method from outside, by key
  EdgeSink assigned{};                      ///< if set, edge partitioners call it with every edge
};

}  // namespace orrery
