#include "core/strategy/edges/edge_structure.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/base/rng.hpp"
#include "core/strategy/edges/relation_structure.hpp"

namespace orrery {
namespace {

constexpr std::int64_t kRowBlock = 4096;

/// The numbers of the entries of `a`, by column: row j of the result has those of column j.
std::shared_ptr<const Csr> entries_by_column(const Csr& a, const std::vector<EdgeIndex>& offsets) {
  auto result = std::make_shared<Csr>();
  result->rows = a.cols;
  result->cols = a.nnz();
  result->offsets = offsets;
  result->columns.resize(a.columns.size());
  std::vector<EdgeIndex> next(offsets.begin(), offsets.end() - 1);
  for (std::size_t e = 0; e < a.columns.size(); ++e)
    result->columns[at(next[at(a.columns[e])]++)] = static_cast<Vertex>(e);
  return result;
}

/// The vertex that a column stands for.
Vertex source_of(const EndVertices& ends, Vertex column) {
  return ends.named ? column : ends.sources[at(column)];
}

IndexList numbers_of(const Csr& a, const EndVertices& ends) {
  auto numbers = std::make_shared<std::vector<Vertex>>(a.columns.size());
  parallel_for(a.rows, kRowBlock, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r)
      for (EdgeIndex e = a.offsets[at(r)]; e < a.offsets[at(r) + 1]; ++e)
        (*numbers)[at(e)] = edge_number(ends.rows[at(r)], source_of(ends, a.columns[at(e)]),
                                        ends.relation.value_or(0));
  });
  return IndexList(std::move(numbers));
}

IndexList feature_rows_of(const Csr& a, const EndVertices& ends) {
  auto rows = std::make_shared<std::vector<Vertex>>(a.columns.size());
  parallel_for(a.rows, kRowBlock, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r)
      for (EdgeIndex e = a.offsets[at(r)]; e < a.offsets[at(r) + 1]; ++e)
        (*rows)[at(e)] = ends.features->row_of(ends.rows[at(r)], source_of(ends, a.columns[at(e)]),
                                               ends.relation);
  });
  return IndexList(std::move(rows));
}

/// For edges that are only counted.
EdgeStructure counted(const SparseMatrix& a, const std::optional<EndVertices>& ends) {
  const auto& counts = std::get<Counts>(a.pattern);
  EdgeStructure edges;
  edges.pattern = counts;
  edges.transposed = Counts{counts.cols, counts.rows, counts.nnz, counts.skew};
  edges.by_source = Counts{counts.cols, counts.nnz, counts.nnz, counts.skew};
  edges.order = IndexList::counted(counts.nnz);
  if (ends && ends->edges) edges.numbers = IndexList::counted(counts.nnz);
  if (ends && ends->of_sources) edges.vertices = IndexList::counted(counts.cols);
  if (ends && ends->features)
    edges.features = {ends->features->rows, IndexList::counted(counts.nnz)};
  return edges;
}

/// What the ends of real entries are keys of.
void add_keyed(EdgeStructure& edges, const Csr& a, const EndVertices& ends) {
  if (ends.edges) edges.numbers = numbers_of(a, ends);
  if (ends.features) edges.features = {ends.features->rows, feature_rows_of(a, ends)};
  if (ends.of_sources)
    edges.vertices = IndexList(std::make_shared<const std::vector<Vertex>>(
        ends.sources.begin(), ends.sources.begin() + a.cols));
}

void require_numbers(const SparseMatrix& a) {
  if (a.nnz() > std::numeric_limits<Vertex>::max())
    throw ConfigError("model.type",
                      fmt::format("gat numbers the edges of a rank with 31 bits, but there are {}: "
                                  "use more ranks",
                                  a.nnz()));
}

/// Both blocks side by side; the skew is that of the block with most entries.
SparseMatrix side_by_side(const SparseMatrix& own, const SparseMatrix& halo) {
  const std::int64_t cols = own.cols() + halo.cols();
  if (const auto* counts = std::get_if<Counts>(&own.pattern)) {
    const auto& others = std::get<Counts>(halo.pattern);
    const double skew = others.nnz > counts->nnz ? others.skew : counts->skew;
    return {Counts{own.rows(), cols, own.nnz() + halo.nnz(), skew}, nullptr};
  }
  const Csr &a = own.csr(), &b = halo.csr();
  auto joined = std::make_shared<Csr>();
  joined->rows = a.rows;
  joined->cols = cols;
  joined->columns.reserve(at(a.nnz() + b.nnz()));
  for (std::int64_t r = 0; r < a.rows; ++r) {
    const auto first = a.row(r), second = b.row(r);
    joined->columns.insert(joined->columns.end(), first.begin(), first.end());
    for (const Vertex c : second) joined->columns.push_back(static_cast<Vertex>(own.cols() + c));
    joined->offsets.push_back(joined->nnz());
  }
  return {std::shared_ptr<const Csr>(std::move(joined)), nullptr};
}

}  // namespace

std::int64_t EdgeStructure::entries() const { return order.size(); }

std::int64_t EdgeStructure::bytes() const {
  // Columns of both patterns, and the order.
  const std::int64_t kept = relabelled_later ? 1 : 3;
  const std::int64_t numbered = numbers.size() > 0 ? 1 : 0;
  return ((kept + numbered) * entries() + vertices.size() + features.size()) *
             static_cast<std::int64_t>(sizeof(Vertex)) +
         (relations ? relations->bytes() : 0);
}

std::optional<EndVertices> ends_for(const ModelConfig& model,
                                    std::shared_ptr<const EdgeFeatures> features) {
  EndVertices ends;
  ends.edges = model.attention_dropout > 0;
  ends.of_sources = model.projection_dropout > 0;
  ends.features = std::move(features);
  if (!ends.edges && !ends.of_sources && !ends.features) return std::nullopt;
  return ends;
}

std::int32_t edge_number(Vertex row, Vertex source, std::uint32_t relation) {
  return std::bit_cast<std::int32_t>(random_bits(relation, Purpose::edge_numbers,
                                                 static_cast<std::uint32_t>(row),
                                                 static_cast<std::uint32_t>(source))[0]);
}

EdgeStructure make_edge_structure(const SparseMatrix& a, const std::optional<EndVertices>& ends) {
  require_numbers(a);
  if (std::holds_alternative<Counts>(a.pattern)) return counted(a, ends);
  EdgeStructure edges;
  edges.pattern = a.pattern;
  const bool same = a.symmetric && a.rows() == a.cols();
  const auto transposed = same ? std::get<std::shared_ptr<const Csr>>(a.pattern)
                               : std::make_shared<const Csr>(transpose(a.csr()));
  edges.transposed = transposed;
  const auto by_source = entries_by_column(a.csr(), transposed->offsets);
  edges.by_source = by_source;
  edges.order =
      IndexList(std::shared_ptr<const std::vector<Vertex>>(by_source, &by_source->columns));
  if (ends) add_keyed(edges, a.csr(), *ends);
  return edges;
}

EdgeStructure edges_later(const SparseMatrix& block,
                          const std::shared_ptr<const LaterNumbers>& numbers,
                          std::optional<EndVertices> ends) {
  require_numbers(block);
  EdgeStructure edges;
  if (std::holds_alternative<Counts>(block.pattern)) {
    edges = counted(block, ends);
  } else {
    edges.pattern = block.pattern;
    edges.transposed = transpose_later(block, numbers).pattern;
    Counts by_source{block.cols(), block.nnz(), block.nnz()};
    by_source.look = std::make_shared<const std::function<Csr()>>(
        [drawn = std::get<std::shared_ptr<const Csr>>(block.pattern), numbers] {
          const Csr a = numbers->numbered(*drawn);
          return *entries_by_column(a, transpose(a).offsets);
        });
    edges.by_source = std::move(by_source);
    edges.order = IndexList::counted(block.nnz());
    if (ends) {
      ends->named = true;
      add_keyed(edges, block.csr(), *ends);
    }
  }
  edges.relabelled_later = true;
  return edges;
}

std::vector<Vertex> source_vertices(
    const HaloStructure& part, std::span<const Vertex> own,
    const std::function<std::span<const Vertex>(int rank)>& vertices_of) {
  std::vector<Vertex> vertices(own.begin(), own.end());
  auto row = part.received_rows.numbers()->begin();
  for (std::size_t rank = 0; rank < part.receive->size(); ++rank) {
    if ((*part.receive)[rank] == 0) continue;
    const auto of_rank = vertices_of(static_cast<int>(rank));
    for (std::int64_t i = 0; i < (*part.receive)[rank]; ++i)
      vertices.push_back(of_rank[at(*row++)]);
  }
  return vertices;
}

EdgeStructure make_edge_structure(const HaloStructure& part, bool symmetric,
                                  const std::optional<EndVertices>& ends) {
  if (part.received() == 0) {
    SparseMatrix own = part.own_block;
    own.symmetric = symmetric;
    return make_edge_structure(own, ends);
  }
  return make_edge_structure(side_by_side(part.own_block, part.halo_block), ends);
}

}  // namespace orrery
