#include "core/model/network/tape.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/model/layer_type.hpp"

namespace orrery {
namespace {

constexpr std::int64_t kFloat = sizeof(float);

/// Sizes of one convolution.
struct Sizes {
  std::int64_t in, out;          ///< rows
  std::int64_t halo, sent;       ///< rows
  std::int64_t width, to_width;  ///< columns on this rank

  std::int64_t held() const { return in + halo; }
};

class TapeCounter {
 public:
  TapeCounter(const ModelConfig& model, const Products& products, std::int64_t features,
              std::int64_t classes)
      : model_(model), products_(products), features_(features), classes_(classes) {}

  std::vector<TapeLayer> count() const {
    std::vector<TapeLayer> tape;
    std::int64_t largest = 0;
    for (int l = 1; l <= model_.layers; ++l) {
      const Sizes s = sizes(l);
      const bool kept = model_.recompute == 0 || l <= model_.recompute;
      const std::int64_t saved = !kept ? 0 : deep() ? saved_by_block(s) : saved_by_layer(s, l);
      tape.push_back({l, saved, kFloat * (s.halo + s.sent) * s.width});
      largest = std::max(largest, kFloat * s.held() * std::max(s.width, s.to_width));
    }
    for (int l = model_.layers + 1; l <= layers(); ++l) {
      tape.push_back({l, saved_by_dense_layer(l), 0});
      largest = std::max(largest, kFloat * rows() * std::max(width(l - 1), width(l)));
    }
    tape.push_back({layers() + 1, after_layers() + 2 * largest, 0});
    return tape;
  }

 private:
  int layers() const { return model_.layers + model_.dense_layers; }
  /// For the last level.
  std::int64_t rows() const { return products_.rows(model_.layers); }
  bool deep() const { return model_.type == ModelType::resgcn; }
  bool drops() const { return model_.dropout > 0; }
  std::int64_t columns(std::int64_t width) const { return products_.columns(width).count; }
  std::int64_t width(int level) const {
    if (deep()) return columns(model_.hidden);
    if (level == 0) return columns(input_width(model_, features_));
    return columns(level == layers() ? classes_ : model_.hidden);
  }
  Sizes sizes(int layer) const {
    const auto [received, sent] = products_.halo(layer);
    return {products_.inputs(layer), products_.rows(layer), received, sent,
            width(layer - 1),        width(layer)};
  }
  /// Bytes that dropout leaves for this many elements: its result, of which `ours` is already held,
  /// and one byte of its mask for each.
  std::int64_t dropped(std::int64_t elements, std::int64_t ours) const {
    return drops() ? kFloat * (elements - ours) + elements : 0;
  }

  std::int64_t saved_by_layer(const Sizes& s, int layer) const {
    std::int64_t floats = s.halo > 0 ? s.held() * s.width : 0;
    const bool w_first = transforms_first(model_.order, s.width, s.to_width, products_.in_blocks());
    if (layer_of(model_).tape_keeps_aggregated && w_first) floats += s.out * s.width;
    if (model_.layer_norm && layer < layers()) floats += s.out;
    return kFloat * floats + dropped(s.held() * s.width, layer == 1 ? s.in * s.width : 0);
  }

  std::int64_t saved_by_dense_layer(int layer) const {
    const bool normed = model_.layer_norm && layer < layers();
    return dropped(rows() * width(layer - 1), 0) + (normed ? kFloat * rows() : 0);
  }

  std::int64_t saved_by_block(const Sizes& s) const {
    const std::int64_t norm = s.halo * s.width + 2 * s.held() - s.in;
    // One of the results of ReLU and dropout is our "activated".
    const std::int64_t relu = s.held() * s.width - (drops() ? 0 : s.in * s.width);
    return kFloat * (norm + relu + s.out * s.width) + dropped(s.held() * s.width, s.in * s.width);
  }

  std::int64_t after_layers() const {
    const std::int64_t logits = rows() * columns(classes_);
    const std::int64_t head = rows() * columns(model_.hidden);
    return kFloat * logits + (deep() ? kFloat * rows() + (drops() ? kFloat * head + head : 0) : 0);
  }

  const ModelConfig& model_;
  const Products& products_;
  std::int64_t features_, classes_;
};

}  // namespace

std::vector<TapeLayer> tape_of(const ModelConfig& model, const Products& products,
                               std::int64_t features, std::int64_t classes) {
  return TapeCounter(model, products, features, classes).count();
}

std::vector<Buffer> hold_tape(Runtime& rt, const std::vector<TapeLayer>& tape) {
  std::vector<Buffer> buffers;
  const auto hold = [&](std::int64_t bytes, const std::string& name) {
    if (bytes > 0)
      buffers.emplace_back(rt, Shape{1, (bytes + kFloat - 1) / kFloat}, DType::f32, name);
  };
  for (const TapeLayer& entry : tape) {
    hold(entry.saved, fmt::format("tape/saved by layer {}", entry.layer));
    hold(entry.received, fmt::format("tape halo/received by layer {}", entry.layer));
  }
  return buffers;
}

}  // namespace orrery
