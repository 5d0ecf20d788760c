// A partitioned data set on disk: one folder per part, each a data set of its own with what joins
// it to the others, so that a rank reads its part and nothing else.
//
//   meta.json            facts about the whole, and the size of every part
//   part-00000/          the part's vertices in local numbers: a data set folder (edges.npy holds
//                        the edges inside of the part, features.npy, labels.npy, split.npy) and
//     vertices.npy       int32 [n], the global number of each, ascending
//     halo.npy           int32 [2, h], vertices of other parts that share an edge: owner, row there
//     degrees.npy        int32 [n + h], in-degree in the whole graph, self-loops not counted
//     cross_in.npy       int32 [2, m], edges from halo to own vertices: halo index, own row
//     cross_out.npy      int32 [2, m'], edges from own to halo vertices: own row, halo index;
//     absent
//                        where the graph is symmetric
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/dataset.hpp"
#include "core/graph/graph_statistics.hpp"
#include "core/partition/partition.hpp"

namespace orrery {

/// What is known of a data set without reading it: the same for one in memory, one in parts and one
/// given by its statistics.
struct DataFacts {
  std::string name;
  std::int64_t vertices = 0, edges = 0;
  bool symmetric = false, generated = false;
  std::int64_t features = 0;  ///< width; 0: absent
  std::string features_provenance = "none";
  std::int64_t classes = 0;  ///< 0: no labels
  bool multilabel = false;
  std::int64_t training_vertices = 0;
  std::vector<std::string> notes;
};
DataFacts facts_of(const Dataset& data);
DataFacts facts_of(const GraphStatistics& graph);

/// Writes the parts, completely or not at all; `method` says how they were cut.
///
/// Errors    DataError as write_orrery
void write_parts(const Dataset& data, const Partition& partition, const std::string& method,
                 const std::filesystem::path& folder, bool force = false);

/// One part in memory.
struct StoredPart {
  std::shared_ptr<const Dataset> own;  ///< local numbers; its graph holds the inner edges
  std::shared_ptr<const std::vector<Vertex>> vertices;  ///< global number of each, ascending
  std::vector<std::int32_t> halo_owner;                 ///< part of each halo vertex
  std::vector<Vertex> halo_row;                         ///< and its row there
  std::vector<std::int32_t> degrees;                    ///< own, then halo
  Csr cross_in;   ///< [own, halo]: row v holds the in-neighbours of v in the halo
  Csr cross_out;  ///< [own, halo]: the out-neighbours; equal to cross_in where symmetric
};

/// A folder of parts; opening it reads meta.json only.
///
/// Errors    DataError (file, position, what was expected)
class PartsFolder {
 public:
  explicit PartsFolder(std::filesystem::path folder);

  const DataFacts& facts() const { return facts_; }
  const std::string& method() const { return method_; }
  /// Vertices of each part.
  const std::vector<std::int64_t>& sizes() const { return sizes_; }
  StoredPart read(int part) const;

 private:
  std::filesystem::path folder_;
  DataFacts facts_;
  std::string method_;
  std::vector<std::int64_t> sizes_;
};

}  // namespace orrery
