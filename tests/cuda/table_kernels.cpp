#include "tests/cuda/table_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/base/index.hpp"

namespace orrery::testing {
namespace {

constexpr std::int64_t kGuardBytes = 256;
constexpr char kGuard = 0x5A;

/// The device's copy of a world's tensors.
class Mirror {
 public:
  Mirror(const CudaSession& session, const World& world) : s_(session), world_(world) {
    for (const Tensor& t : world.tensors()) {
      copies_.push_back(s_.allocate<char>(bytes_in(t) + 2 * kGuardBytes));
      std::vector<char> image(static_cast<std::size_t>(bytes_in(t) + 2 * kGuardBytes), kGuard);
      std::memcpy(image.data() + kGuardBytes, whole(t), static_cast<std::size_t>(bytes_in(t)));
      s_.must(s_.api.copy_in(s_.stream, copies_.back(), image.data(),
                             static_cast<std::int64_t>(image.size())));
    }
  }
  ~Mirror() {
    for (char* copy : copies_) s_.api.release(s_.device, copy);
  }

  void copy_back() {
    for (const Tensor& t : world_.tensors()) {
      std::vector<char> image(static_cast<std::size_t>(bytes_in(t) + 2 * kGuardBytes));
      s_.must(s_.api.copy_out(s_.stream, image.data(), copies_[t.id],
                              static_cast<std::int64_t>(image.size())));
      s_.must(s_.api.stream_sync(s_.stream));
      for (std::int64_t i = 0; i < kGuardBytes; ++i) {
        ASSERT_EQ(image[static_cast<std::size_t>(i)], kGuard) << to_string(t) << " before";
        ASSERT_EQ(image[image.size() - 1 - static_cast<std::size_t>(i)], kGuard)
            << to_string(t) << " after";
      }
      std::memcpy(whole(t), image.data() + kGuardBytes, static_cast<std::size_t>(bytes_in(t)));
    }
  }

  template <class T>
  T* at(const Tensor& t) const {
    return reinterpret_cast<T*>(copies_[t.id] + kGuardBytes) + t.offset;
  }
  template <class T>
  T* at(const std::optional<Tensor>& t) const {
    return t ? at<T>(*t) : nullptr;
  }
  OrreryMatrix matrix(const Tensor& t) const {
    const OrreryDType dtype = t.dtype == DType::f32   ? kOrreryF32
                              : t.dtype == DType::i32 ? kOrreryI32
                              : t.dtype == DType::f16 ? kOrreryF16
                                                      : kOrreryF64;
    return {copies_[t.id] + kGuardBytes + t.offset * bytes_of(t.dtype), t.rows(), t.cols(), t.ld,
            dtype};
  }
  OrreryDropout dropout(const std::optional<Dropout>& d) const {
    if (!d) return {};
    return {d->p, d->seed, {d->epoch, nullptr}, d->layer, at<std::int32_t>(d->row_ids), d->col0};
  }
  const World& world() const { return world_; }

 private:
  static std::int64_t bytes_in(const Tensor& t) { return t.rows() * t.ld * bytes_of(t.dtype); }
  void* whole(const Tensor& t) const { return world_.memory().bytes_at(t); }

  const CudaSession& s_;
  const World& world_;
  std::vector<char*> copies_;
};

struct Call {
  const CudaSession& session;
  const OrreryCudaApi& api;
  OrreryStream* s;
  const Mirror& m;
  const TableOptions& options;

  int operator()(const Fill& op) const { return api.fill(s, m.matrix(op.y), op.value); }
  int operator()(const Copy& op) const {
    return api.copy(s, m.matrix(op.x), m.matrix(op.y), op.scale, op.accumulate);
  }
  int operator()(const SpMM& op) const {
    return with_pattern(op.a, [&](OrreryPattern* a) {
      return api.spmm(s, a, m.at<float>(op.values), op.heads(), m.matrix(op.x), m.matrix(op.y),
                      op.beta, options.by);
    });
  }
  int operator()(const Sddmm& op) const {
    return with_pattern(op.a, [&](OrreryPattern* a) {
      return api.sddmm(s, a, m.matrix(op.x), m.matrix(op.z), m.at<float>(op.dots), op.heads());
    });
  }
  int operator()(const EdgeSoftmax& op) const {
    return with_pattern(op.a, [&](OrreryPattern* a) {
      return api.edge_softmax(s, a, m.at<float>(op.weights), op.weights.cols(), left_of(op.ends),
                              right_of(op.ends), own_of(op.ends), op.ends ? op.ends->slope : 0,
                              op.scale);
    });
  }
  int operator()(const EdgeSoftmaxBackward& op) const {
    return with_pattern(op.a, [&](OrreryPattern* a) {
      return api.edge_softmax_backward(
          s, a, m.at<float>(op.weights), m.at<float>(op.gradient), op.weights.cols(),
          left_of(op.ends), right_of(op.ends), own_of(op.ends),
          op.dleft ? m.matrix(*op.dleft) : OrreryMatrix{}, op.ends ? op.ends->slope : 0, op.scale);
    });
  }
  int operator()(const Gemm& op) const {
    return api.gemm(s, m.matrix(op.a), m.matrix(op.b), m.matrix(op.c), op.transpose_a,
                    op.transpose_b, op.beta, 0);
  }
  int operator()(const GatherRows& op) const {
    return api.gather_rows(s, m.matrix(op.x), m.at<std::int32_t>(op.index), m.matrix(op.y));
  }
  int operator()(const ScatterAddRows& op) const {
    return api.scatter_add_rows(s, m.matrix(op.x), m.at<std::int32_t>(op.index), m.matrix(op.y),
                                options.max_repeats);
  }
  int operator()(const Relabel& op) const {
    return with_pattern(op.a, [&](OrreryPattern* a) {
      session.must(api.relabel(s, a, m.at<std::int32_t>(op.vertices), op.vertices.rows(),
                               m.at<std::int32_t>(op.table), op.table.rows()));
      m.world().memory().change_sparse(op.a).columns = read(a, op.a).columns;
      return static_cast<int>(kOrreryOk);
    });
  }
  int operator()(const TransposeSparse& op) const {
    return with_pattern(op.a, [&](OrreryPattern* a) {
      OrreryPattern* t = nullptr;
      const int code =
          api.pattern_transpose(s, a, m.at<float>(op.values), m.at<float>(op.t_values), &t);
      if (code != kOrreryOk) return code;
      m.world().memory().fill_sparse(op.t) = read(t, op.t);
      api.pattern_close(t);
      return code;
    });
  }
  int operator()(const EntriesByColumn& op) const {
    return with_pattern(op.a, [&](OrreryPattern* a) {
      OrreryPattern *t = nullptr, *by_column = nullptr;
      const int code = api.pattern_by_column(s, a, m.at<std::int32_t>(op.order), &t, &by_column);
      if (code != kOrreryOk) return code;
      m.world().memory().fill_sparse(op.t) = read(t, op.t);
      m.world().memory().fill_sparse(op.by_column) = read(by_column, op.by_column);
      api.pattern_close(t);
      api.pattern_close(by_column);
      return code;
    });
  }
  int operator()(const Activate& op) const {
    return api.activate(s, m.matrix(op.x), m.at<float>(op.bias), m.matrix(op.y),
                        activation_of(op.activation), m.dropout(op.dropout));
  }
  int operator()(const ActivateBackward& op) const {
    return api.activate_backward(s, m.matrix(op.dy), m.at<float>(op.y), op.y ? op.y->ld : 0,
                                 m.matrix(op.dx), activation_of(op.activation),
                                 m.dropout(op.dropout));
  }
  int operator()(const ColumnSum& op) const {
    return api.column_sum(s, m.matrix(op.x), m.at<float>(op.y), op.beta);
  }
  int operator()(const LayerNorm& op) const {
    return api.layer_norm(s, m.matrix(op.x), m.at<float>(op.gain), m.at<float>(op.shift),
                          m.matrix(op.normalised), m.at<float>(op.rstd), m.matrix(op.y));
  }
  int operator()(const LayerNormBackward& op) const {
    return api.layer_norm_backward(s, m.matrix(op.dy), m.matrix(op.normalised),
                                   m.at<float>(op.rstd), m.at<float>(op.gain), m.matrix(op.dx),
                                   m.at<float>(op.dgain), m.at<float>(op.dshift));
  }
  int operator()(const ColumnMoments& op) const {
    const bool wide = op.sum.dtype == DType::f64;
    const auto at = [&](const Tensor& t) -> void* {
      return wide ? static_cast<void*>(m.at<double>(t)) : static_cast<void*>(m.at<float>(t));
    };
    return api.column_moments(s, m.matrix(op.x), m.matrix(op.z), wide ? kOrreryF64 : kOrreryF32,
                              at(op.sum), at(op.product));
  }
  int operator()(const BatchNorm& op) const {
    return api.batch_norm(s, m.matrix(op.x), m.at<double>(op.moments), m.matrix(op.averages),
                          m.at<float>(op.gain), m.at<float>(op.shift),
                          op.normalised ? m.matrix(*op.normalised) : OrreryMatrix{},
                          m.matrix(op.y));
  }
  int operator()(const BatchNormBackward& op) const {
    return api.batch_norm_backward(s, m.matrix(op.dy), m.matrix(op.normalised),
                                   m.at<double>(op.moments), m.at<float>(op.sums),
                                   m.at<float>(op.gain), m.matrix(op.dx), op.counted);
  }
  int operator()(const Loss& op) const {
    return api.loss(s, kind_of_loss(op.loss_kind), m.matrix(op.logits),
                    m.at<std::int32_t>(op.labels), op.labels.ld, m.at<std::int32_t>(op.targets),
                    op.targets.rows(),
                    op.target_weights ? m.at<float>(*op.target_weights) : nullptr,
                    m.matrix(op.grad), m.at<double>(op.loss), op.scale, op.weight, op.accumulate);
  }
  int operator()(const Score& op) const {
    return api.score(s, kind_of_loss(op.loss_kind), m.matrix(op.logits),
                     m.at<std::int32_t>(op.labels), op.labels.ld, m.at<std::int32_t>(op.targets),
                     op.targets.rows(), m.at<double>(op.counts), op.accumulate);
  }
  int operator()(const Sgd& op) const {
    return by_runs({op.w, op.g}, [&](const std::vector<float*>& at, std::int64_t n) {
      return api.sgd(s, at[0], at[1], n, op.rate, op.decay);
    });
  }
  int operator()(const Adam& op) const {
    return by_runs({op.w, op.g, op.m, op.v}, [&](const std::vector<float*>& at, std::int64_t n) {
      return api.adam(s, at[0], at[1], at[2], at[3], n, op.rate, op.decay, op.beta1, op.beta2,
                      op.epsilon, correction(op.beta1, op.step), correction(op.beta2, op.step));
    });
  }
  template <class Other>
  int operator()(const Other&) const {
    throw std::runtime_error("the table has no such op");
  }

  template <class Body>
  int with_pattern(const Sparse& sparse, const Body& body) const {
    const Csr& a = m.world().memory().pattern(sparse);
    OrreryPattern* pattern = nullptr;
    session.must(
        api.pattern_open(s, a.rows, a.cols, a.nnz(), a.offsets.data(), a.columns.data(), &pattern));
    const int code = body(pattern);
    session.must(api.stream_sync(s));
    api.pattern_close(pattern);
    return code;
  }
  /// The rows and columns of the entries, as dots of a list of numbers with ones.
  Csr read(const OrreryPattern* pattern, const Sparse& of) const {
    const std::vector<float> rows = dots(pattern, of, true), columns = dots(pattern, of, false);
    Csr csr;
    csr.rows = of.shape.rows;
    csr.cols = of.shape.cols;
    csr.offsets.assign(static_cast<std::size_t>(csr.rows) + 1, 0);
    for (const float row : rows) ++csr.offsets[static_cast<std::size_t>(row) + 1];
    for (std::size_t r = 1; r < csr.offsets.size(); ++r) csr.offsets[r] += csr.offsets[r - 1];
    for (const float column : columns) csr.columns.push_back(static_cast<Vertex>(column));
    return csr;
  }
  std::vector<float> dots(const OrreryPattern* pattern, const Sparse& of, bool of_rows) const {
    const auto on_device = [&](std::int64_t n, bool numbers) {
      std::vector<float> values(static_cast<std::size_t>(n), 1);
      for (std::size_t i = 0; i < values.size() && numbers; ++i) values[i] = static_cast<float>(i);
      auto* at = session.allocate<float>(std::max<std::int64_t>(1, 4 * n));
      session.must(api.copy_in(s, at, values.data(), n * 4));
      session.must(api.stream_sync(s));
      return at;
    };
    float *x = on_device(of.shape.rows, of_rows), *z = on_device(of.shape.cols, !of_rows),
          *y = on_device(of.nnz, false);
    std::vector<float> found(static_cast<std::size_t>(of.nnz));
    session.must(api.sddmm(s, pattern, {x, of.shape.rows, 1, 1, kOrreryF32},
                           {z, of.shape.cols, 1, 1, kOrreryF32}, y, 1));
    session.must(api.copy_out(s, found.data(), y, of.nnz * 4));
    session.must(api.stream_sync(s));
    for (float* list : {x, y, z}) api.release(session.device, list);
    return found;
  }
  OrreryMatrix left_of(const std::optional<EndScores>& ends) const {
    return ends ? m.matrix(ends->left) : OrreryMatrix{};
  }
  OrreryMatrix right_of(const std::optional<EndScores>& ends) const {
    return ends ? m.matrix(ends->right) : OrreryMatrix{};
  }
  const float* own_of(const std::optional<EndScores>& ends) const {
    return ends && ends->own ? m.at<float>(*ends->own) : nullptr;
  }

  /// Calls body(first elements, count) for the whole where every window is contiguous, else row by
  /// row: the table's updates know no gaps.
  template <class Body>
  int by_runs(const std::vector<Tensor>& windows, const Body& body) const {
    const Tensor& any = windows.front();
    const bool whole =
        std::all_of(windows.begin(), windows.end(), [](const Tensor& t) { return t.contiguous(); });
    for (std::int64_t row = 0; row < (whole ? 1 : any.rows()); ++row) {
      std::vector<float*> first;
      for (const Tensor& t : windows) first.push_back(m.at<float>(t) + row * t.ld);
      session.must(body(first, whole ? any.shape.size() : any.cols()));
    }
    return kOrreryOk;
  }
  static OrreryVarying correction(float beta, std::int32_t step) {
    const double power = std::pow(static_cast<double>(beta), step);
    return {std::bit_cast<std::uint32_t>(static_cast<float>(1 - power)), nullptr};
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
  static OrreryLossKind kind_of_loss(LossKind kind) {
    return kind == LossKind::softmax ? kOrrerySoftmax : kOrrerySigmoid;
  }
};

}  // namespace

void run_by_table(const CudaSession& session, const World& world, const Op& op,
                  const TableOptions& options) {
  validate(op);
  Mirror mirror(session, world);
  session.must(std::visit(Call{session, session.api, session.stream, mirror, options}, op));
  mirror.copy_back();
}

std::vector<Runner> twice_by_table(const CudaSession& session, const TableOptions& options) {
  const Runner run = [&session, options](const World& world, const Op& op) {
    run_by_table(session, world, op, options);
  };
  return {run, run};
}

}  // namespace orrery::testing
