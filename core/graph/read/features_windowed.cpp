#include "core/graph/read/features_windowed.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <type_traits>

#include "core/base/error.hpp"
#include "core/graph/files/npy_half.hpp"
#include "core/graph/files/npy_window.hpp"
#include "core/graph/read/scan.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

std::string file_name(const NpyWindow& array) { return fs::path(array.header().path).filename(); }

[[noreturn]] void fail_at(const NpyWindow& array, std::int64_t element,
                          const std::string& problem) {
  throw DataError(array.header().path, place_of(array.header().shape, element), problem);
}

/// Whether all elements are 0 or 1.
template <class Value = float>
bool is_binary(NpyWindow& array) {
  const std::int64_t n = array.header().elements;
  for (std::int64_t i = 0; i < n; i += kScanBlock)
    if (!std::ranges::all_of(array.elements<Value>(i, std::min(kScanBlock, n - i)),
                             [](Value x) { return as_float(x) == 0 || as_float(x) == 1; }))
      return false;
  return true;
}

/// Value is float or Half.
template <class Value>
class WindowedDense final : public Features {
 public:
  WindowedDense(const fs::path& values, std::int64_t rows, std::int64_t width,
                std::optional<bool> binary, bool made_up)
      : values_(values), made_up_(made_up) {
    values_.header().require(npy_dtype<Value>(), {rows, width});
    binary_ = binary ? *binary : is_binary<Value>(values_);
  }
  std::int64_t rows() const override { return values_.header().shape[0]; }
  std::int64_t width() const override { return values_.header().shape[1]; }
  bool binary() const override { return binary_; }
  bool made_up() const override { return made_up_; }
  std::string provenance() const override {
    return fmt::format("{}mapped file {}", made_up_ ? "generated, " : "", file_name(values_));
  }

  bool half() const override { return std::is_same_v<Value, Half>; }

  void read(std::span<const Vertex> vertices, std::int64_t col0, std::int64_t cols, float* out,
            std::int64_t ld) const override {
    read_as(vertices, col0, cols, out, ld, [](Value x) { return as_float(x); });
  }
  void read_half(std::span<const Vertex> vertices, std::int64_t col0, std::int64_t cols, Half* out,
                 std::int64_t ld) const override {
    if constexpr (std::is_same_v<Value, Half>)
      read_as(vertices, col0, cols, out, ld, [](Half x) { return x; });
    else
      Features::read_half(vertices, col0, cols, out, ld);
  }

 private:
  template <class To, class Convert>
  void read_as(std::span<const Vertex> vertices, std::int64_t col0, std::int64_t cols, To* out,
               std::int64_t ld, const Convert& convert) const {
    const std::lock_guard lock(turn_);
    for (std::size_t i = 0; i < vertices.size(); ++i) {
      const std::int64_t first = vertices[i] * width() + col0;
      const auto row = values_.elements<Value>(first, cols);
      const auto bad =
          std::ranges::find_if(row, [](Value x) { return !std::isfinite(as_float(x)); });
      if (bad != row.end())
        fail_at(values_, first + (bad - row.begin()),
                fmt::format("expected a finite number, found {}", as_float(*bad)));
      std::ranges::transform(row, out + static_cast<std::int64_t>(i) * ld, convert);
    }
  }

  mutable std::mutex turn_;
  mutable NpyWindow values_;
  bool binary_ = false, made_up_;
};

class WindowedSparse final : public Features {
 public:
  WindowedSparse(const fs::path& indptr, const fs::path& indices,
                 const std::optional<fs::path>& values, std::int64_t rows, std::int64_t width,
                 bool made_up)
      : indptr_(indptr), indices_(indices), width_(width), made_up_(made_up) {
    indptr_.header().require(npy_dtype<std::int64_t>(), {rows + 1});
    indices_.header().require(npy_dtype<std::int32_t>(), {-1});
    if (!values) return;
    values_.emplace(*values);
    values_->header().require(npy_dtype<float>(), {indices_.header().elements});
    binary_ = is_binary(*values_);
  }
  std::int64_t rows() const override { return indptr_.header().elements - 1; }
  std::int64_t width() const override { return width_; }
  bool binary() const override { return binary_; }
  bool made_up() const override { return made_up_; }
  std::string provenance() const override {
    return fmt::format("{}mapped sparse file {} ({} entries)", made_up_ ? "generated, " : "",
                       file_name(indices_), indices_.header().elements);
  }

  void read(std::span<const Vertex> vertices, std::int64_t col0, std::int64_t cols, float* out,
            std::int64_t ld) const override {
    const std::lock_guard lock(turn_);
    for (std::size_t i = 0; i < vertices.size(); ++i)
      read_row(vertices[i], col0, cols, out + static_cast<std::int64_t>(i) * ld);
  }

 private:
  void read_row(Vertex v, std::int64_t col0, std::int64_t cols, float* row) const {
    const auto ends = indptr_.elements<std::int64_t>(v, 2);
    const std::int64_t first = ends[0], count = ends[1] - ends[0];
    const std::int64_t entries = indices_.header().elements;
    if (first < 0 || count < 0 || first > entries - count)
      fail_at(indptr_, v,
              fmt::format("expected numbers that ascend up to {}, found {} and {}", entries, first,
                          first + count));
    const auto columns = indices_.elements<std::int32_t>(first, count);
    if (std::ranges::adjacent_find(columns, std::greater_equal{}) != columns.end() ||
        (count > 0 && (columns.front() < 0 || columns.back() >= width_)))
      fail_at(indices_, first,
              fmt::format("expected columns that ascend from 0 to {} at most, found others in row "
                          "{}",
                          width_ - 1, v));
    const auto values = values_ ? values_->elements<float>(first, count) : std::span<const float>();
    std::fill_n(row, cols, 0.0F);
    for (std::size_t e = 0; e < columns.size(); ++e) {
      const float x = values.empty() ? 1.0F : values[e];
      if (!std::isfinite(x))
        fail_at(*values_, first + static_cast<std::int64_t>(e),
                fmt::format("expected a finite number, found {} in row {}, column {}", x, v,
                            columns[e]));
      if (columns[e] >= col0 && columns[e] < col0 + cols) row[columns[e] - col0] = x;
    }
  }

  mutable std::mutex turn_;
  mutable NpyWindow indptr_, indices_;
  mutable std::optional<NpyWindow> values_;  ///< none: every value is 1
  std::int64_t width_;
  bool binary_ = true, made_up_;
};

}  // namespace

std::shared_ptr<const Features> windowed_features(const fs::path& values, std::int64_t rows,
                                                  std::int64_t width, std::optional<bool> binary,
                                                  bool made_up) {
  if (read_npy_header(values).dtype == npy_dtype<Half>())
    return std::make_shared<WindowedDense<Half>>(values, rows, width, binary, made_up);
  return std::make_shared<WindowedDense<float>>(values, rows, width, binary, made_up);
}

std::shared_ptr<const Features> windowed_sparse_features(const fs::path& indptr,
                                                         const fs::path& indices,
                                                         const std::optional<fs::path>& values,
                                                         std::int64_t rows, std::int64_t width,
                                                         bool made_up) {
  return std::make_shared<WindowedSparse>(indptr, indices, values, rows, width, made_up);
}

}  // namespace orrery
