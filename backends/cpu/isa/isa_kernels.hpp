// The kernels that the files of this folder define, for one instruction set.
#pragma once

#include "backends/cpu/range_kernels.hpp"

namespace orrery::cpu::ORRERY_ISA {

void spmm(const SpmmArgs& args, std::int64_t begin, std::int64_t end);
void sddmm(const SddmmArgs& args, std::int64_t begin, std::int64_t end);
void edge_softmax(const EdgeSoftmaxArgs& args, std::int64_t begin, std::int64_t end);
void edge_softmax_backward(const EdgeSoftmaxArgs& args, const EdgeGradientArgs& gradient,
                           std::int64_t begin, std::int64_t end);
void gather(const IndexedArgs& args, std::int64_t begin, std::int64_t end);
void gather_halves(const HalfRowsArgs& args, std::int64_t begin, std::int64_t end);
void scatter_add(const IndexedArgs& args, std::int64_t begin, std::int64_t end);
void activate(const ActivateArgs& args, std::int64_t begin, std::int64_t end);
void activate_dropout(const ActivateArgs& args, const DropoutArgs& dropout, std::int64_t begin,
                      std::int64_t end);
void relu_backward(const ReluBackwardArgs& args, std::int64_t begin, std::int64_t end);
void elu_backward(const EluBackwardArgs& args, std::int64_t begin, std::int64_t end);
void column_sum(Rows<const float> x, std::int64_t width, std::int64_t begin, std::int64_t end,
                double* sums);
void layer_norm(const LayerNormArgs& args, std::int64_t begin, std::int64_t end);
void layer_norm_backward(const LayerNormBackwardArgs& args, std::int64_t begin, std::int64_t end,
                         double* gain_sums, double* shift_sums);
void column_moments(Rows<const float> x, Rows<const float> z, std::int64_t width,
                    std::int64_t begin, std::int64_t end, double* sums, double* products);
void normalise_columns(const NormaliseColumnsArgs& args, std::int64_t begin, std::int64_t end);
void batch_norm_backward(const BatchNormBackwardArgs& args, std::int64_t begin, std::int64_t end);
double softmax_loss(const float* logits, std::int64_t classes, std::int32_t label, float scale,
                    float* grad);
double sigmoid_loss(const float* logits, const std::int32_t* labels, std::int64_t classes,
                    float scale, float* grad);
void sgd(float* w, const float* g, std::int64_t count, float rate, float decay);
void adam(float* w, const float* g, float* m, float* v, std::int64_t count, const AdamArgs& args);

}  // namespace orrery::cpu::ORRERY_ISA
