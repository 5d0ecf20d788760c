// What a method of cutting graphs is to the rest of the program, and all methods there are: those
// of this folder and those that are added from outside.
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

/// A number of a method that is added from outside: its key under "partition" in experiment files
/// is made from this. (Keys of the methods of this folder stand in the schema.)
struct NumberKey {
  double fallback = 0, least = 0, most = 0;
  std::string description;
};

/// Something that a method looks at beside the seed.
struct MethodParameter {
  std::string name;
  /// What it is; its default where nothing was asked for.
  std::function<ParameterValue(const PartitionOptions&)> value;
  std::optional<NumberKey> key{};
};

/// A parameter of a method from outside; number_of() reads it.
MethodParameter number_parameter(std::string name, NumberKey key);
/// Requires  a number_parameter()
double number_of(const MethodParameter& parameter, const PartitionOptions& options);

/// How a method is given the graph. A method that takes a stream of vertices or of edges keeps
/// something per vertex, and nothing per edge; it sees a graph in memory symmetrised, its rows in
/// order, and every edge in both directions.
using CutGraph = std::function<Partition(const Csr&, int parts, const PartitionOptions&,
                                         std::span<const Split>)>;
using CutVertexStream = std::function<StreamCut(VertexStream&, int parts, const PartitionOptions&)>;
using CutEdgeStream = std::function<StreamCut(EdgeStream&, int parts, const PartitionOptions&)>;

/// What is given to parts: vertices, so that edges are cut, or edges, so that vertices are
/// (StreamCut::replicas).
enum class Assigns : std::uint8_t { vertices, edges };

struct Partitioner {
  std::string name;           ///< partition.method
  std::string description{};  ///< a few words
  Assigns assigns = Assigns::vertices;
  bool drawn = false;    ///< depends on the seed
  bool compared = true;  ///< needs nothing that `orrery partition --compare all` has not
  std::vector<MethodParameter> parameters{};
  /// Gives every vertex a part in [0, parts), some of which may be empty; the same for the same
  /// options, whatever the number of threads.
  std::variant<CutGraph, CutVertexStream, CutEdgeStream> cut{};
};

// The methods of this folder, a file each.
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
/// Errors    ConfigError: two of one name, a name that is none, no function, a default that is out
///           of its range
std::vector<Partitioner> with_built_in(std::vector<Partitioner> added);

/// All methods: those of this folder in the order of tables, then those that were added.
///
/// Errors    as with_built_in()
const std::vector<Partitioner>& partitioners();

/// Null where none has this name.
const Partitioner* find_partitioner(const std::string& name);

/// All parameters that the method of `options` looks at, by name, defaults included: what a folder
/// of parts tells of how it was cut.
nlohmann::ordered_json method_parameters(const PartitionOptions& options);

}  // namespace orrery
