// Names of things on a device: tensors, sparse patterns, lanes, groups of ranks. Plain data, no
// memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "core/graph/sparse_matrix.hpp"

namespace orrery {

/// f16 is a Half: feature rows are held and travel in it; nothing is computed with it.
enum class DType : std::uint8_t { f32, f64, i32, f16 };
constexpr std::int64_t bytes_of(DType type) {
  return type == DType::f64 ? 8 : type == DType::f16 ? 2 : 4;
}
std::string_view name_of(DType type);

/// Memory spaces of a rank, each with a capacity. server_host: a rank's host memory that the other
/// ranks of its server read.
enum class Space : std::uint8_t { device, pinned_host, host, server_host };
std::string_view name_of(Space space);

/// Queues of a rank. Operations of one lane run in order. Lanes run concurrently; only events order
/// them. comm2 carries gradients beside halos.
enum class Lane : std::uint8_t { compute, comm, comm2, copy, host, sampler, store };
constexpr int kLanes = 7;
std::string_view name_of(Lane lane);

struct Shape {
  std::int64_t rows = 0, cols = 0;
  std::int64_t size() const { return rows * cols; }
  bool operator==(const Shape&) const = default;
};

/// A window of allocation `id`: element (i, j) lies at position offset + i·ld + j of the
/// allocation, in elements. (One offset instead of (row, column): a flat buffer can then be seen as
/// matrices of any width. Scratch buffers are reused in this way, and all parameters share one
/// all-reduce.)
struct Tensor {
  std::uint32_t id = 0;
  Shape shape;
  DType dtype = DType::f32;
  Space space = Space::device;
  std::int64_t offset = 0, ld = 0;

  std::int64_t rows() const { return shape.rows; }
  std::int64_t cols() const { return shape.cols; }
  /// Bytes of the elements in the window.
  std::int64_t bytes() const { return shape.size() * bytes_of(dtype); }
  bool contiguous() const { return ld == shape.cols || shape.rows <= 1; }
  /// Rows [first, first + count) of this window.
  Tensor rows_at(std::int64_t first, std::int64_t count) const;
  /// Columns [first, first + count) of this window.
  Tensor cols_at(std::int64_t first, std::int64_t count) const;
  /// The first rows·cols elements of a contiguous window, seen as a matrix [rows, cols].
  Tensor reshaped(Shape shape) const;
  bool operator==(const Tensor&) const = default;
};

/// True when the two windows share an element (exact for windows of equal ld, else by their span).
bool overlap(const Tensor& a, const Tensor& b);

/// "t3[20x16]", with "+offset" and "/ld" where the window is not the whole of a matrix; "t3[20x1
/// i32]" where not f32.
std::string to_string(const Tensor& t);

/// A sparse pattern on a device (row offsets and column numbers); its values, if any, are a Tensor
/// [nnz, heads].
struct Sparse {
  std::uint32_t id = 0;
  Shape shape;
  std::int64_t nnz = 0;
  // What a product's time depends on, besides sizes:
  float skew = 1;   ///< largest row divided by the mean row
  float reuse = 1;  ///< column_reuse(); 1 for random columns, or if only counts are known
  /// Bytes on the device: 8 per row offset, 4 per column number.
  std::int64_t bytes() const { return (shape.rows + 1) * 8 + nnz * 4; }
  bool operator==(const Sparse&) const = default;
};
std::string to_string(const Sparse& s);  // "s0[20x20 nnz 96]"

/// The ranks first, first + stride, ..., first + (size − 1)·stride. Roots and peers are indices in
/// the group.
struct Group {
  std::uint16_t id = 0;
  int first = 0, size = 1, stride = 1;
  int rank_of(int index) const { return first + index * stride; }
  bool contains(int rank) const {
    return rank >= first && (rank - first) % stride == 0 && (rank - first) / stride < size;
  }
  int index_of(int rank) const { return (rank - first) / stride; }
  bool operator==(const Group&) const = default;
};
std::string to_string(const Group& g);  // "ranks 0..3", "ranks 0,2,..,6"

/// The group of all ranks.
inline Group world_group(int size) { return {0, 0, size, 1}; }

}  // namespace orrery
