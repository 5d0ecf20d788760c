// One local operation of every price key, of given sizes.
#pragma once

#include <vector>

#include "core/ops/ops.hpp"

namespace orrery::testing {

inline Tensor matrix_of(std::uint32_t id, std::int64_t rows, std::int64_t cols,
                        DType dtype = DType::f32) {
  return {.id = id, .shape = {rows, cols}, .dtype = dtype, .ld = cols};
}

/// In the order of price_keys(). All are valid.
///
/// Requires  rows at least 1, width at least 2: a product has a value for each column of an entry
inline std::vector<Op> sample_ops(std::int64_t rows, std::int64_t width) {
  const auto vertices = std::make_shared<const std::vector<Vertex>>(static_cast<std::size_t>(rows));
  const auto floats =
      std::make_shared<const std::vector<float>>(static_cast<std::size_t>(rows * width));
  const auto labels = std::make_shared<const Labels>();
  const Tensor x = matrix_of(1, rows, width), y = matrix_of(2, rows, width),
               z = matrix_of(3, rows, width), index = matrix_of(4, rows, 1, DType::i32),
               square = matrix_of(5, width, width), row = matrix_of(6, 1, width),
               column = matrix_of(7, rows, 1), f64 = matrix_of(8, 1, 1, DType::f64),
               counts = matrix_of(9, 1, 3, DType::f64),
               many = matrix_of(10, rows, width, DType::i32), row2 = matrix_of(11, 1, width),
               turned = matrix_of(12, width, rows), two_heads = matrix_of(24, rows, 2 * width);
  const Tensor moments = matrix_of(16, 1, 2 * width + 1, DType::f64),
               averages = matrix_of(17, 2, width);
  const Dropout drop{0.5, 1, 1, 1, index, 0};
  const Sparse a{0, {rows, rows}, 8 * rows}, transposed{1, {rows, rows}, 8 * rows},
      by_column{2, {rows, 8 * rows}, 8 * rows};
  return {Load{FeatureRows{nullptr, vertices}, x},
          Load{LabelRows{labels, vertices}, index},
          Load{IndexArray{vertices}, index},
          Load{FloatArray{floats}, x},
          Load{UniformWeights{1, 1, 0.1F}, x},
          Fill{x, 0},
          Copy{x, y},
          Save{x, std::make_shared<std::vector<float>>()},
          SpMM{a, {}, x, y, 0},
          SpMM{a, matrix_of(23, 8 * rows, 2), two_heads, matrix_of(25, rows, 2 * width), 0},
          SpMM{a, matrix_of(15, 8 * rows, width), x, y, 0},
          Sddmm{a, x, y, matrix_of(15, 8 * rows, width)},
          EdgeSoftmax{a, matrix_of(15, 8 * rows, width), {}},
          EdgeSoftmax{a, matrix_of(15, 8 * rows, width), EndScores{x, y}},
          EdgeSoftmaxBackward{
              a, matrix_of(15, 8 * rows, width), matrix_of(19, 8 * rows, width), {}, {}},
          EdgeSoftmaxBackward{a, matrix_of(15, 8 * rows, width), matrix_of(19, 8 * rows, width),
                              EndScores{x, y}, z},
          Gemm{x, square, y, false, false, 0},
          Gemm{x, y, square, true, false, 0},
          Gemm{x, square, y, false, true, 0},
          Gemm{turned, square, y, true, true, 0},
          GatherRows{x, index, y},
          ScatterAddRows{x, index, y},
          Relabel{a, index, matrix_of(20, Relabel::slots(rows), 1, DType::i32)},
          TransposeSparse{a, matrix_of(21, 8 * rows, 1), transposed, matrix_of(22, 8 * rows, 1)},
          EntriesByColumn{a, transposed, by_column, matrix_of(26, 8 * rows, 1, DType::i32)},
          Activate{x, row, x, Activation::relu, {}},
          Activate{x, row, x, Activation::relu, drop},
          ActivateBackward{x, y, z, Activation::relu, {}},
          ActivateBackward{x, {}, z, Activation::none, drop},
          ColumnSum{x, row, 0},
          LayerNorm{x, row, row2, z, column, y},
          LayerNormBackward{x, y, column, row, z, row2, matrix_of(13, 1, width)},
          ColumnMoments{x, x, row, row2},
          BatchNorm{x, moments, averages, row, row2, z, y},
          BatchNormBackward{x, y, moments, matrix_of(18, 1, 2 * width), row, z, rows / 2},
          Loss{LossKind::softmax, x, index, index, y, f64, 1},
          Loss{LossKind::sigmoid, x, many, index, y, f64, 1},
          Score{LossKind::softmax, x, index, index, counts},
          Score{LossKind::sigmoid, x, many, index, counts},
          Sgd{x, y, 0.1F, 0},
          Adam{.w = x, .g = y, .m = z, .v = matrix_of(14, rows, width), .rate = 0.1F}};
}

}  // namespace orrery::testing
