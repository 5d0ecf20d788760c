#include "core/sample/stacked_relations.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/sample/neighbour_sampler.hpp"

namespace orrery {

bool StackedRelations::leads_to(Vertex v, int relation) const {
  return std::ranges::binary_search(types[at(type_of(v))].relations, relation);
}

std::int64_t StackedRelations::row_of(Vertex v, int relation) const {
  const std::vector<int>& into = types[at(type_of(v))].relations;
  return rows_of(v).first + (std::ranges::lower_bound(into, relation) - into.begin());
}

std::int64_t StackedRelations::most_relations() const {
  std::int64_t most = 0;
  for (const OfType& type : types) most = std::max<std::int64_t>(most, std::ssize(type.relations));
  return most;
}

StackedRelations stack(const TypedGraph& typed, int copies) {
  StackedRelations stacked;
  stacked.copies = copies;
  stacked.relations = static_cast<int>(typed.relations.size());
  std::int64_t rows = 0;
  for (const VertexType& type : typed.types) {
    StackedRelations::OfType of{static_cast<Vertex>(type.first * copies), rows, {}};
    for (std::size_t r = 0; r < typed.relations.size(); ++r)
      if (typed.relations[r].destination == type.name) of.relations.push_back(static_cast<int>(r));
    rows += type.count * std::ssize(of.relations);
    if (!stacked.types.empty()) stacked.begins.push_back(of.first);
    stacked.types.push_back(std::move(of));
  }
  constexpr std::size_t kMostTypes = 256;  // order_by_type() keeps them in a byte
  if (typed.types.size() > kMostTypes)
    throw ConfigError("dataset", fmt::format("has {} vertex types, but samplers tell at most {} "
                                             "apart",
                                             typed.types.size(), kMostTypes));
  if (rows > kMaxVertices / copies)
    throw ConfigError(
        copies == 1 ? "dataset" : "dataset.magnify",
        fmt::format(
            "a row for each vertex and relation into its type are {} rows, but samplers number "
            "them with 31 bits{}",
            rows * copies, copies == 1 ? "" : fmt::format(": at most {}", kMaxVertices / rows)));
  Csr& all = stacked.rows;
  all.rows = rows;
  all.cols = typed.types.empty() ? 0 : typed.types.back().first + typed.types.back().count;
  all.offsets.reserve(at(rows) + 1);
  all.columns.reserve(at(typed.edges()));
  for (Vertex v = 0; v < all.cols; ++v)
    for (const int r : stacked.types[at(stacked.type_of(v * copies))].relations) {
      for (const Vertex u : typed.relations[at(r)].graph->row(v))
        if (u != v) all.columns.push_back(u);
      all.offsets.push_back(all.nnz());
    }
  return stacked;
}

std::vector<float> stack_values(const TypedGraph& typed, const StackedRelations& stacked,
                                const std::vector<std::span<const float>>& of_relations) {
  std::vector<float> values;
  values.reserve(stacked.rows.columns.size());
  for (Vertex v = 0; v < stacked.rows.cols; ++v)
    for (const int r : stacked.types[at(stacked.type_of(v * stacked.copies))].relations) {
      const Csr& graph = *typed.relations[at(r)].graph;
      for (EdgeIndex e = graph.offsets[at(v)]; e < graph.offsets[at(v) + 1]; ++e)
        if (graph.columns[at(e)] != v) values.push_back(of_relations[at(r)][at(e)]);
    }
  ORRERY_ASSERT(values.size() == stacked.rows.columns.size());
  return values;
}

namespace {

/// The new place of each vertex: by level, then by type, then as before.
std::vector<Vertex> places_by_type(const MessageFlow& flow, const std::vector<std::uint8_t>& types,
                                   std::size_t number_of_types) {
  std::vector<Vertex> place(types.size());
  std::size_t begin = 0;
  for (auto rows = flow.rows.rbegin(); rows != flow.rows.rend(); begin = at(*rows++)) {
    std::vector<Vertex> next(number_of_types + 1, 0);  // next place of each type
    for (std::size_t i = begin; i < at(*rows); ++i) ++next[types[i] + 1U];
    next[0] = static_cast<Vertex>(begin);
    std::partial_sum(next.begin(), next.end(), next.begin());
    for (std::size_t i = begin; i < at(*rows); ++i) place[i] = next[types[i]]++;
  }
  return place;
}

}  // namespace

void order_by_type(MessageFlow& flow, const StackedRelations& stacked, bool keeps_vertices) {
  const std::size_t all = flow.vertices.size();
  // type_of() of all of them, in loops that a compiler makes wide.
  std::vector<std::uint8_t> types(all, 0);
  const Vertex* const drawn = flow.vertices.data();
  std::uint8_t* const type = types.data();
  for (const Vertex begin : stacked.begins)
    for (std::size_t i = 0; i < all; ++i)
      type[i] = static_cast<std::uint8_t>(type[i] + (drawn[i] >= begin ? 1 : 0));
  const std::vector<Vertex> place = places_by_type(flow, types, stacked.types.size());
  std::vector<Vertex> vertices(all);
  for (std::size_t i = 0; i < all; ++i) vertices[at(place[i])] = flow.vertices[i];
  struct Old {
    std::int32_t row, rows;  ///< in any block
  };
  std::vector<Old> old(at(flow.rows[1]));  // by new place, of the vertices with rows
  std::int32_t row = 0;
  for (std::size_t i = 0; i < old.size(); ++i) {
    const auto rows = static_cast<std::int32_t>(stacked.types[types[i]].relations.size());
    old[at(place[i])] = {row, rows};
    row += rows;
  }
  for (std::size_t l = 0; l < flow.blocks.size(); ++l) {
    Csr& block = flow.blocks[l];
    std::vector<EdgeIndex> positions(flow.edges.empty() ? 0 : block.columns.size());
    Csr ordered{block.rows, block.cols, std::vector<EdgeIndex>(at(block.rows) + 1),
                std::vector<Vertex>(block.columns.size())};
    EdgeIndex* offset = ordered.offsets.data();
    EdgeIndex written = 0;
    const EdgeIndex* const end = offset + block.rows;
    for (std::size_t i = 0; offset < end; ++i) {
      const EdgeIndex* from = block.offsets.data() + old[i].row;
      const EdgeIndex moved = written - from[0];
      for (std::int64_t k = 1; k <= old[i].rows; ++k) *++offset = from[k] + moved;
      for (EdgeIndex e = from[0]; e < from[old[i].rows]; ++e) {
        if (!positions.empty()) positions[at(written)] = flow.edges[l][at(e)];
        const Vertex column = block.columns[at(e)];
        ordered.columns[at(written++)] = keeps_vertices ? column : place[at(column)];
      }
    }
    block = std::move(ordered);
    if (!positions.empty()) flow.edges[l] = std::move(positions);
  }
  flow.vertices = std::move(vertices);
}

std::vector<TypeRun> type_runs(std::span<const Vertex> vertices, const StackedRelations& stacked) {
  std::vector<TypeRun> runs;
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    const int type = stacked.type_of(vertices[i]);
    if (runs.empty() || runs.back().type != type)
      runs.push_back({type, static_cast<std::int64_t>(i), 0});
    ++runs.back().count;
  }
  return runs;
}

}  // namespace orrery
