#include "core/graph/read/features_mapped.hpp"

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <type_traits>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/graph/files/npy_half.hpp"
#include "core/graph/read/scan.hpp"

namespace orrery {
namespace {

constexpr std::int64_t kRowsPerBlock = 256;
/// A longer run of consecutive rows is read once, as a whole: its pages need not stay.
constexpr std::int64_t kRun = 8192;

/// Takes the whole pages among mapped bytes out of this process; the system may keep them.
void release_pages(const void* data, std::size_t bytes) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = (reinterpret_cast<std::uintptr_t>(data) + page - 1) / page * page,
             end = (reinterpret_cast<std::uintptr_t>(data) + bytes) / page * page;
  if (end > first) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

/// Whether these are n, n + 1, n + 2, ...
bool are_a_run(std::span<const Vertex> vertices) {
  return std::ssize(vertices) > kRun &&
         std::adjacent_find(vertices.begin(), vertices.end(),
                            [](Vertex a, Vertex b) { return b != a + 1; }) == vertices.end();
}

std::string file_name(const NpyArray& array) {
  return std::filesystem::path(array.path()).filename().string();
}

[[noreturn]] void fail_at(const NpyArray& array, std::int64_t element, const std::string& problem) {
  throw DataError(array.path(), place_of(array.shape(), element), problem);
}

/// The first index in [0, n) that `bad` rejects, or n. Parallel.
template <class Bad>
std::int64_t first_bad(std::int64_t n, const Bad& bad) {
  std::atomic<std::int64_t> first{n};
  parallel_for(n, kScanBlock, [&](std::int64_t begin, std::int64_t end) {
    if (begin >= first.load(std::memory_order_relaxed)) return;
    for (std::int64_t i = begin; i < end; ++i) {
      if (!bad(i)) continue;
      std::int64_t known = first.load();
      while (i < known && !first.compare_exchange_weak(known, i)) {
      }
      return;
    }
  });
  return first;
}

/// Value is float or Half.
template <class Value>
class MappedDense final : public Features {
 public:
  MappedDense(const NpyArray& array, std::int64_t rows, std::int64_t width,
              std::optional<bool> binary, bool made_up)
      : array_(array), values_(array.values<Value>({rows, width})), made_up_(made_up) {
    const auto n = static_cast<std::int64_t>(values_.size());
    binary_ = binary ? *binary : first_bad(n, [&](std::int64_t i) {
                                   const float x = as_float(values_[at(i)]);
                                   return x != 0 && x != 1;
                                 }) == n;
  }
  std::int64_t rows() const override { return array_.shape()[0]; }
  std::int64_t width() const override { return array_.shape()[1]; }
  bool binary() const override { return binary_; }
  bool made_up() const override { return made_up_; }
  std::string provenance() const override {
    return fmt::format("{}mapped file {}", made_up_ ? "generated, " : "", file_name(array_));
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
    const bool run = are_a_run(vertices);
    const std::int64_t block = run ? kRun : kRowsPerBlock;
    parallel_for(std::ssize(vertices), block, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t first = vertices[at(i)] * width() + col0;
        const Value* from = values_.data() + first;
        std::transform(from, from + cols, out + i * ld, convert);
        const Value* bad =
            std::find_if(from, from + cols, [](Value x) { return !std::isfinite(as_float(x)); });
        if (bad != from + cols)
          fail_at(array_, first + (bad - from),
                  fmt::format("expected a finite number, found {}", as_float(*bad)));
      }
      if (run)
        release_pages(values_.data() + vertices[at(begin)] * width(),
                      at((end - begin) * width()) * sizeof(Value));
    });
  }

  NpyArray array_;
  std::span<const Value> values_;
  bool binary_ = false, made_up_;
};

class MappedSparse final : public Features {
 public:
  MappedSparse(const NpyArray& indptr, const NpyArray& indices,
               const std::optional<NpyArray>& values, std::int64_t rows, std::int64_t width,
               bool made_up)
      : indptr_file_(indptr),
        indices_file_(indices),
        values_file_(values),
        indptr_(indptr.values<std::int64_t>({rows + 1})),
        indices_(indices.values<std::int32_t>({-1})),
        width_(width),
        made_up_(made_up) {
    if (values) values_ = values->values<float>({std::ssize(indices_)});
    check_rows();
    check_entries();
  }
  std::int64_t rows() const override { return std::ssize(indptr_) - 1; }
  std::int64_t width() const override { return width_; }
  bool binary() const override { return binary_; }
  bool made_up() const override { return made_up_; }
  std::string provenance() const override {
    return fmt::format("{}mapped sparse file {} ({} entries)", made_up_ ? "generated, " : "",
                       file_name(indices_file_), indices_.size());
  }

  void read(std::span<const Vertex> vertices, std::int64_t col0, std::int64_t cols, float* out,
            std::int64_t ld) const override {
    parallel_for(std::ssize(vertices), kRowsPerBlock, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        float* row = out + i * ld;
        std::fill_n(row, cols, 0.0F);
        const Vertex v = vertices[at(i)];
        const auto last = indices_.begin() + indptr_[at(v) + 1];
        auto entry = std::lower_bound(indices_.begin() + indptr_[at(v)], last, col0);
        for (; entry != last && *entry < col0 + cols; ++entry)
          row[*entry - col0] = values_.empty() ? 1.0F : values_[at(entry - indices_.begin())];
      }
    });
  }

 private:
  void check_rows() const {
    const std::int64_t entries = std::ssize(indices_);
    if (indptr_[0] != 0) fail_at(indptr_file_, 0, fmt::format("expected 0, found {}", indptr_[0]));
    const std::int64_t bad = first_bad(rows(), [&](std::int64_t r) {
      return indptr_[at(r) + 1] < indptr_[at(r)] || indptr_[at(r) + 1] > entries;
    });
    if (bad != rows())
      fail_at(indptr_file_, bad + 1,
              fmt::format("expected a number from {} to {} (ascending, at most the number of "
                          "entries), found {}",
                          indptr_[at(bad)], entries, indptr_[at(bad) + 1]));
    if (indptr_.back() != entries)
      fail_at(indptr_file_, rows(),
              fmt::format("expected {}, the number of entries, found {}", entries, indptr_.back()));
  }

  void check_entries() {
    const std::int64_t entries = std::ssize(indices_);
    const std::int64_t outside = first_bad(
        entries, [&](std::int64_t i) { return indices_[at(i)] < 0 || indices_[at(i)] >= width_; });
    if (outside != entries)
      fail_at(indices_file_, outside,
              fmt::format("expected a column from 0 to {}, found {}", width_ - 1,
                          indices_[at(outside)]));
    const std::int64_t unsorted = first_bad(rows(), [&](std::int64_t r) {
      const auto row =
          indices_.subspan(at(indptr_[at(r)]), at(indptr_[at(r) + 1] - indptr_[at(r)]));
      return std::ranges::adjacent_find(row, std::greater_equal{}) != row.end();
    });
    if (unsorted != rows())
      fail_at(
          indices_file_, indptr_[at(unsorted)],
          fmt::format("expected columns that ascend, found them out of order in row {}", unsorted));
    const std::int64_t not_finite = first_bad(
        std::ssize(values_), [&](std::int64_t i) { return !std::isfinite(values_[at(i)]); });
    if (not_finite != std::ssize(values_))
      fail_at(*values_file_, not_finite,
              fmt::format("expected a finite number, found {} in row {}, column {}",
                          values_[at(not_finite)],
                          std::ranges::upper_bound(indptr_, not_finite) - indptr_.begin() - 1,
                          indices_[at(not_finite)]));
    binary_ = first_bad(std::ssize(values_), [&](std::int64_t i) {
                return values_[at(i)] != 0 && values_[at(i)] != 1;
              }) == std::ssize(values_);
  }

  NpyArray indptr_file_, indices_file_;
  std::optional<NpyArray> values_file_;
  std::span<const std::int64_t> indptr_;
  std::span<const std::int32_t> indices_;
  std::span<const float> values_;  ///< empty: every value is 1
  std::int64_t width_;
  bool binary_ = false, made_up_;
};

}  // namespace

std::shared_ptr<const Features> mapped_features(const NpyArray& values, std::int64_t rows,
                                                std::int64_t width, std::optional<bool> binary,
                                                bool made_up) {
  if (values.dtype() == npy_dtype<Half>())
    return std::make_shared<MappedDense<Half>>(values, rows, width, binary, made_up);
  return std::make_shared<MappedDense<float>>(values, rows, width, binary, made_up);
}

std::shared_ptr<const Features> mapped_sparse_features(const NpyArray& indptr,
                                                       const NpyArray& indices,
                                                       const std::optional<NpyArray>& values,
                                                       std::int64_t rows, std::int64_t width,
                                                       bool made_up) {
  return std::make_shared<MappedSparse>(indptr, indices, values, rows, width, made_up);
}

}  // namespace orrery
