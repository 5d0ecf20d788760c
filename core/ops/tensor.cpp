#include "core/ops/tensor.hpp"

#include <fmt/core.h>

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery {

std::string_view name_of(DType type) {
  switch (type) {
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
    case DType::i32:
      return "i32";
    case DType::f16:
      return "f16";
  }
  return "?";
}

std::string_view name_of(Space space) {
  constexpr std::string_view names[] = {"device", "pinned_host", "host", "server_host"};
  return names[at(space)];
}

std::string_view name_of(Lane lane) {
  constexpr std::string_view names[] = {"compute", "comm",    "comm2", "copy",
                                        "host",    "sampler", "store"};
  return names[at(lane)];
}

Tensor Tensor::rows_at(std::int64_t first, std::int64_t count) const {
  ORRERY_ASSERT(first >= 0 && count >= 0 && first + count <= shape.rows);
  Tensor t = *this;
  t.shape.rows = count;
  t.offset += first * ld;
  return t;
}

Tensor Tensor::cols_at(std::int64_t first, std::int64_t count) const {
  ORRERY_ASSERT(first >= 0 && count >= 0 && first + count <= shape.cols);
  Tensor t = *this;
  t.shape.cols = count;
  t.offset += first;
  return t;
}

Tensor Tensor::reshaped(Shape to) const {
  ORRERY_ASSERT(contiguous() && to.size() <= shape.size());
  Tensor t = *this;
  t.shape = to;
  t.ld = to.cols;
  return t;
}

bool overlap(const Tensor& a, const Tensor& b) {
  if (a.id != b.id || a.shape.size() == 0 || b.shape.size() == 0) return false;
  const auto last = [](const Tensor& t) {
    return t.offset + (t.shape.rows - 1) * t.ld + t.shape.cols - 1;
  };
  if (last(a) < b.offset || last(b) < a.offset) return false;
  const std::int64_t ld = a.ld;
  const auto fits = [ld](const Tensor& t) {
    return t.ld == ld && t.offset % ld + t.shape.cols <= ld;
  };
  if (ld == 0 || !fits(a) || !fits(b)) return true;
  const std::int64_t col_a = a.offset % ld, col_b = b.offset % ld;
  const std::int64_t row_a = a.offset / ld, row_b = b.offset / ld;
  return col_a < col_b + b.shape.cols && col_b < col_a + a.shape.cols &&
         row_a < row_b + b.shape.rows && row_b < row_a + a.shape.rows;
}

std::string to_string(const Tensor& t) {
  std::string text = fmt::format("t{}[{}x{}", t.id, t.shape.rows, t.shape.cols);
  if (t.dtype != DType::f32) text += fmt::format(" {}", name_of(t.dtype));
  if (t.offset != 0) text += fmt::format(" +{}", t.offset);
  if (!t.contiguous()) text += fmt::format(" /{}", t.ld);
  return text + "]";
}

std::string to_string(const Sparse& s) {
  return fmt::format("s{}[{}x{} nnz {}]", s.id, s.shape.rows, s.shape.cols, s.nnz);
}

std::string to_string(const Group& g) {
  if (g.size == 1) return fmt::format("rank {}", g.first);
  const int last = g.rank_of(g.size - 1);
  if (g.stride > 1 && g.size == 2) return fmt::format("ranks {},{}", g.first, last);
  return g.stride == 1 ? fmt::format("ranks {}..{}", g.first, last)
                       : fmt::format("ranks {},{},..,{}", g.first, g.first + g.stride, last);
}

}  // namespace orrery
