// The inputs of an operation's price: a key for its kind of work, and its sizes.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/index.hpp"
#include "core/ops/ops.hpp"

namespace orrery::sim {

/// A size of an operation, by the name of the tables' axis.
struct Coordinate {
  std::string_view axis;
  double value = 0;
};

/// A local operation in the form for prices.
class PricePoint {
 public:
  PricePoint(std::string_view key, bool empty, std::initializer_list<Coordinate> coordinates);
  /// "spmm", "gemm", "gemm/transpose_a", "activate/dropout", ...: the kind of the operation, and a
  /// variant with another cost for the same sizes.
  std::string_view key;
  bool empty;  ///< writes nothing: costs a launch
  /// Nothing for an axis that the operation does not have.
  std::optional<double> at(std::string_view axis) const;
  const Coordinate* begin() const { return items_.data(); }
  const Coordinate* end() const { return items_.data() + count_; }

 private:
  std::array<Coordinate, 8> items_;
  std::size_t count_ = 0;
};

/// Axes by kind of operation:
///   spmm                  rows, degree (non-zeros per row), width, ragged, reuse_bytes (rows of x
///                         between two uses of the same one, in bytes: reuse · columns · width ·
///                         4), skew
///   spmm/heads            the same, heads (values of an entry) and columns (of each head); ragged
///                         is of these columns
///   spmm/columns          as spmm, with a value for each column of an entry: products of ends, maxima
///   sddmm                 as spmm/heads; of one head too
///   edge_softmax and      size (elements of the weights), width (heads), ragged
///   its backward, /ends
///   gemm and variants     m, n, n16 (n rounded up to a multiple of 16), k
///   loss, loss/sigmoid    targets, width (classes), rows_per_target
///   score, score/sigmoid  targets, width
///   sgd, adam             size (elements)
///   relabel,              size (entries of the pattern)
///   transpose_sparse, entries_by_column (under the key of transpose_sparse)
///   all others            size (elements that are written; read by scatter_add_rows and
///                         column_sum), width, ragged
/// `ragged` is 1 if the width is a multiple of 8, else 2: rows are then no whole vectors, and on
/// CPUs the same work takes up to several times as long. Any of them may also have `threads`, which
/// belongs to the device and not to the operation, and `bytes` (bytes_of the operation).
///
/// Requires  a local operation
PricePoint price_point(const Op& op);

/// All keys of price_point(), in the order of the vocabulary.
const std::vector<std::string>& price_keys();

/// Whether operations with this key have this axis.
bool has_axis(std::string_view key, std::string_view axis);

}  // namespace orrery::sim
