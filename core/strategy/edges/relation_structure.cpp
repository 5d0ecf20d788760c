#include "core/strategy/edges/relation_structure.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery {
namespace {

/// The column of each owner's row among a rank's sources.
class SourceColumns {
 public:
  SourceColumns(const HaloStructure& part, int rank) : part_(part), rank_(rank) {
    std::int64_t begin = 0;
    for (const std::int64_t rows : *part.receive)
      begins_.push_back(std::exchange(begin, begin + rows));
    begins_.push_back(begin);
  }
  std::int64_t count() const { return part_.own_block.cols() + part_.received(); }
  Vertex operator()(int owner, Vertex row) const {
    if (owner == rank_) return row;
    const std::vector<Vertex>& rows = *part_.received_rows.numbers();
    const auto begin = rows.begin() + begins_[at(owner)],
               end = rows.begin() + begins_[at(owner) + 1];
    const auto found = std::lower_bound(begin, end, row);
    ORRERY_ASSERT(found != end && *found == row);
    return static_cast<Vertex>(part_.own_block.cols() + (found - rows.begin()));
  }

 private:
  const HaloStructure& part_;
  int rank_;
  std::vector<std::int64_t> begins_;  ///< among received rows, of each owner, and the end
};

SparseMatrix joined(const std::vector<SparseMatrix>& blocks, const SourceColumns& columns) {
  const std::int64_t rows = blocks.front().rows();
  RowBuilder matrix(rows, columns.count());
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::size_t owner = 0; owner < blocks.size(); ++owner) {
      const auto row = blocks[owner].csr().row(r);
      const auto values = blocks[owner].row_values(r);
      for (std::size_t e = 0; e < row.size(); ++e)
        matrix.add(columns(static_cast<int>(owner), row[e]), values[e]);
    }
    matrix.end_row();
  }
  return matrix.finish();
}

}  // namespace

RelationStructure make_relations(const PartitionedGraph& source, const HaloStructure& part,
                                 int rank, std::int64_t magnify) {
  const SourceColumns columns(part, rank);
  const PartitionedGraph::Relations of_rank = source.relations(rank);
  RelationStructure made;
  for (const auto& [first, count] : of_rank.types)
    made.types.push_back({{first * magnify, count * magnify}});
  for (const auto& [destination, blocks] : of_rank.relations) {
    SparseMatrix matrix = joined(blocks, columns);
    SparseMatrix transposed = transpose(matrix);
    if (magnify == 1)
      made.relations.push_back({destination, std::move(matrix), std::move(transposed)});
    else
      made.relations.push_back(
          {destination, magnified(matrix, magnify), magnified(transposed, magnify)});
  }
  return made;
}

std::vector<std::vector<Products::Rows>> rows_by_type(std::span<const TypeRun> runs,
                                                      std::size_t types) {
  std::vector<std::vector<Products::Rows>> made(types);
  for (const TypeRun& run : runs) made[at(run.type)].push_back({run.first, run.count});
  return made;
}

RelationStructure make_relations(const StackedRelations& stacked, const SparseMatrix& block,
                                 std::int64_t rows, std::span<const Vertex> vertices) {
  RelationStructure made;
  const std::vector<TypeRun> runs = type_runs(vertices.first(at(rows)), stacked);
  made.types = rows_by_type(runs, stacked.types.size());
  std::vector<std::int64_t> of_type(stacked.types.size(), 0);
  for (const TypeRun& run : runs) of_type[at(run.type)] += run.count;
  made.relations.resize(at(stacked.relations));
  for (std::size_t t = 0; t < stacked.types.size(); ++t)
    for (const int r : stacked.types[t].relations)
      made.relations[at(r)].destination = static_cast<int>(t);
  std::vector<RowBuilder> matrices;
  for (const RelationMatrix& relation : made.relations)
    matrices.emplace_back(of_type[at(relation.destination)], block.cols(), RowOrder::as_added);

  std::int64_t row = 0;  // a vertex has one for each relation into its type
  const auto take_row = [&](RowBuilder& matrix) {
    const auto drawn = block.csr().row(row);
    if (block.values) {
      const auto weights = block.row_values(row);
      const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
      for (std::size_t e = 0; e < drawn.size(); ++e)
        matrix.add(drawn[e], sum == 0 ? 0.0F : static_cast<float>(weights[e] / sum));
    } else {
      const float share = 1 / static_cast<float>(drawn.size());
      for (const Vertex c : drawn) matrix.add(c, share);
    }
    matrix.end_row();
    ++row;
  };
  for (const TypeRun& run : runs)
    for (std::int64_t i = 0; i < run.count; ++i)
      for (const int r : stacked.types[at(run.type)].relations) take_row(matrices[at(r)]);
  ORRERY_ASSERT(row == block.rows());
  for (std::size_t r = 0; r < matrices.size(); ++r) made.relations[r].matrix = matrices[r].finish();
  return made;
}

void transpose_relations(RelationStructure& structure,
                         const std::shared_ptr<const LaterNumbers>& numbers) {
  structure.relabelled_later = numbers != nullptr;
  for (RelationMatrix& relation : structure.relations)
    relation.transposed =
        numbers ? transpose_later(relation.matrix, numbers) : transpose(relation.matrix);
}

namespace {

/// The columns of a relation's edges, those of its rows first.
std::vector<Vertex> columns_used(const std::vector<Products::Rows>& rows, const Csr& edges) {
  std::vector<Vertex> used;
  std::vector<bool> wanted(at(edges.cols));
  for (const Vertex column : edges.columns) wanted[at(column)] = true;
  for (const Products::Rows& run : rows)
    for (std::int64_t r = run.first; r < run.first + run.count; ++r) {
      used.push_back(static_cast<Vertex>(r));
      wanted[at(r)] = false;
    }
  for (std::size_t column = 0; column < wanted.size(); ++column)
    if (wanted[column]) used.push_back(static_cast<Vertex>(column));
  return used;
}

/// The edges with these columns in this order.
SparseMatrix within(const Csr& edges, const std::vector<Vertex>& columns) {
  std::vector<Vertex> place(at(edges.cols));
  for (std::size_t i = 0; i < columns.size(); ++i) place[at(columns[i])] = static_cast<Vertex>(i);
  auto made = std::make_shared<Csr>(edges);
  made->cols = std::ssize(columns);
  for (Vertex& column : made->columns) column = place[at(column)];
  for (std::int64_t r = 0; r < made->rows; ++r)
    std::sort(made->columns.begin() + made->offsets[at(r)],
              made->columns.begin() + made->offsets[at(r) + 1]);
  return {std::move(made), nullptr};
}

}  // namespace

void weigh_relations(RelationStructure& structure, const std::optional<EndVertices>& keys,
                     std::span<const Vertex> vertices) {
  for (std::size_t k = 0; k < structure.relations.size(); ++k) {
    RelationMatrix& relation = structure.relations[k];
    const std::vector<Vertex> used =
        columns_used(structure.types[at(relation.destination)], relation.matrix.csr());
    std::vector<Vertex> sources;
    for (const Vertex column : used) sources.push_back(vertices[at(column)]);
    std::optional<EndVertices> ends = keys;
    if (ends) {
      ends->rows = std::span(sources).first(at(relation.matrix.rows()));
      ends->sources = sources;
      ends->relation = static_cast<std::uint32_t>(k);
    }
    relation.edges = make_edge_structure(within(relation.matrix.csr(), used), ends);
    relation.sources = IndexList(std::make_shared<const std::vector<Vertex>>(used));
    relation.matrix = relation.transposed = {};
  }
}

std::int64_t RelationStructure::bytes() const {
  constexpr std::int64_t kOffset = sizeof(EdgeIndex), kEntry = sizeof(Vertex) + sizeof(float);
  std::int64_t bytes = 0;
  for (const RelationMatrix& relation : relations)
    if (relation.edges)
      bytes += relation.edges->bytes() +
               relation.sources.size() * static_cast<std::int64_t>(sizeof(Vertex));
    else
      for (const SparseMatrix* matrix : {&relation.matrix, &relation.transposed})
        if (matrix == &relation.matrix || !relabelled_later)
          bytes += (matrix->rows() + 1) * kOffset + matrix->nnz() * kEntry;
  return bytes;
}

}  // namespace orrery
