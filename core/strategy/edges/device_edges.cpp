#include "core/strategy/edges/device_edges.hpp"

#include "core/base/error.hpp"
#include "core/strategy/edges/load_indices.hpp"

namespace orrery {
namespace {

constexpr std::string_view kOrder = "graph/order of edges by source";

bool same(const Pattern& a, const Pattern& b) {
  const auto* one = std::get_if<std::shared_ptr<const Csr>>(&a);
  const auto* other = std::get_if<std::shared_ptr<const Csr>>(&b);
  return one != nullptr && other != nullptr && *one == *other;
}

}  // namespace

DeviceEdges::DeviceEdges(Runtime& rt, const EdgeStructure& structure,
                         std::optional<Tensor> features, const VertexTable* table)
    : pattern_(rt, Lane::copy, structure.pattern, "graph/edges"),
      by_source_(rt, Lane::copy, structure.by_source, "graph/edges by source"),
      order_(structure.relabelled_later ? Buffer(rt, {structure.entries(), 1}, DType::i32, kOrder)
                                        : load_indices(rt, structure.order, kOrder)) {
  if (!same(structure.pattern, structure.transposed))
    transposed_ = SparseBuffer(rt, Lane::copy, structure.transposed, "graph/edges transposed");
  if (structure.relabelled_later) {
    ORRERY_ASSERT(table != nullptr);
    table->number(pattern_.sparse());
    rt.submit(Lane::copy, EntriesByColumn{pattern_.sparse(), transposed_.sparse(),
                                          by_source_.sparse(), order_.tensor()});
  }
  if (structure.numbers.size() > 0)
    numbers_ = load_indices(rt, structure.numbers, "graph/numbers of edges");
  if (structure.vertices.size() > 0)
    vertices_ = load_indices(rt, structure.vertices, "graph/vertices of sources");
  if (const auto& of_entries = structure.features; of_entries.rows && !features) {
    features_ = Buffer(rt, {of_entries.size(), of_entries.rows->width()}, DType::f32,
                       "graph/features of edges");
    rt.submit(Lane::copy, Load{of_entries.source(), features_.tensor()});
    features = features_.tensor();
  }
  rt.wait(Lane::compute, rt.record(Lane::copy));
  edges_ = {
      pattern_.sparse(),
      same(structure.pattern, structure.transposed) ? pattern_.sparse() : transposed_.sparse(),
      by_source_.sparse(),
      order_.tensor(),
      numbers_ ? numbers_.tensor() : order_.view(0, 1),
      vertices_ ? vertices_.tensor() : order_.view(0, 1),
      features ? *features : order_.view(0, 1)};
}

void no_matrix() {
  assertion_failed("a layer that weighs edges multiplies by no matrix", __FILE__, __LINE__);
}

SourceExchange::SourceExchange(Runtime& rt, const HaloStructure& part, Group group, bool overlap)
    : rt_(rt),
      part_(part),
      group_(group),
      overlap_(overlap),
      send_index_(load_indices(rt, part.send_rows, "indices/rows to send")) {
  rt.wait(Lane::compute, rt.record(Lane::copy));
}

void SourceExchange::bring(const Tensor& x, const Tensor& sent,
                           const std::function<void()>& meanwhile) const {
  const std::int64_t own = part_.own_block.cols();
  rt_.submit(Lane::compute, GatherRows{x.rows_at(0, own), send_index_.tensor(), sent});
  exchange(sent, x.rows_at(own, part_.received()), part_.send, part_.receive, meanwhile);
}

void SourceExchange::bring_adjoint(const Tensor& dx, const Tensor& sent,
                                   const std::function<void()>& meanwhile) const {
  const std::int64_t own = part_.own_block.cols();
  exchange(dx.rows_at(own, part_.received()), sent, part_.receive, part_.send, meanwhile);
  rt_.submit(Lane::compute, ScatterAddRows{sent, send_index_.tensor(), dx.rows_at(0, own)});
}

void SourceExchange::exchange(const Tensor& from, const Tensor& to,
                              const HaloStructure::RowCounts& out,
                              const HaloStructure::RowCounts& in,
                              const std::function<void()>& meanwhile) const {
  rt_.wait(Lane::comm, rt_.record(Lane::compute));
  rt_.submit(Lane::comm, AllToAllV{from, to, out, in, group_});
  if (!overlap_) rt_.wait(Lane::compute, rt_.record(Lane::comm));
  meanwhile();
  if (overlap_) rt_.wait(Lane::compute, rt_.record(Lane::comm));
}

}  // namespace orrery
