#include "backends/cuda/kernels.hpp"

#include <algorithm>
#include <span>

#include "backends/cuda/mover.hpp"
#include "core/base/error.hpp"

namespace orrery::cuda {

/// One op: operands turned into what the library takes.
class StreamKernels::Call {
 public:
  Call(StreamKernels& owner, const RankMemory& memory)
      : owner_(owner), device_(owner.device_), stream_(owner.stream_), memory_(memory) {}

  void operator()(const Load& op) {
    std::visit([&](const auto& from) { load(from, op.to); }, op.from);
  }
  void operator()(const Fill& op) { require(api().fill(stream_, matrix(op.y), op.value), "fill"); }
  void operator()(const Copy& op) {
    require(api().copy(stream_, matrix(op.x), matrix(op.y), op.scale, op.accumulate), "copy");
  }
  void operator()(const Save& op) {
    op.to->resize(static_cast<std::size_t>(op.x.shape.size()));
    require(api().copy_out(stream_, op.to->data(), memory_.bytes_at(op.x), op.x.bytes()),
            "copy_out");
  }

  void operator()(const SpMM& op) {
    const OrreryPattern* a = device_.pattern(op.a.id);
    ORRERY_ASSERT(a != nullptr);
    require(api().spmm(stream_, a, op.values ? floats(*op.values) : nullptr, matrix(op.x),
                       matrix(op.y), op.beta, kOrrerySpmmChosen),
            "spmm");
  }
  void operator()(const Gemm& op) {
    require(api().gemm(stream_, matrix(op.a), matrix(op.b), matrix(op.c), op.transpose_a,
                       op.transpose_b, op.beta, device_.options().tf32),
            "gemm");
  }

  void operator()(const GatherRows& op) {
    require(api().gather_rows(stream_, matrix(op.x), integers(op.index), matrix(op.y)),
            "gather_rows");
  }
  void operator()(const ScatterAddRows& op) {
    require(api().scatter_add_rows(stream_, matrix(op.x), integers(op.index), matrix(op.y), 0),
            "scatter_add_rows");
  }

  void operator()(const Activate& op) {
    const OrreryDropout dropout = dropout_of(op.dropout);
    require(
        api().activate(stream_, matrix(op.x), op.bias ? floats(*op.bias) : nullptr, matrix(op.y),
                       op.activation == Activation::relu, op.dropout ? &dropout : nullptr),
        "activate");
  }
  void operator()(const ActivateBackward& op) {
    const OrreryDropout dropout = dropout_of(op.dropout);
    require(api().activate_backward(
                stream_, matrix(op.dy), op.y ? floats(*op.y) : nullptr, op.y ? op.y->ld : 0,
                matrix(op.dx), op.activation == Activation::relu, op.dropout ? &dropout : nullptr),
            "activate_backward");
  }
  void operator()(const ColumnSum& op) {
    require(api().column_sum(stream_, matrix(op.x), floats(op.y), op.beta), "column_sum");
  }
  void operator()(const LayerNorm& op) {
    require(api().layer_norm(stream_, matrix(op.x), floats(op.gain), floats(op.shift),
                             matrix(op.normalised), column(op.rstd), matrix(op.y)),
            "layer_norm");
  }
  void operator()(const LayerNormBackward& op) {
    require(api().layer_norm_backward(stream_, matrix(op.dy), matrix(op.normalised),
                                      column(op.rstd), floats(op.gain), matrix(op.dx),
                                      floats(op.dgain), floats(op.dshift)),
            "layer_norm_backward");
  }

  void operator()(const Loss& op) {
    require(api().loss(stream_, kind_of(op.loss_kind), matrix(op.logits),
                       memory_.data<std::int32_t>(op.labels), op.labels.ld, integers(op.targets),
                       op.targets.rows(), matrix(op.grad), memory_.data<double>(op.loss), op.scale,
                       op.weight, op.accumulate),
            "loss");
  }
  void operator()(const Score& op) {
    require(api().score(stream_, kind_of(op.loss_kind), matrix(op.logits),
                        memory_.data<std::int32_t>(op.labels), op.labels.ld, integers(op.targets),
                        op.targets.rows(), memory_.data<double>(op.counts), op.accumulate),
            "score");
  }
  void operator()(const Sgd& op) {
    for_each_run({op.w, op.g}, [&](std::span<float* const> at, std::int64_t count) {
      require(api().sgd(stream_, at[0], at[1], count, op.rate, op.decay), "sgd");
    });
  }
  void operator()(const Adam& op) {
    for_each_run({op.w, op.g, op.m, op.v}, [&](std::span<float* const> at, std::int64_t count) {
      require(api().adam(stream_, at[0], at[1], at[2], at[3], count, op.rate, op.decay, op.beta1,
                         op.beta2, op.epsilon, op.step),
              "adam");
    });
  }

 private:
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
  static OrreryLossKind kind_of(LossKind kind) {
    return kind == LossKind::softmax ? kOrrerySoftmax : kOrrerySigmoid;
  }
  OrreryDropout dropout_of(const std::optional<Dropout>& d) const {
    if (!d) return {};
    return {d->p, d->seed, d->epoch, d->layer, integers(d->row_ids), d->col0};
  }

  /// Calls body(first elements, count) for runs of neighbours that cover windows of one shape: the
  /// whole where all are contiguous, else row by row.
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
  /// What the host makes: labels of some vertices, weights that are drawn.
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
};

void StreamKernels::run(const Op& op, const RankMemory& memory) {
  std::visit(
      [&]<class T>(const T& local) {
        if constexpr (Collective<T>)
          ORRERY_ASSERT(!"a collective is not a kernel");
        else
          Call(*this, memory)(local);
      },
      op);
}

}  // namespace orrery::cuda
