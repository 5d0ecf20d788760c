// Sparse matrices in memory: a pattern with a value for each entry, or only their sizes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "core/graph/csr.hpp"

namespace orrery {

/// A sparse matrix of which only the size is known; `skew` is the largest row divided by the mean
/// row.
struct Counts {
  std::int64_t rows = 0, cols = 0, nnz = 0;
  double skew = 1;
  /// Finds the pattern for whoever must know more of it than its size, if a device makes it while a
  /// program runs; null: nobody knows it.
  std::shared_ptr<const std::function<Csr()>> look{};
};

/// The parts of a sparse operand. A strategy that needs the real graph gets it from the graph,
/// not from here.
using Pattern = std::variant<std::shared_ptr<const Csr>, Counts>;

/// Entry e of the pattern has the value values[e].
struct SparseMatrix {
  Pattern pattern;
  std::shared_ptr<const std::vector<float>> values;  ///< [nnz]; null if only counts are known
  bool symmetric = false;                            ///< A = Aᵀ, values included

  std::int64_t rows() const;
  std::int64_t cols() const;
  std::int64_t nnz() const;
  /// Errors    NeedsStructure if only counts are known
  const Csr& csr() const;
  /// The values of a row, in the order of csr().row(r).
  ///
  /// Errors    as csr()
  std::span<const float> row_values(std::int64_t r) const;
};

/// The order of the columns in a row.
enum class RowOrder : std::uint8_t { ascending, as_added };

/// A matrix that is written row by row.
class RowBuilder {
 public:
  /// Shapes    the matrix will have `rows` rows and `cols` columns
  RowBuilder(std::int64_t rows, std::int64_t cols, RowOrder order = RowOrder::ascending);
  /// Adds an entry to the present row. Columns of a row are distinct and may come in any order.
  void add(Vertex column, float value);
  void end_row();
  /// Requires  end_row() was called once for each row
  SparseMatrix finish();

 private:
  std::shared_ptr<Csr> pattern_;
  std::shared_ptr<std::vector<float>> values_;
  RowOrder order_;
};

/// Aᵀ with its values; counts keep their skew.
SparseMatrix transpose(const SparseMatrix& a);

/// The first `rows` rows of A, whose entries are all in the first `cols` columns.
SparseMatrix leading(const SparseMatrix& a, std::int64_t rows, std::int64_t cols);

/// A matrix with `times` times the rows, columns and entries of `a`, counted only; its rows have
/// the same skew.
SparseMatrix magnified(const SparseMatrix& a, std::int64_t times);

}  // namespace orrery
