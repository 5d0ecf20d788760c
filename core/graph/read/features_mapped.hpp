// Features in mapped NumPy files: only the rows that are asked for are ever read.
#pragma once

#include <memory>
#include <optional>

#include "core/graph/features.hpp"
#include "core/graph/files/npy.hpp"

namespace orrery {

/// Dense features in a mapped file. Values are checked as they are read.
///
/// Shapes    values [rows, width] float32 or float16; width -1 takes the file's
/// Requires  `binary` only if every value is known to be 0 or 1; when not given, the file is
///           scanned up to the first other value
/// Errors    DataError: wrong type or shape now, a value that is not finite when it is read
std::shared_ptr<const Features> mapped_features(const NpyArray& values, std::int64_t rows,
                                                std::int64_t width, std::optional<bool> binary,
                                                bool made_up);

/// Sparse features in compressed rows; every value is 1 when `values` is not given.
///
/// Shapes    indptr [rows + 1] int64 · indices [nnz] int32, ascending in a row · values [nnz]
///           float32
/// Errors    DataError (file, element): wrong type or shape, indptr not ascending from 0 to nnz, an
///           index out of range or order, a value that is not finite
std::shared_ptr<const Features> mapped_sparse_features(const NpyArray& indptr,
                                                       const NpyArray& indices,
                                                       const std::optional<NpyArray>& values,
                                                       std::int64_t rows, std::int64_t width,
                                                       bool made_up);

}  // namespace orrery
