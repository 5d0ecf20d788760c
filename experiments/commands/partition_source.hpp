// The input of orrery partition.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "core/graph/dataset_options.hpp"
#include "core/graph/read/streamed_dataset.hpp"
#include "core/partition/methods/cut.hpp"
#include "core/partition/metrics.hpp"
#include "core/partition/partition_options.hpp"
#include "core/partition/parts/write_parts.hpp"

namespace orrery {

/// A graph in memory, or edges on disk with what their data set folder knows about the vertices.
class PartitionSource {
 public:
  /// Loads a data set; for an inductive one the graph of its training vertices.
  static PartitionSource load(const DatasetOptions& options, bool inductive);
  /// Opens a data set folder.
  ///
  /// Errors    as open_streamed_dataset
  static PartitionSource stream(const DatasetOptions& options);
  /// Opens a file of edges; each edge holds in both directions.
  ///
  /// Errors    as open_edge_file
  static PartitionSource edges_of(const std::filesystem::path& file);

  const std::string& name() const;
  /// The types of vertices; null if there are none. Relations of a stream have no graph.
  const TypedGraph* typed() const {
    if (data_) return data_->typed.get();
    return streamed_.typed ? &*streamed_.typed : nullptr;
  }
  bool streams() const { return edges_ != nullptr; }
  /// ldg and fennel need vertices with their neighbours, so they first sort streamed edges in files
  /// under TMPDIR (VerticesOnDisk).
  StreamCut cut(int parts, const PartitionOptions& how) const;
  /// `hops`: as in measure_cut.
  CutMetrics measure(const StreamCut& cut, int hops) const;
  /// The data set; nothing if edges are streamed.
  std::shared_ptr<const Dataset> in_memory() const { return data_; }
  std::optional<double> training_balance(const Partition& partition) const;
  /// Entries of the graph or edges of the stream, without self-loops if these must be counted.
  std::int64_t edges() const;
  /// Bytes of graph and features on disk.
  std::int64_t data_bytes() const;
  void write(const Partition& partition, const PartsOptions& options,
             const std::filesystem::path& folder);

 private:
  std::shared_ptr<const Dataset> data_;
  StreamedDataset streamed_;
  std::unique_ptr<EdgeStream> edges_;
};

}  // namespace orrery
