#include "experiments/commands/partition_source.hpp"

#include <fmt/core.h>

#include "core/base/error.hpp"
#include "core/base/temporary_folder.hpp"
#include "core/graph/read/load.hpp"
#include "core/graph/training_graph.hpp"
#include "core/partition/edges/edge_file.hpp"
#include "core/partition/number_of_parts.hpp"
#include "core/partition/partition_options.hpp"
#include "core/partition/parts/one_way_edge.hpp"
#include "core/partition/parts/vertices_on_disk.hpp"
#include "experiments/commands/partition_report.hpp"

namespace orrery {
namespace {

/// Edges of a data set that records its number of vertices.
class EdgesOfDataset final : public EdgeStream {
 public:
  EdgesOfDataset(std::unique_ptr<EdgeStream> edges, std::int64_t vertices)
      : edges_(std::move(edges)), vertices_(vertices) {}
  std::int64_t known_vertices() const override { return vertices_; }
  void rewind() override { edges_->rewind(); }
  std::span<const Edge> next() override { return edges_->next(); }

 private:
  std::unique_ptr<EdgeStream> edges_;
  std::int64_t vertices_;
};

}  // namespace

PartitionSource PartitionSource::load(const DatasetOptions& options, bool inductive) {
  PartitionSource source;
  Dataset data = load_dataset(options);
  if (inductive) data = training_graph(data);
  source.data_ = std::make_shared<const Dataset>(std::move(data));
  return source;
}

PartitionSource PartitionSource::stream(const DatasetOptions& options) {
  PartitionSource source;
  source.streamed_ = open_streamed_dataset(options);
  source.edges_ = std::make_unique<EdgesOfDataset>(open_edge_file(source.streamed_.edges),
                                                   source.streamed_.vertices);
  if (source.streamed_.says_undirected && !source.streamed_.mirrored)
    if (const auto edge = one_way_edge(*source.edges_))
      refuse_as_directed(source.streamed_.edges.parent_path(), *edge);
  return source;
}

PartitionSource PartitionSource::edges_of(const std::filesystem::path& file) {
  PartitionSource source;
  source.edges_ = open_edge_file(file);
  source.streamed_.name = source.streamed_.edges = file;
  source.streamed_.mirrored = true;
  source.streamed_.notes = {"features absent"};
  return source;
}

const std::string& PartitionSource::name() const { return data_ ? data_->name : streamed_.name; }

StreamCut PartitionSource::cut(int parts, const PartitionOptions& how) const {
  if (!streams()) return cut_dataset(*data_, parts, how);
  if (!takes_vertex_stream(how.method)) return cut_stream(*edges_, parts, how);
  const TemporaryFolder scratch("cut");
  const std::int64_t vertices = count_edges(*edges_).vertices();
  VerticesOnDisk stream(*edges_, vertices, scratch.path() / "vertices");
  return cut_vertices(stream, parts, how);
}

CutMetrics PartitionSource::measure(const StreamCut& cut, int hops) const {
  if (streams()) return measure_cut(*edges_, cut.partition, cut.replicas, Neighbours::both, hops);
  CsrEdges rows(*data_->graph);
  return measure_cut(rows, cut.partition, cut.replicas, Neighbours::of_row, hops);
}

std::optional<double> PartitionSource::training_balance(const Partition& partition) const {
  if (data_) return orrery::training_balance(partition, data_->split);
  if (!streamed_.split || streamed_.split->size() != partition.owner.size()) return std::nullopt;
  return orrery::training_balance(partition, *streamed_.split);
}

std::int64_t PartitionSource::edges() const {
  return streams() ? count_edges(*edges_).edges : data_->edges();
}

std::int64_t PartitionSource::data_bytes() const {
  if (data_) return orrery::data_bytes(facts_of(*data_));
  const StreamCounts counts = count_edges(*edges_);
  DataFacts facts;
  facts.edges = counts.edges * (streamed_.mirrored ? 2 : 1);
  facts.vertices = counts.vertices();
  facts.features = streamed_.rows.features ? streamed_.rows.features->width() : 0;
  return orrery::data_bytes(facts);
}

void PartitionSource::write(const Partition& partition, const PartsOptions& options,
                            const std::filesystem::path& folder) {
  if (data_) return write_parts(*data_, partition, options, folder);
  // A file of edges has as many vertices as it names.
  if (streamed_.rows.count == 0) streamed_.vertices = std::ssize(partition.owner);
  write_parts(*edges_, streamed_, partition, options, folder);
}

}  // namespace orrery
