// A sparse pattern on the device, prepared for products.
#pragma once

#include <memory>
#include <mutex>

#include "backends/cuda/device/device.cuh"
#include "backends/cuda/device/prepare.hpp"

namespace orrery::cuda {

class CusparsePlans;

/// A pattern as our own kernel sees it.
struct PatternView {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const Preparation::Piece* pieces;
  const Preparation::LongRow* long_rows;
  const std::int32_t* rows;
  std::int64_t piece_count, long_row_count, row_count;
};

}  // namespace orrery::cuda

/// Offsets and columns lie in the arena; what is made of them lies beside it.
struct OrreryPattern {
  /// Waits until the arrays are on the device.
  ///
  /// Shapes    offsets [rows + 1] · columns [nnz], on the host
  /// Errors    Failure: 2^31 rows or more · kOrreryOutOfMemory
  OrreryPattern(OrreryStream& s, std::int64_t rows, std::int64_t cols, std::int64_t nnz,
                const std::int64_t* offsets, const std::int32_t* columns);
  /// The transpose of a pattern on the device with its values. Waits: rows are prepared on the host.
  ///
  /// Shapes    values, t_values [nnz]
  /// Errors    Failure: 2^31 rows or entries, or more · kOrreryOutOfMemory
  OrreryPattern(OrreryStream& s, const OrreryPattern& of, const float* values, float* t_values);
  /// The transpose, and the number in `of` of each of its entries.
  ///
  /// Shapes    order [nnz]
  OrreryPattern(OrreryStream& s, const OrreryPattern& of, std::int32_t* order);
  /// A pattern with the rows of another one, and these numbers below `cols` as columns.
  ///
  /// Shapes    columns [nnz], on the device
  OrreryPattern(OrreryStream& s, const OrreryPattern& rows_of, std::int64_t cols,
                const std::int32_t* columns);
  ~OrreryPattern();
  OrreryPattern(const OrreryPattern&) = delete;
  OrreryPattern& operator=(const OrreryPattern&) = delete;

  OrreryDevice& device;
  const std::int64_t rows, cols, nnz;
  std::int64_t longest = 0;
  orrery::cuda::PatternView view{};
  /// Made by the products of cuSPARSE.
  std::unique_ptr<orrery::cuda::CusparsePlans> plans;

  /// Other names for the columns: the same memory, for an operation that changes them.
  std::int32_t* columns() { return columns_; }

 private:
  /// Memory in the arena.
  OrreryPattern(OrreryDevice& on, std::int64_t rows, std::int64_t cols, std::int64_t nnz);
  /// Prepares rows of these lengths; the arrays may still be on their way.
  void prepare(OrreryStream& s, const std::int64_t* offsets);
  /// The same with the offsets that are on the device. Waits for them.
  void prepare(OrreryStream& s);

  std::int64_t* offsets_ = nullptr;
  std::int32_t* columns_ = nullptr;
  orrery::cuda::Beside pieces_, long_rows_, other_rows_;
};

namespace orrery::cuda {

/// y ← a·x + beta·y by our own kernels.
///
/// Shapes    values [nnz, heads], or null: ones
void spmm_own(OrreryStream& s, const OrreryPattern& a, const float* values, std::int64_t heads,
              OrreryMatrix x, OrreryMatrix y, float beta);
/// The same of one head by cuSPARSE; `repeatable` takes its algorithm with equal bits in every run.
///
/// Errors    Failure: 2^31 entries or more
void spmm_cusparse(OrreryStream& s, const OrreryPattern& a, const float* values, OrreryMatrix x,
                   OrreryMatrix y, float beta, bool repeatable);

// ---- the transpose

struct Extents {
  std::int64_t rows, cols, nnz;
};

/// The offsets, columns and values of the transpose.
///
/// Shapes    offsets [rows + 1] · columns, values [nnz] · t_offsets [cols + 1] · t_columns,
///           t_values [nnz]
/// Errors    Failure: 2^31 entries or more
void transpose(OrreryStream& s, const std::int64_t* offsets, const std::int32_t* columns,
               const float* values, const Extents& of, std::int64_t* t_offsets,
               std::int32_t* t_columns, float* t_values);
/// The same without values. order [nnz] ← the number of each entry in what is transposed.
void transpose(OrreryStream& s, const std::int64_t* offsets, const std::int32_t* columns,
               const Extents& of, std::int64_t* t_offsets, std::int32_t* t_columns,
               std::int32_t* order);

/// The rows of x by ascending index, rows of one index in their order.
struct SortedRows {
  std::int32_t *index, *source;  ///< in the scratch memory of the stream
};
SortedRows sort_rows(OrreryStream& s, const std::int32_t* index, std::int64_t n);

}  // namespace orrery::cuda
