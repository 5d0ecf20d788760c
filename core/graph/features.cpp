#include "core/graph/features.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <type_traits>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/base/rng.hpp"

namespace orrery {
namespace {

constexpr std::int64_t kRowsPerBlock = 256;

/// Calls f(i) for every i below n, in parallel.
template <class F>
void for_each_row(std::int64_t n, const F& f) {
  parallel_for(n, kRowsPerBlock, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) f(i);
  });
}

/// Rows in memory, of float or of Half.
template <class Value>
class Dense final : public Features {
 public:
  Dense(std::int64_t rows, std::int64_t width, std::vector<Value> values, std::string provenance,
        bool made_up, bool binary)
      : rows_(rows),
        width_(width),
        values_(std::move(values)),
        provenance_(std::move(provenance)),
        made_up_(made_up),
        binary_(binary) {
    ORRERY_ASSERT(std::ssize(values_) == rows * width);
  }
  std::int64_t rows() const override { return rows_; }
  std::int64_t width() const override { return width_; }
  std::string provenance() const override { return provenance_; }
  bool binary() const override { return binary_; }
  bool made_up() const override { return made_up_; }
  bool half() const override { return std::is_same_v<Value, Half>; }
  void read(std::span<const Vertex> vertices, std::int64_t col0, std::int64_t cols, float* out,
            std::int64_t ld) const override {
    for_each_row(std::ssize(vertices), [&](std::int64_t i) {
      const Value* row = values_.data() + vertices[at(i)] * width_ + col0;
      if constexpr (std::is_same_v<Value, Half>)
        std::transform(row, row + cols, out + i * ld, to_float);
      else
        std::copy_n(row, cols, out + i * ld);
    });
  }
  void read_half(std::span<const Vertex> vertices, std::int64_t col0, std::int64_t cols, Half* out,
                 std::int64_t ld) const override {
    if constexpr (std::is_same_v<Value, Half>)
      for_each_row(std::ssize(vertices), [&](std::int64_t i) {
        std::copy_n(values_.data() + vertices[at(i)] * width_ + col0, cols, out + i * ld);
      });
    else
      Features::read_half(vertices, col0, cols, out, ld);
  }
  std::span<const Value> values() const { return values_; }

 private:
  std::int64_t rows_, width_;
  std::vector<Value> values_;
  std::string provenance_;
  bool made_up_, binary_;
};

/// Entry (v, c) of a table of standard normal draws.
float normal_entry(std::uint64_t seed, Vertex v, std::int64_t c) {
  const auto bits = random_bits(seed, Purpose::features, static_cast<std::uint32_t>(v),
                                static_cast<std::uint32_t>(c / 2));
  return c % 2 == 0 ? normal_float(bits[0], bits[1]) : normal_float(bits[2], bits[3]);
}

/// Rows that are drawn. Those that are asked for a second time are kept in memory, with the others of
/// their block: a strategy that loads its parts again and again loads them as it would load data.
class Drawn : public Features {
 public:
  Drawn(std::int64_t rows, std::int64_t width)
      : rows_(rows), width_(width), blocks_(at((rows + kRows - 1) / kRows)) {}
  std::int64_t rows() const override { return rows_; }
  std::int64_t width() const override { return width_; }
  bool made_up() const override { return true; }
  void read(std::span<const Vertex> vertices, std::int64_t col0, std::int64_t cols, float* out,
            std::int64_t ld) const override {
    for_each_row(std::ssize(vertices), [&](std::int64_t i) {
      const Vertex v = vertices[at(i)];
      Block& block = blocks_[at(v / kRows)];
      const std::uint64_t this_row = std::uint64_t{1} << (v % kRows);
      if ((block.asked.fetch_or(this_row) & this_row) == 0)
        draw(v, col0, cols, out + i * ld);
      else
        std::copy_n(kept(block, v - v % kRows).data() + (v % kRows) * width_ + col0, cols,
                    out + i * ld);
    });
  }

 private:
  static constexpr std::int64_t kRows = 64;
  struct Block {
    std::atomic<std::uint64_t> asked = 0;  ///< a bit for each row
    std::once_flag drawn;
    std::vector<float> rows;
  };

  /// Columns [col0, col0 + cols) of a row.
  virtual void draw(Vertex v, std::int64_t col0, std::int64_t cols, float* out) const = 0;
  const std::vector<float>& kept(Block& block, std::int64_t first) const {
    std::call_once(block.drawn, [&] {
      const std::int64_t rows = std::min(kRows, rows_ - first);
      block.rows.resize(at(rows * width_));
      for (std::int64_t r = 0; r < rows; ++r)
        draw(static_cast<Vertex>(first + r), 0, width_, block.rows.data() + r * width_);
    });
    return block.rows;
  }

  std::int64_t rows_, width_;
  mutable std::vector<Block> blocks_;
};

class Random final : public Drawn {
 public:
  Random(std::int64_t rows, std::int64_t width, std::uint64_t seed)
      : Drawn(rows, width), seed_(seed) {}
  std::string provenance() const override {
    return fmt::format("generated (random, {} columns)", width());
  }

 private:
  void draw(Vertex v, std::int64_t col0, std::int64_t cols, float* out) const override {
    for (std::int64_t c = 0; c < cols; ++c) out[c] = normal_entry(seed_, v, col0 + c);
  }

  std::uint64_t seed_;
};

/// Random directions, scaled so that two of them are `distance` apart on average.
std::vector<float> class_centres(std::int64_t classes, std::int64_t width, double distance,
                                 std::uint64_t seed) {
  std::vector<float> centres(at(classes * width));
  for (std::int64_t k = 0; k < classes; ++k) {
    float* centre = centres.data() + k * width;
    for (std::int64_t c = 0; c < width; ++c) {
      const auto bits = random_bits(seed, Purpose::labels, static_cast<std::uint32_t>(k),
                                    static_cast<std::uint32_t>(c));
      centre[c] = normal_float(bits[0], bits[1]);
    }
    const double norm = std::sqrt(std::inner_product(centre, centre + width, centre, 0.0));
    const auto scale = static_cast<float>(distance / std::sqrt(2.0) / norm);
    std::for_each_n(centre, width, [&](float& x) { x *= scale; });
  }
  return centres;
}

class ClassCentred final : public Drawn {
 public:
  ClassCentred(std::vector<std::int32_t> labels, std::int64_t classes, std::int64_t width,
               double distance, std::uint64_t seed)
      : Drawn(std::ssize(labels), width),
        labels_(std::move(labels)),
        centres_(class_centres(classes, width, distance, seed)),
        distance_(distance),
        seed_(seed) {}
  std::string provenance() const override {
    return fmt::format("generated (class centres {} apart plus unit noise, {} columns)", distance_,
                       width());
  }

 private:
  void draw(Vertex v, std::int64_t col0, std::int64_t cols, float* out) const override {
    const std::int32_t label = labels_[at(v)];
    for (std::int64_t c = 0; c < cols; ++c) {
      out[c] = normal_entry(seed_, v, col0 + c);
      if (label >= 0) out[c] += centres_[at(label * width() + col0 + c)];
    }
  }

  std::vector<std::int32_t> labels_;
  std::vector<float> centres_;
  double distance_;
  std::uint64_t seed_;
};

class RowNormalised final : public Features {
 public:
  explicit RowNormalised(std::shared_ptr<const Features> inner)
      : inner_(std::move(inner)), scale_(at(inner_->rows())) {
    parallel_for(rows(), kRowsPerBlock, [&](std::int64_t begin, std::int64_t end) {
      std::vector<Vertex> block(at(end - begin));
      std::iota(block.begin(), block.end(), static_cast<Vertex>(begin));
      std::vector<float> values(at((end - begin) * width()));
      inner_->read(block, 0, width(), values.data(), width());
      for (std::int64_t i = 0; i < end - begin; ++i) {
        const float* row = values.data() + i * width();
        const double sum = std::accumulate(row, row + width(), 0.0);
        scale_[at(begin + i)] = sum == 0 ? 0.0F : static_cast<float>(1 / sum);
      }
    });
  }
  std::int64_t rows() const override { return inner_->rows(); }
  std::int64_t width() const override { return inner_->width(); }
  bool made_up() const override { return inner_->made_up(); }
  std::string provenance() const override {
    return inner_->provenance() + ", rows divided by their sums";
  }
  void read(std::span<const Vertex> vertices, std::int64_t col0, std::int64_t cols, float* out,
            std::int64_t ld) const override {
    inner_->read(vertices, col0, cols, out, ld);
    for_each_row(std::ssize(vertices), [&](std::int64_t i) {
      const float scale = scale_[at(vertices[at(i)])];
      std::for_each_n(out + i * ld, cols, [&](float& x) { x *= scale; });
    });
  }

 private:
  std::shared_ptr<const Features> inner_;
  std::vector<float> scale_;
};

class Halves final : public Features {
 public:
  explicit Halves(std::shared_ptr<const Features> inner) : inner_(std::move(inner)) {
    std::atomic<std::int64_t> too_large = rows();  // the first row that is
    parallel_for(rows(), kRowsPerBlock, [&](std::int64_t begin, std::int64_t end) {
      std::vector<Vertex> block(at(end - begin));
      std::iota(block.begin(), block.end(), static_cast<Vertex>(begin));
      std::vector<float> values(at((end - begin) * width()));
      inner_->read(block, 0, width(), values.data(), width());
      for (std::size_t i = 0; i < values.size(); ++i)
        if (std::abs(values[i]) > kLargestHalf && std::isfinite(values[i])) {
          const std::int64_t row = begin + static_cast<std::int64_t>(i) / width();
          std::int64_t first = too_large;
          while (row < first && !too_large.compare_exchange_weak(first, row)) {
          }
          break;
        }
    });
    if (too_large < rows())
      throw ConfigError("dataset.features_type",
                        fmt::format("the features of vertex {} go beyond ±{}, the limit of "
                                    "float16: use float32, or set dataset.row_normalise",
                                    too_large.load(), kLargestHalf));
  }
  std::int64_t rows() const override { return inner_->rows(); }
  std::int64_t width() const override { return inner_->width(); }
  std::string provenance() const override { return inner_->provenance() + ", rounded to 16 bits"; }
  bool binary() const override { return inner_->binary(); }
  bool made_up() const override { return inner_->made_up(); }
  bool half() const override { return true; }
  void read(std::span<const Vertex> vertices, std::int64_t col0, std::int64_t cols, float* out,
            std::int64_t ld) const override {
    inner_->read(vertices, col0, cols, out, ld);
    for_each_row(std::ssize(vertices), [&](std::int64_t i) {
      std::for_each_n(out + i * ld, cols, [](float& x) { x = to_float(to_half(x)); });
    });
  }
  void read_half(std::span<const Vertex> vertices, std::int64_t col0, std::int64_t cols, Half* out,
                 std::int64_t ld) const override {
    const std::int64_t count = std::ssize(vertices);
    parallel_for(count, kRowsPerBlock, [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> values(at((end - begin) * cols));
      inner_->read(vertices.subspan(at(begin), at(end - begin)), col0, cols, values.data(), cols);
      for (std::int64_t i = begin; i < end; ++i)
        std::transform(values.data() + (i - begin) * cols, values.data() + (i - begin + 1) * cols,
                       out + i * ld, to_half);
    });
  }

 private:
  std::shared_ptr<const Features> inner_;
};

class RowsOf final : public Features {
 public:
  /// `words`: name of the rows.
  RowsOf(std::shared_ptr<const Features> inner, std::vector<Vertex> old_id, std::string words)
      : inner_(std::move(inner)), old_id_(std::move(old_id)), words_(std::move(words)) {}
  std::int64_t rows() const override { return std::ssize(old_id_); }
  std::int64_t width() const override { return inner_->width(); }
  bool made_up() const override { return inner_->made_up(); }
  bool binary() const override { return inner_->binary(); }
  std::string provenance() const override {
    return fmt::format("{}, {}", inner_->provenance(), words_);
  }
  void read(std::span<const Vertex> vertices, std::int64_t col0, std::int64_t cols, float* out,
            std::int64_t ld) const override {
    std::vector<Vertex> old(vertices.size());
    std::ranges::transform(vertices, old.begin(), [&](Vertex v) { return old_id_[at(v)]; });
    inner_->read(old, col0, cols, out, ld);
  }
  bool half() const override { return inner_->half(); }
  void read_half(std::span<const Vertex> vertices, std::int64_t col0, std::int64_t cols, Half* out,
                 std::int64_t ld) const override {
    std::vector<Vertex> old(vertices.size());
    std::ranges::transform(vertices, old.begin(), [&](Vertex v) { return old_id_[at(v)]; });
    inner_->read_half(old, col0, cols, out, ld);
  }

 private:
  std::shared_ptr<const Features> inner_;
  std::vector<Vertex> old_id_;
  std::string words_;
};

}  // namespace

void Features::read_half(std::span<const Vertex>, std::int64_t, std::int64_t, Half*,
                         std::int64_t) const {
  ORRERY_ASSERT(half() && "these features have 32 bits");
}

std::shared_ptr<const Features> half_features(std::shared_ptr<const Features> features) {
  if (features->half()) return features;
  auto rounded = std::make_shared<Halves>(features);
  const auto* held = dynamic_cast<const Dense<float>*>(features.get());
  if (held == nullptr) return rounded;
  std::vector<Half> values(held->values().size());
  parallel_for(std::ssize(values), kRowsPerBlock * kRowsPerBlock,
               [&](std::int64_t begin, std::int64_t end) {
                 std::transform(held->values().begin() + begin, held->values().begin() + end,
                                values.begin() + begin, to_half);
               });
  return std::make_shared<Dense<Half>>(held->rows(), held->width(), std::move(values),
                                       rounded->provenance(), held->made_up(), held->binary());
}

std::shared_ptr<const Features> dense_features(std::int64_t rows, std::int64_t width,
                                               std::vector<float> values, std::string provenance,
                                               bool made_up) {
  const bool binary = std::ranges::all_of(values, [](float x) { return x == 0 || x == 1; });
  return std::make_shared<Dense<float>>(rows, width, std::move(values), std::move(provenance),
                                        made_up, binary);
}

std::shared_ptr<const Features> random_features(std::int64_t rows, std::int64_t width,
                                                std::uint64_t seed) {
  return std::make_shared<Random>(rows, width, seed);
}

std::shared_ptr<const Features> class_features(std::vector<std::int32_t> labels,
                                               std::int64_t classes, std::int64_t width,
                                               double distance, std::uint64_t seed) {
  return std::make_shared<ClassCentred>(std::move(labels), classes, width, distance, seed);
}

std::shared_ptr<const Features> row_normalised(std::shared_ptr<const Features> features) {
  return std::make_shared<RowNormalised>(std::move(features));
}

std::shared_ptr<const Features> permuted(std::shared_ptr<const Features> features,
                                         std::vector<Vertex> old_id) {
  ORRERY_ASSERT(std::ssize(old_id) == features->rows());
  return std::make_shared<RowsOf>(std::move(features), std::move(old_id), "rows renumbered");
}

std::shared_ptr<const Features> selected(std::shared_ptr<const Features> features,
                                         std::vector<Vertex> rows) {
  return std::make_shared<RowsOf>(std::move(features), std::move(rows), "some rows");
}

}  // namespace orrery
