// A partitioned data set on disk: one folder per part. Each is a data set of its own with its
// connections to the others, so a rank needs only its part.
//
//   meta.json            facts about the whole, how it was cut, how far the parts reach (hops), whether
//                        without hops an edge between two parts is in one of them (one_sided), the
//                        size of every part and the checksum of every part's meta.json; of a typed
//                        graph also its types and relations, as in a data set folder
//   part-00000/          the part in local numbers (neighbourhood_finder.hpp: own vertices first): a data
//                        set folder (edges.npy, features, labels.npy, split.npy with the replicas
//                        in no split, meta.json with the checksums of the other files) and
//     vertices.npy       int32 [n + r], the global number of each; the n own ones ascend
//     replicas.npy       int32 [3, r], of each vertex that another part owns: the owner, its row
//                        there, its distance in hops. They ascend by (distance, owner, row), so
//                        that those of a peer stand together
//     degrees.npy        int32 [n + r], in-degree in the whole graph, self-loops not counted
//     relations.npy      int32 [3, t], of a typed graph: relation, source and destination of each
//                        edge of each relation, in local numbers. edges.npy has them all, each once
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/data_facts.hpp"
#include "core/graph/dataset.hpp"
#include "core/graph/files/meta_file.hpp"
#include "core/graph/typed_graph.hpp"

namespace orrery {

/// One part in memory.
///
/// Placement the own vertices of one part; replicas are own vertices of other parts
struct StoredPart {
  /// Own vertices and replicas in local numbers; features stay mapped.
  std::shared_ptr<const Dataset> local;
  std::int64_t owned = 0;
  std::shared_ptr<const std::vector<Vertex>> vertices;  ///< global numbers of the own vertices
  std::vector<Vertex> replicas;                         ///< global numbers of the others
  std::vector<std::int32_t> replica_owner;
  std::vector<Vertex> replica_row;
  std::vector<std::int32_t> replica_distance;  ///< hops from the own vertices, from 1 on
  std::vector<std::int32_t> degrees;           ///< own, then replicas
  std::vector<Csr> relations;  ///< of a typed graph: the part's edges of each, in local numbers
};

/// A folder of parts; opening it reads only meta.json.
///
/// Placement on disk, a folder for each part; a rank reads its own
/// Errors    DataError (file, key or position, what was expected and found): a checksum that does
///           not match, files that do not belong together
class PartitionedDataset {
 public:
  explicit PartitionedDataset(std::filesystem::path folder);

  const DataFacts& facts() const { return facts_; }
  const std::string& method() const { return method_; }
  /// The reach of the parts beyond their own vertices.
  int hops() const { return hops_; }
  /// Whether, without hops, an edge between two parts is in one of them (cross_edges.hpp).
  bool one_sided() const { return one_sided_; }
  /// Largest distance of a vertex of another part.
  int farthest() const { return one_sided_ ? 1 : hops_; }
  /// Vertices that each part owns.
  const std::vector<std::int64_t>& sizes() const { return sizes_; }
  /// Vertices of others in each part.
  const std::vector<std::int64_t>& replicas() const { return replicas_; }
  /// Training vertices among the own vertices of each part.
  const std::vector<std::int64_t>& training() const { return training_; }
  /// Types and relations without edges; nothing if the graph has none.
  const std::optional<TypedGraph>& typed() const { return typed_; }
  /// Reads a part after comparing its checksums. It also reads, from the other parts that are
  /// present, the numbers of the vertices that it has replicas of; with the last part, all degrees.
  StoredPart read(int part) const;

 private:
  void check_lists(const MetaFile& meta) const;

  std::filesystem::path folder_;
  DataFacts facts_;
  std::string method_;
  int hops_ = 1;
  bool one_sided_ = false;
  std::vector<std::int64_t> sizes_, replicas_, training_;
  std::optional<TypedGraph> typed_;
  std::vector<std::string> checksums_;  ///< checksum of each part's meta.json
};

/// The path of a part in a folder of parts.
std::filesystem::path part_folder(const std::filesystem::path& folder, int part);

/// The `format` and `schema_version` (once `version`) in the meta.json of a folder of parts.
inline constexpr const char* kPartsFormat = "orrery-parts";
inline constexpr int kPartsVersion = 2;
/// The `schema_version` of one part, that of a data set folder; earlier parts have none.
inline constexpr int kPartVersion = 1;

}  // namespace orrery
