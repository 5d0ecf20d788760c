#include "backends/cuda/cuda_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "backends/cuda/cuda_mover.hpp"
#include "core/base/error.hpp"

namespace orrery::cuda {

/// One op: operands turned into the library's arguments.
class StreamKernels::Call {
 public:
  Call(StreamKernels& owner, const RankMemory& memory)
      : owner_(owner), device_(owner.device_), stream_(owner.stream_), memory_(memory) {}

  void operator()(const Load& op) {
    std::visit([&](const auto& from) { load(from, op.to); }, op.from);
  }
  void operator()(const Fill& op) { issue("fill", api().fill, matrix(op.y), op.value); }
  void operator()(const Copy& op) {
    issue("copy", api().copy, matrix(op.x), matrix(op.y), op.scale, op.accumulate);
  }
  void operator()(const Save& op) {
    op.to->resize(static_cast<std::size_t>(op.x.shape.size()));
    require(api().copy_out(stream_, op.to->data(), memory_.bytes_at(op.x), op.x.bytes()),
            "copy_out");
  }

  void operator()(const SpMM& op) {
    issue("spmm", api().spmm, pattern(op.a), op.values ? floats(*op.values) : nullptr, op.heads(),
          matrix(op.x), matrix(op.y), op.beta, kOrrerySpmmChosen);
  }
  void operator()(const Sddmm& op) {
    issue("sddmm", api().sddmm, pattern(op.a), matrix(op.x), matrix(op.z), floats(op.dots),
          op.heads());
  }
  void operator()(const EdgeSoftmax& op) {
    const auto [left, right, own, slope] = ends_of(op.ends);
    issue("edge_softmax", api().edge_softmax, pattern(op.a), floats(op.weights), op.weights.cols(),
          left, right, own, slope, op.scale);
  }
  void operator()(const EdgeSoftmaxBackward& op) {
    const auto [left, right, own, slope] = ends_of(op.ends);
    issue("edge_softmax_backward", api().edge_softmax_backward, pattern(op.a), floats(op.weights),
          floats(op.gradient), op.weights.cols(), left, right, own,
          op.dleft ? matrix(*op.dleft) : OrreryMatrix{}, slope, op.scale);
  }
  void operator()(const Gemm& op) {
    issue("gemm", api().gemm, matrix(op.a), matrix(op.b), matrix(op.c), op.transpose_a,
          op.transpose_b, op.beta, device_.options().tf32);
  }

  void operator()(const GatherRows& op) {
    issue("gather_rows", api().gather_rows, matrix(op.x), integers(op.index), matrix(op.y));
  }
  void operator()(const ScatterAddRows& op) {
    issue("scatter_add_rows", api().scatter_add_rows, matrix(op.x), integers(op.index),
          matrix(op.y), 0);
  }

  void operator()(const Relabel& op) {
    require(api().relabel(stream_, device_.pattern(op.a.id).pattern, integers(op.vertices),
                          op.vertices.rows(), integers(op.table), op.table.rows()),
            "relabel");
  }
  void operator()(const TransposeSparse& op) {
    OrreryPattern* opened = nullptr;
    require(api().pattern_transpose(stream_, device_.pattern(op.a.id).pattern, floats(op.values),
                                    floats(op.t_values), &opened),
            "pattern_transpose");
    device_.put_pattern(op.t.id, {opened, api().pattern_close});
  }
  void operator()(const EntriesByColumn& op) {
    OrreryPattern *t = nullptr, *by_column = nullptr;
    require(api().pattern_by_column(stream_, device_.pattern(op.a.id).pattern, integers(op.order),
                                    &t, &by_column),
            "pattern_by_column");
    device_.put_pattern(op.t.id, {t, api().pattern_close});
    device_.put_pattern(op.by_column.id, {by_column, api().pattern_close});
  }

  void operator()(const Activate& op) {
    issue("activate", api().activate, matrix(op.x), op.bias ? floats(*op.bias) : nullptr,
          matrix(op.y), activation_of(op.activation), dropout_of(op.dropout));
  }
  void operator()(const ActivateBackward& op) {
    issue("activate_backward", api().activate_backward, matrix(op.dy),
          op.y ? floats(*op.y) : nullptr, op.y ? op.y->ld : 0, matrix(op.dx),
          activation_of(op.activation), dropout_of(op.dropout));
  }
  void operator()(const ColumnSum& op) {
    issue("column_sum", api().column_sum, matrix(op.x), floats(op.y), op.beta);
  }
  void operator()(const LayerNorm& op) {
    issue("layer_norm", api().layer_norm, matrix(op.x), floats(op.gain), floats(op.shift),
          matrix(op.normalised), column(op.rstd), matrix(op.y));
  }
  void operator()(const LayerNormBackward& op) {
    issue("layer_norm_backward", api().layer_norm_backward, matrix(op.dy), matrix(op.normalised),
          column(op.rstd), floats(op.gain), matrix(op.dx), floats(op.dgain), floats(op.dshift));
  }

  void operator()(const ColumnMoments& op) {
    issue("column_moments", api().column_moments, matrix(op.x), matrix(op.z),
          dtype_of(op.sum.dtype), static_cast<void*>(memory_.bytes_at(op.sum)),
          static_cast<void*>(memory_.bytes_at(op.product)));
  }
  void operator()(const BatchNorm& op) {
    issue("batch_norm", api().batch_norm, matrix(op.x),
          op.moments ? memory_.data<double>(*op.moments) : nullptr, matrix(op.averages),
          floats(op.gain), floats(op.shift),
          op.normalised ? matrix(*op.normalised) : OrreryMatrix{}, matrix(op.y));
  }
  void operator()(const BatchNormBackward& op) {
    issue("batch_norm_backward", api().batch_norm_backward, matrix(op.dy), matrix(op.normalised),
          memory_.data<double>(op.moments), floats(op.sums), floats(op.gain), matrix(op.dx),
          op.counted);
  }

  void operator()(const Loss& op) {
    issue("loss", api().loss, kind_of(op.loss_kind), matrix(op.logits),
          memory_.data<std::int32_t>(op.labels), op.labels.ld, integers(op.targets),
          op.targets.rows(), op.target_weights ? floats(*op.target_weights) : nullptr,
          matrix(op.grad), memory_.data<double>(op.loss), op.scale, op.weight, op.accumulate);
  }
  void operator()(const Score& op) {
    issue("score", api().score, kind_of(op.loss_kind), matrix(op.logits),
          memory_.data<std::int32_t>(op.labels), op.labels.ld, integers(op.targets),
          op.targets.rows(), memory_.data<double>(op.counts), op.accumulate);
  }
  void operator()(const Sgd& op) {
    for_each_run({op.w, op.g}, [&](std::span<float* const> at, std::int64_t count) {
      issue("sgd", api().sgd, at[0], at[1], count, op.rate, op.decay);
    });
  }
  void operator()(const Adam& op) {
    for_each_run({op.w, op.g, op.m, op.v}, [&](std::span<float* const> at, std::int64_t count) {
      issue("adam", api().adam, at[0], at[1], at[2], at[3], count, op.rate, op.decay, op.beta1,
            op.beta2, op.epsilon, correction(op.beta1, op.step), correction(op.beta2, op.step));
    });
  }

 private:
  /// Calls that may be kept and issued later go through here: their arguments are device memory and
  /// numbers.
  template <class... P, class... A>
  void issue(std::string_view name, int (*function)(OrreryStream*, P...), A... arguments) {
    if (owner_.kept_ != nullptr)
      owner_.kept_->emplace_back(name, pattern_, function, arguments...);
    else
      require(function(stream_, static_cast<P>(arguments)...), name);
  }

  const OrreryPattern* pattern(const Sparse& a) {
    const CudaDevice::HeldPattern held = device_.pattern(a.id);
    ORRERY_ASSERT(held.pattern != nullptr);
    pattern_ = held.number;
    return held.pattern;
  }
  struct Ends {
    OrreryMatrix left{}, right{};
    const float* own = nullptr;
    float slope = 0;
  };
  Ends ends_of(const std::optional<EndScores>& ends) const {
    if (!ends) return {};
    return {matrix(ends->left), matrix(ends->right), ends->own ? floats(*ends->own) : nullptr,
            ends->slope};
  }
  OrreryMatrix matrix(const Tensor& t) const {
    return {memory_.bytes_at(t), t.rows(), t.cols(), t.ld, dtype_of(t.dtype)};
  }
  float* floats(const Tensor& t) const { return memory_.data<float>(t); }
  /// A column whose elements are neighbours.
  float* column(const Tensor& t) const {
    ORRERY_ASSERT(t.contiguous());
    return memory_.data<float>(t);
  }
  std::int32_t* integers(const Tensor& t) const {
    ORRERY_ASSERT(t.contiguous());
    return memory_.data<std::int32_t>(t);
  }
  static OrreryActivation activation_of(Activation activation) {
    switch (activation) {
      case Activation::none:
        return kOrreryNoActivation;
      case Activation::relu:
        return kOrreryRelu;
      case Activation::elu:
        return kOrreryElu;
    }
    return kOrreryNoActivation;
  }
  static OrreryLossKind kind_of(LossKind kind) {
    return kind == LossKind::softmax ? kOrrerySoftmax : kOrrerySigmoid;
  }
  OrreryDropout dropout_of(const std::optional<Dropout>& d) const {
    if (!d) return {};
    return {d->p, d->seed, {d->epoch, nullptr}, d->layer, integers(d->row_ids), d->col0};
  }
  /// 1 − β^step, in double: with a float β2 it would lose half its digits at the first steps.
  static OrreryVarying correction(float beta, std::int32_t step) {
    const auto value = static_cast<float>(1 - std::pow(static_cast<double>(beta), step));
    return {std::bit_cast<std::uint32_t>(value), nullptr};
  }

  /// Calls body(first elements, count) for runs of neighbours that cover windows of one shape: the
  /// whole if all are contiguous, else row by row.
  template <class Body>
  void for_each_run(std::initializer_list<Tensor> windows, const Body& body) const {
    const Shape shape = windows.begin()->shape;
    const bool whole =
        std::all_of(windows.begin(), windows.end(), [](const Tensor& t) { return t.contiguous(); });
    const std::int64_t runs = whole ? 1 : shape.rows, count = whole ? shape.size() : shape.cols;
    for (std::int64_t row = 0; row < runs; ++row) {
      std::vector<float*> at;
      for (const Tensor& t : windows) at.push_back(floats(t) + row * t.ld);
      body(at, count);
    }
  }

  void load(const FeatureRows& from, const Tensor& to) {
    if (to.shape.size() == 0) return;
    const std::int64_t row = to.cols() * bytes_of(to.dtype);
    const std::int64_t step = std::max<std::int64_t>(1, Staging::kPiece / row);
    for (std::int64_t first = 0; first < to.rows(); first += step) {
      const Tensor part = to.rows_at(first, std::min(step, to.rows() - first));
      auto* piece = static_cast<float*>(owner_.staging_.next(part.bytes()));
      const auto at = static_cast<std::size_t>(first);
      from.features->read(
          std::span(*from.vertices).subspan(at, static_cast<std::size_t>(part.rows())), from.col0,
          to.cols(), piece, to.cols());
      if (part.contiguous())
        copy_in(part, piece);
      else
        require(api().copy(stream_, {piece, part.rows(), part.cols(), part.cols(), kOrreryF32},
                           matrix(part), 1, 0),
                "copy");
      owner_.staging_.sent();
    }
  }
  void load(const IndexArray& from, const Tensor& to) { copy_in(to, from.values->data()); }
  void load(const FloatArray& from, const Tensor& to) { copy_in(to, from.values->data()); }
  [[noreturn]] void load(const Unknown& from, const Tensor&) { refuse(from); }
  /// Data that the host makes: labels of some vertices, drawn weights.
  template <class Made>
  void load(const Made& from, const Tensor& to) {
    RankMemory memory;
    Tensor made = to;
    made.id = 0;
    made.offset = 0;
    memory.allocate(made.id, made.bytes());
    device_.options().host_kernels()->run(Load{from, made}, memory);
    copy_in(to, memory.bytes_at(made));
  }
  void copy_in(const Tensor& to, const void* from) {
    if (to.bytes() > 0)
      require(api().copy_in(stream_, memory_.bytes_at(to), from, to.bytes()), "copy_in");
  }

  StreamKernels& owner_;
  CudaDevice& device_;
  OrreryStream* stream_;
  const RankMemory& memory_;
  std::uint64_t pattern_ = 0;  ///< the number of the one that is used
};

bool StreamKernels::can_be_kept(const Op& op) {
  // The others move data on the host, or work on patterns that are made anew for every step.
  return !group_of(op) && !std::holds_alternative<Load>(op) && !std::holds_alternative<Save>(op) &&
         !std::holds_alternative<Relabel>(op) && !std::holds_alternative<TransposeSparse>(op) &&
         !std::holds_alternative<EntriesByColumn>(op);
}

void StreamKernels::run(const Op& op, const RankMemory& memory) {
  std::visit(
      [&]<class T>(const T& local) {
        if constexpr (Communicates<T>)
          ORRERY_ASSERT(!"a communicator does it");
        else
          Call(*this, memory)(local);
      },
      op);
}

}  // namespace orrery::cuda
