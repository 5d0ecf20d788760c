// The vector kernels of one instruction set: each works on a range of rows, on the calling thread.
//
// Files in isa/ implement them and are compiled once per instruction set. The files beside this one
// cut the work into ranges and are compiled once. isa/ includes only this header and plain C
// headers: otherwise the linker could keep, for all callers, a copy of an inline function of the
// standard library that was compiled for AVX-512.
#pragma once

#include <cstdint>

namespace orrery::cpu {

/// A row-major window: row i begins at first + i·ld.
template <class T>
struct Rows {
  T* first = nullptr;
  std::int64_t ld = 0;
  [[gnu::always_inline]] T* row(std::int64_t i) const { return first + i * ld; }
};

/// y ← a·x + beta·y. Head k weighs columns [k·width / heads, (k + 1)·width / heads).
struct SpmmArgs {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const float* values;  // [nnz, heads]; null: all ones
  std::int64_t heads;
  Rows<const float> x;
  Rows<float> y;
  std::int64_t width;
  float beta;
  std::int64_t last_edge;  // largest index into columns: prefetching stops there
  bool stream;             // write y past the caches; rows of y are aligned to vectors
};

/// dots[e, k] ← Σ x[row(e), c]·z[col(e), c] over columns [k·width / heads, (k + 1)·width / heads).
struct SddmmArgs {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  std::int64_t heads;
  Rows<const float> x, z;
  std::int64_t width;
  float* dots;             // [nnz, heads]
  std::int64_t last_edge;  // largest index into columns: prefetching stops there
};

/// weights ← softmax over the entries of each row of scale·weights, or of leaky(left + right + own).
struct EdgeSoftmaxArgs {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  std::int64_t heads;
  float* weights;                 // [nnz, heads]
  Rows<const float> left, right;  // first null: none
  const float* own;               // [nnz, heads]; null: none
  float slope, scale;
  std::int64_t last_edge;
};

/// For the adjoint: gradient at the weights, then at the scores, and its sums over rows.
struct EdgeGradientArgs {
  float* gradient;    // [nnz, heads]
  Rows<float> dleft;  // first null: none
};

/// y[i] ← x[index[i]], and y[index[i]] += x[i].
struct IndexedArgs {
  Rows<const float> x;
  const std::int32_t* index;
  std::int64_t indices;
  Rows<float> y;
  std::int64_t width;
};

/// y[i] ← x[index[i]], of halves.
struct HalfRowsArgs {
  Rows<const std::uint16_t> x;  // their bits
  const std::int32_t* index;
  std::int64_t indices;
  Rows<float> y;
  std::int64_t width;
};

/// The same choices as Activation in core/ops/ops.hpp.
enum class Curve : std::uint8_t { none, relu, elu };

/// y ← curve(x + bias).
struct ActivateArgs {
  Rows<const float> x;
  const float* bias;  // null: none
  Rows<float> y;
  std::int64_t width;
  Curve curve;
};

/// The rule at `struct Dropout`, with seed and counters as separate words.
struct DropoutArgs {
  std::uint32_t key_low, key_high;
  std::uint32_t draw;       // epoch·4096 + layer
  std::uint32_t purpose;    // last word of the counter
  std::uint32_t threshold;  // draws of 16 bits below this are dropped
  float scale;
  const std::int32_t* row_ids;
  std::uint32_t first_block;  // global column of the first column / 8
};

/// dx ← scale·dy where y > 0, else 0.
struct ReluBackwardArgs {
  Rows<const float> dy, y;
  Rows<float> dx;
  std::int64_t width;
  float scale;
};

/// dx ← dy·(1 + kept·y) if y < 0, else dy: without dropout's mask and scale; `kept` is the inverse
/// of the scale. dx may be dy or y.
struct EluBackwardArgs {
  Rows<const float> dy, y;
  Rows<float> dx;
  std::int64_t width;
  float kept;
};

struct LayerNormArgs {
  Rows<const float> x;
  const float *gain, *shift;
  Rows<float> normalised, rstd, y;
  std::int64_t width;
};

struct LayerNormBackwardArgs {
  Rows<const float> dy, normalised, rstd;
  const float* gain;
  Rows<float> dx;
  std::int64_t width;
};

/// normalised ← (x − mean)·rstd, y ← normalised ∘ gain + shift, each [width] but the rows.
struct NormaliseColumnsArgs {
  Rows<const float> x;
  const float *mean, *rstd, *gain, *shift;
  Rows<float> normalised;  // first null: not written
  Rows<float> y;
  std::int64_t width;
};

/// dx ← scale ∘ dy − offset − slope ∘ normalised, the vectors [width].
struct BatchNormBackwardArgs {
  Rows<const float> dy, normalised;
  const float *scale, *offset, *slope;
  Rows<float> dx;
  std::int64_t width;
};

struct AdamArgs {
  float rate, decay, beta1, beta2, epsilon;
  float correction1, correction2;  // 1 / (1 − β^step)
};

struct RangeKernels {
  void (*spmm)(const SpmmArgs&, std::int64_t begin, std::int64_t end);
  void (*sddmm)(const SddmmArgs&, std::int64_t begin, std::int64_t end);
  void (*edge_softmax)(const EdgeSoftmaxArgs&, std::int64_t begin, std::int64_t end);
  void (*edge_softmax_backward)(const EdgeSoftmaxArgs&, const EdgeGradientArgs&, std::int64_t begin,
                                std::int64_t end);
  void (*gather)(const IndexedArgs&, std::int64_t begin, std::int64_t end);
  void (*gather_halves)(const HalfRowsArgs&, std::int64_t begin, std::int64_t end);
  /// Adds the rows whose index is in [begin, end), in order.
  void (*scatter_add)(const IndexedArgs&, std::int64_t begin, std::int64_t end);
  void (*activate)(const ActivateArgs&, std::int64_t begin, std::int64_t end);
  void (*activate_dropout)(const ActivateArgs&, const DropoutArgs&, std::int64_t begin,
                           std::int64_t end);
  void (*relu_backward)(const ReluBackwardArgs&, std::int64_t begin, std::int64_t end);
  void (*elu_backward)(const EluBackwardArgs&, std::int64_t begin, std::int64_t end);
  /// sums[c] += Σ x[i][c] over the rows of the range.
  void (*column_sum)(Rows<const float> x, std::int64_t width, std::int64_t begin, std::int64_t end,
                     double* sums);
  void (*layer_norm)(const LayerNormArgs&, std::int64_t begin, std::int64_t end);
  /// gain_sums and shift_sums [width] += the range's part of dgain and dshift.
  void (*layer_norm_backward)(const LayerNormBackwardArgs&, std::int64_t begin, std::int64_t end,
                              double* gain_sums, double* shift_sums);
  /// sums[c] += Σ x[i][c] and products[c] += Σ x[i][c]·z[i][c] over the rows of the range.
  void (*column_moments)(Rows<const float> x, Rows<const float> z, std::int64_t width,
                         std::int64_t begin, std::int64_t end, double* sums, double* products);
  void (*normalise_columns)(const NormaliseColumnsArgs&, std::int64_t begin, std::int64_t end);
  void (*batch_norm_backward)(const BatchNormBackwardArgs&, std::int64_t begin, std::int64_t end);
  /// Loss of one row before scaling; writes scale·gradient to grad (which may be logits).
  double (*softmax_loss)(const float* logits, std::int64_t classes, std::int32_t label, float scale,
                         float* grad);
  double (*sigmoid_loss)(const float* logits, const std::int32_t* labels, std::int64_t classes,
                         float scale, float* grad);
  void (*sgd)(float* w, const float* g, std::int64_t count, float rate, float decay);
  void (*adam)(float* w, const float* g, float* m, float* v, std::int64_t count, const AdamArgs&);
};

namespace baseline {
extern const RangeKernels kernels;
}
namespace avx2 {
extern const RangeKernels kernels;
}
namespace avx512 {
extern const RangeKernels kernels;
}

}  // namespace orrery::cpu
