// The tensors of one kernel test, between guards, filled from constants: the same script builds the
// same world for every backend.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "core/base/half.hpp"
#include "core/base/parallel.hpp"
#include "core/base/rng.hpp"
#include "core/ops/ops.hpp"
#include "core/runtime/execute/kernels.hpp"
#include "core/runtime/execute/memory.hpp"

namespace orrery::testing {

class World {
 public:
  World() = default;
  /// The same tensors and patterns, the numbers copied.
  World(const World& other) : patterns_(other.patterns_), draw_(other.draw_) {
    for (const Tensor& t : other.tensors_) {
      const std::int64_t bytes = t.rows() * t.ld * bytes_of(t.dtype);
      memory_.allocate(t.id, bytes);
      std::memcpy(memory_.bytes_at(t), other.memory_.bytes_at(t), static_cast<std::size_t>(bytes));
      tensors_.push_back(t);
    }
    for (std::uint32_t id = 0; id < patterns_; ++id) memory_.share_sparse(id, other.memory_);
  }

  /// A window [rows, cols] of rows that are `ld` apart (0: contiguous), poisoned with NaN.
  Tensor poisoned(std::int64_t rows, std::int64_t cols, std::int64_t ld = 0,
                  DType dtype = DType::f32) {
    const Tensor t{.id = static_cast<std::uint32_t>(tensors_.size()),
                   .shape = {rows, cols},
                   .dtype = dtype,
                   .ld = ld == 0 ? cols : ld};
    memory_.allocate(t.id, rows * t.ld * bytes_of(dtype));
    tensors_.push_back(t);
    return t;
  }

  /// The same, drawn from [-1, 1).
  Tensor floats(std::int64_t rows, std::int64_t cols, std::int64_t ld = 0) {
    const Tensor t = poisoned(rows, cols, ld);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < cols; ++j)
        memory_.data<float>(t)[i * t.ld + j] = static_cast<float>(2 * draw_.uniform() - 1);
    return t;
  }

  /// The same as halves.
  Tensor halves(std::int64_t rows, std::int64_t cols, std::int64_t ld = 0) {
    const Tensor t = poisoned(rows, cols, ld, DType::f16);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < cols; ++j)
        memory_.data<Half>(t)[i * t.ld + j] = to_half(static_cast<float>(2 * draw_.uniform() - 1));
    return t;
  }

  /// What an op writes: drawn where it also reads it, poisoned where it does not.
  Tensor result(bool is_read, std::int64_t rows, std::int64_t cols, std::int64_t ld = 0) {
    return is_read ? floats(rows, cols, ld) : poisoned(rows, cols, ld);
  }

  Tensor given(std::int64_t rows, std::int64_t cols, const std::vector<float>& values) {
    const Tensor t = poisoned(rows, cols);
    std::copy(values.begin(), values.end(), memory_.data<float>(t));
    return t;
  }

  /// A column [n, 1] i32, or a matrix of `cols` columns.
  Tensor integers(const std::vector<std::int32_t>& values, std::int64_t cols = 1) {
    const Tensor t = poisoned(static_cast<std::int64_t>(values.size()) / cols, cols, 0, DType::i32);
    std::copy(values.begin(), values.end(), memory_.data<std::int32_t>(t));
    return t;
  }

  /// A column of n integers drawn from [0, below).
  Tensor indices(std::int64_t n, std::int64_t below) {
    std::vector<std::int32_t> values(static_cast<std::size_t>(n));
    for (auto& v : values)
      v = static_cast<std::int32_t>(draw_.below(static_cast<std::uint64_t>(below)));
    return integers(values);
  }

  Sparse sparse(Csr pattern) {
    const Sparse s{patterns_++, {pattern.rows, pattern.cols}, pattern.nnz()};
    memory_.add_sparse(s.id, std::make_shared<const Csr>(std::move(pattern)));
    return s;
  }

  /// For a pattern that an op makes.
  Sparse room(const Counts& counts) {
    const Sparse s{patterns_++, {counts.rows, counts.cols}, counts.nnz};
    memory_.add_sparse_room(s.id, counts);
    return s;
  }

  Sequence& draw() { return draw_; }
  const RankMemory& memory() const { return memory_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }
  template <class T>
  T* data(const Tensor& t) const {
    return memory_.data<T>(t);
  }
  std::vector<float> values(const Tensor& t) const {
    const float* first = data<float>(t);
    return {first, first + t.shape.size()};
  }

  void run(Kernels& kernels, const Op& op) const {
    validate(op);
    kernels.run(op, memory_);
    EXPECT_TRUE(memory_.guards_intact()) << to_string(op);
  }

 private:
  RankMemory memory_{256};
  std::vector<Tensor> tensors_;
  std::uint32_t patterns_ = 0;
  Sequence draw_{7, Purpose::features, 0};
};

/// Builds the operands of one op in a world.
using Script = std::function<Op(World&)>;

/// Elements of the whole allocation of `t`, padding between rows included, as doubles.
inline std::vector<double> allocation(const World& world, const Tensor& t) {
  std::vector<double> values(static_cast<std::size_t>(t.rows() * t.ld));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = t.dtype == DType::f64   ? world.data<double>(t)[i]
                : t.dtype == DType::f32 ? static_cast<double>(world.data<float>(t)[i])
                : t.dtype == DType::f16 ? static_cast<double>(to_float(world.data<Half>(t)[i]))
                                        : static_cast<double>(world.data<std::int32_t>(t)[i]);
  return values;
}

/// Whether the whole allocation of `t` is the same in both, padding between rows included.
inline bool same_bits(const World& a, const World& b, const Tensor& t) {
  return std::memcmp(a.memory().bytes_at(t), b.memory().bytes_at(t),
                     static_cast<std::size_t>(t.rows() * t.ld * bytes_of(t.dtype))) == 0;
}

/// Expects the same numbers in every allocation: |a − b| <= tolerance·(1 + |b|), NaN equal to NaN.
inline void expect_close(const World& got, const World& expected, double tolerance) {
  for (const Tensor& t : expected.tensors()) {
    if (same_bits(got, expected, t)) continue;
    const auto a = allocation(got, t), b = allocation(expected, t);
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (std::isnan(a[i]) && std::isnan(b[i])) continue;
      if (std::abs(a[i] - b[i]) <= tolerance * (1 + std::abs(b[i]))) continue;
      ADD_FAILURE() << to_string(t) << " element " << i << ": got " << a[i] << ", expected "
                    << b[i];
      return;
    }
  }
}

inline void expect_same_bits(const World& got, const World& expected) {
  for (const Tensor& t : expected.tensors())
    EXPECT_TRUE(same_bits(got, expected, t)) << to_string(t);
}

}  // namespace orrery::testing
