// The product of a sparse pattern and a dense matrix, on arrays of Python in place.
#include <fmt/core.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>

#include "backends/cpu/cpu.hpp"
#include "core/base/error.hpp"
#include "core/ops/ops.hpp"
#include "core/runtime/execute/memory.hpp"
#include "python/extension/arrays.hpp"
#include "python/extension/borrowed_storage.hpp"
#include "python/extension/parts_of_module.hpp"

namespace orrery::python {
namespace {

/// The tensors of one product, whose memory is Python's.
class Operation {
 public:
  Tensor lend(const float* first, std::int64_t rows, std::int64_t cols) {
    const Tensor tensor{.id = next_++, .shape = {rows, cols}, .ld = cols};
    static const float nothing = 0;
    storage_.lend(rows * cols == 0 ? &nothing : first);
    memory_.allocate(tensor.id, tensor.bytes());
    return tensor;
  }
  Sparse lend(const Csr& graph) {
    memory_.add_sparse(0, std::shared_ptr<const Csr>(std::shared_ptr<const Csr>(), &graph));
    return {.id = 0, .shape = {graph.rows, graph.cols}, .nnz = graph.nnz()};
  }
  void run(const Op& op) const { make_cpu_kernels()->run(op, memory_); }

 private:
  BorrowedStorage storage_;
  RankMemory memory_{0, storage_};
  std::uint32_t next_ = 0;
};

/// y ← graph·x + beta·y.
void spmm(const Csr& graph, const Matrix<float>& x, const std::optional<Matrix<float>>& values,
          const WritableMatrix<float>& y, float beta, int threads) {
  require_threads(threads);
  Operation operation;
  SpMM op{.a = operation.lend(graph),
          .values = {},
          .x = operation.lend(x.data(), static_cast<std::int64_t>(x.shape(0)),
                              static_cast<std::int64_t>(x.shape(1))),
          .y = operation.lend(y.data(), static_cast<std::int64_t>(y.shape(0)),
                              static_cast<std::int64_t>(y.shape(1))),
          .beta = beta};
  if (values)
    op.values = operation.lend(values->data(), static_cast<std::int64_t>(values->shape(0)),
                               static_cast<std::int64_t>(values->shape(1)));
  op.validate();
  const auto begin = [](const auto& a) { return reinterpret_cast<std::uintptr_t>(a.data()); };
  if (begin(x) < begin(y) + y.nbytes() && begin(y) < begin(x) + x.nbytes())
    throw ShapeError("spmm: x and out must not share memory");
  const Computing computing(threads);
  operation.run(op);
}

}  // namespace

void add_spmm(nb::module_& module) {
  using namespace nb::literals;
  module.def("spmm", &spmm, "graph"_a, "x"_a.noconvert(), "values"_a.noconvert().none(),
             "y"_a.noconvert(), "beta"_a, "threads"_a);
  module.def("new_matrix", &new_matrix, "rows"_a, "cols"_a);
  module.def("kernels", &cpu_kernels_description);
}

}  // namespace orrery::python
