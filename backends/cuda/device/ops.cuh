// The local operations on a device, one function each: core/ops/ops.hpp defines them, and what
// their operands may alias. Arguments are those of backends/cuda/interface.h. Nothing waits.
//
// Errors    Failure: an element type that the operation does not have, unequal shapes, a launch
//           that failed
#pragma once

#include "backends/cuda/device/device.cuh"

namespace orrery::cuda {

void fill(OrreryStream& s, OrreryMatrix y, double value);
void copy(OrreryStream& s, OrreryMatrix x, OrreryMatrix y, float scale, std::int32_t accumulate);
void gemm(OrreryStream& s, OrreryMatrix a, OrreryMatrix b, OrreryMatrix c, std::int32_t transpose_a,
          std::int32_t transpose_b, float beta, std::int32_t tf32);
void spmm(OrreryStream& s, const OrreryPattern* a, const float* values, std::int64_t heads,
          OrreryMatrix x, OrreryMatrix y, float beta, OrrerySpmmBy by);
void sddmm(OrreryStream& s, const OrreryPattern* a, OrreryMatrix x, OrreryMatrix z, float* dots,
           std::int64_t heads);
void edge_softmax(OrreryStream& s, const OrreryPattern* a, float* weights, std::int64_t heads,
                  OrreryMatrix left, OrreryMatrix right, const float* own, float slope,
                  float scale);
void edge_softmax_backward(OrreryStream& s, const OrreryPattern* a, const float* weights,
                           float* gradient, std::int64_t heads, OrreryMatrix left,
                           OrreryMatrix right, const float* own, OrreryMatrix dleft, float slope,
                           float scale);
void gather_rows(OrreryStream& s, OrreryMatrix x, const std::int32_t* index, OrreryMatrix y);
void scatter_add_rows(OrreryStream& s, OrreryMatrix x, const std::int32_t* index, OrreryMatrix y,
                      std::int64_t max_repeats);
void relabel(OrreryStream& s, OrreryPattern* a, const std::int32_t* vertices, std::int64_t count,
             std::int32_t* table, std::int64_t slots);
/// Waits: rows are prepared on the host.
void pattern_transpose(OrreryStream& s, const OrreryPattern* a, const float* values,
                       float* t_values, OrreryPattern** out);
/// Waits, too.
void pattern_by_column(OrreryStream& s, const OrreryPattern* a, std::int32_t* order,
                       OrreryPattern** t, OrreryPattern** by_column);
void activate(OrreryStream& s, OrreryMatrix x, const float* bias, OrreryMatrix y,
              OrreryActivation activation, OrreryDropout dropout);
void activate_backward(OrreryStream& s, OrreryMatrix dy, const float* y, std::int64_t ld_y,
                       OrreryMatrix dx, OrreryActivation activation, OrreryDropout dropout);
void column_sum(OrreryStream& s, OrreryMatrix x, float* y, float beta);
void layer_norm(OrreryStream& s, OrreryMatrix x, const float* gain, const float* shift,
                OrreryMatrix normalised, float* rstd, OrreryMatrix y);
void layer_norm_backward(OrreryStream& s, OrreryMatrix dy, OrreryMatrix normalised,
                         const float* rstd, const float* gain, OrreryMatrix dx, float* dgain,
                         float* dshift);
void column_moments(OrreryStream& s, OrreryMatrix x, OrreryMatrix z, OrreryDType sums, void* sum,
                    void* product);
void batch_norm(OrreryStream& s, OrreryMatrix x, const double* moments, OrreryMatrix averages,
                const float* gain, const float* shift, OrreryMatrix normalised, OrreryMatrix y);
void batch_norm_backward(OrreryStream& s, OrreryMatrix dy, OrreryMatrix normalised,
                         const double* moments, const float* sums, const float* gain,
                         OrreryMatrix dx, std::int64_t counted);
void loss(OrreryStream& s, OrreryLossKind kind, OrreryMatrix logits, const std::int32_t* labels,
          std::int64_t ld_labels, const std::int32_t* targets, std::int64_t target_count,
          const float* weights, OrreryMatrix grad, double* loss, double scale, double weight,
          std::int32_t accumulate);
void score(OrreryStream& s, OrreryLossKind kind, OrreryMatrix logits, const std::int32_t* labels,
           std::int64_t ld_labels, const std::int32_t* targets, std::int64_t target_count,
           double* counts, std::int32_t accumulate);
void sgd(OrreryStream& s, float* w, const float* g, std::int64_t n, float rate, float decay);
void adam(OrreryStream& s, float* w, const float* g, float* m, float* v, std::int64_t n, float rate,
          float decay, float beta1, float beta2, float epsilon, OrreryVarying correction1,
          OrreryVarying correction2);
void add(OrreryStream& s, OrreryDType dtype, const void* x, void* y, std::int64_t n);

}  // namespace orrery::cuda
