// What the rest of the program knows of a method that cuts graphs, and the list of all: those of
// this folder and those from outside.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/graph/dataset.hpp"
#include "core/partition/methods/streaming.hpp"
#include "core/partition/partition_options.hpp"

namespace orrery {

using ParameterValue = std::variant<double, std::int64_t, std::string, std::vector<std::string>>;

/// A parameter of a method from outside, from which its key under "partition" in experiment files
/// is made. (The schema has the keys of the methods of this folder.)
struct NumberKey {
  double fallback = 0, least = 0, most = 0;
  std::string description;
};

/// A parameter that a method reads, besides the seed.
struct MethodParameter {
  std::string name;
  /// Its value; the default if nothing was asked for.
  std::function<ParameterValue(const PartitionOptions&)> value;
  std::optional<NumberKey> key{};
};

/// A parameter of a method from outside; number_of() reads it.
MethodParameter number_parameter(std::string name, NumberKey key);
/// Requires  a number_parameter()
double number_of(const MethodParameter& parameter, const PartitionOptions& options);

/// The form in which a method gets the graph. A method that takes a stream of vertices or of edges
/// keeps something per vertex, but nothing per edge. It sees a graph in memory symmetrised, its
/// rows in order, with every edge in both directions.
using CutGraph = std::function<Partition(const Csr&, int parts, const PartitionOptions&,
                                         std::span<const Split>)>;
using CutVertexStream = std::function<StreamCut(VertexStream&, int parts, const PartitionOptions&)>;
using CutEdgeStream = std::function<StreamCut(EdgeStream&, int parts, const PartitionOptions&)>;

/// What parts are given: vertices, so that edges are cut, or edges, so that vertices are cut
/// (StreamCut::replicas).
enum class Assigns : std::uint8_t { vertices, edges };

struct Partitioner {
  std::string name;           ///< partition.method
  std::string description{};  ///< a few words
  Assigns assigns = Assigns::vertices;
  bool drawn = false;    ///< the result depends on the seed
  bool compared = true;  ///< needs nothing that `orrery partition --compare all` does not have
  std::vector<MethodParameter> parameters{};
  /// Gives every vertex a part in [0, parts), some of which may be empty. The result depends only
  /// on the options, not on the number of threads.
  std::variant<CutGraph, CutVertexStream, CutEdgeStream> cut{};
};

// The methods of this folder, each in a file.
Partitioner block_partitioner();
Partitioner dbh_partitioner();
Partitioner degree_block_partitioner();
Partitioner fennel_partitioner();
Partitioner file_partitioner();
Partitioner hash_partitioner();
Partitioner hdrf_partitioner();
Partitioner ldg_partitioner();
Partitioner metis_partitioner();
Partitioner powergraph_partitioner();
Partitioner ptscotch_partitioner();
Partitioner random_partitioner();
Partitioner spring_partitioner();
Partitioner training_block_partitioner();
Partitioner two_ps_l_partitioner();

/// Adds a method from outside when the program starts:
///   const AddPartitioner added({.name = "mine", ...});
/// in a source file of the folder that was given to Meson's option `plugins`.
class AddPartitioner {
 public:
  explicit AddPartitioner(Partitioner method);
};

/// The methods of this folder and then these.
///
/// Errors    ConfigError: two with one name, an invalid name, no function, a default that is out
///           of its range
std::vector<Partitioner> with_built_in(std::vector<Partitioner> added);

/// All methods: those of this folder in the order of tables, then those that were added.
///
/// Errors    as with_built_in()
const std::vector<Partitioner>& partitioners();

/// Null if none has this name.
const Partitioner* find_partitioner(const std::string& name);

/// All parameters that the method of `options` reads, by name, with defaults: a folder of parts
/// stores how it was cut.
nlohmann::ordered_json method_parameters(const PartitionOptions& options);

}  // namespace orrery
