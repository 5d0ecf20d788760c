#include "core/strategy/edges/relation_structure.hpp"

#include <algorithm>
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

std::vector<RelationMatrix> make_relations(const PartitionedGraph& source,
                                           const HaloStructure& part, int rank,
                                           std::int64_t magnify) {
  const SourceColumns columns(part, rank);
  std::vector<RelationMatrix> relations;
  for (const auto& [first, blocks] : source.relations(rank)) {
    SparseMatrix matrix = joined(blocks, columns);
    SparseMatrix transposed = transpose(matrix);
    if (magnify == 1)
      relations.push_back({first, std::move(matrix), std::move(transposed)});
    else
      relations.push_back(
          {first * magnify, magnified(matrix, magnify), magnified(transposed, magnify)});
  }
  return relations;
}

std::vector<RelationMatrix> make_relations(const TypedGraph& typed, const Csr& block,
                                           std::span<const Vertex> vertices) {
  std::vector<RelationMatrix> relations;
  for (const Relation& relation : typed.relations) {
    RowBuilder matrix(block.rows, block.cols);
    std::vector<Vertex> drawn;
    for (std::int64_t r = 0; r < block.rows; ++r) {
      const auto of_relation = relation.graph->row(vertices[at(r)]);
      drawn.clear();
      if (!of_relation.empty())
        for (const Vertex c : block.row(r))
          if (std::ranges::binary_search(of_relation, vertices[at(c)])) drawn.push_back(c);
      const float share = 1 / static_cast<float>(drawn.size());
      for (const Vertex c : drawn) matrix.add(c, share);
      matrix.end_row();
    }
    SparseMatrix made = matrix.finish();
    SparseMatrix transposed = transpose(made);
    relations.push_back({0, std::move(made), std::move(transposed)});
  }
  return relations;
}

std::int64_t bytes_of(const std::vector<RelationMatrix>& relations) {
  constexpr std::int64_t kOffset = sizeof(EdgeIndex), kEntry = sizeof(Vertex) + sizeof(float);
  std::int64_t bytes = 0;
  for (const RelationMatrix& relation : relations)
    for (const SparseMatrix* matrix : {&relation.matrix, &relation.transposed})
      bytes += (matrix->rows() + 1) * kOffset + matrix->nnz() * kEntry;
  return bytes;
}

}  // namespace orrery
