// Compressed rows in memory of somebody else, such as a mapped file.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/index.hpp"
#include "core/graph/csr.hpp"

namespace orrery {

/// A Csr that owns nothing: what it is made of must stay in place.
///
/// Shapes    offsets [rows + 1], columns [nnz]
struct CsrView {
  std::int64_t rows = 0, cols = 0;
  std::span<const EdgeIndex> offsets;
  std::span<const Vertex> columns;

  CsrView(const Csr& csr)  // NOLINT(google-explicit-constructor): the same by another name
      : rows(csr.rows), cols(csr.cols), offsets(csr.offsets), columns(csr.columns) {}
  CsrView(std::int64_t cols_of_all, std::span<const EdgeIndex> offsets_of_rows,
          std::span<const Vertex> columns_of_rows)
      : rows(std::ssize(offsets_of_rows) - 1),
        cols(cols_of_all),
        offsets(offsets_of_rows),
        columns(columns_of_rows) {}

  std::int64_t nnz() const { return std::ssize(columns); }
  std::int64_t degree(std::int64_t row) const { return offsets[at(row) + 1] - offsets[at(row)]; }
};

}  // namespace orrery
