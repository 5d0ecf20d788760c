// The table through which the rest of the backend calls this instruction set.
#include "backends/cpu/isa/isa_kernels.hpp"

namespace orrery::cpu::ORRERY_ISA {

const RangeKernels kernels{
    .spmm = spmm,
    .sddmm = sddmm,
    .edge_softmax = edge_softmax,
    .edge_softmax_backward = edge_softmax_backward,
    .gather = gather,
    .gather_halves = gather_halves,
    .scatter_add = scatter_add,
    .activate = activate,
    .activate_dropout = activate_dropout,
    .relu_backward = relu_backward,
    .elu_backward = elu_backward,
    .column_sum = column_sum,
    .layer_norm = layer_norm,
    .layer_norm_backward = layer_norm_backward,
    .column_moments = column_moments,
    .normalise_columns = normalise_columns,
    .batch_norm_backward = batch_norm_backward,
    .softmax_loss = softmax_loss,
    .sigmoid_loss = sigmoid_loss,
    .sgd = sgd,
    .adam = adam,
};

}  // namespace orrery::cpu::ORRERY_ISA
