// The sparse-dense product by cuSPARSE.
#include "backends/cuda/device/cusparse_plans.cuh"
#include "backends/cuda/device/launch.cuh"
#include "backends/cuda/device/ops.cuh"
#include "backends/cuda/device/pattern.cuh"

namespace orrery::cuda {

CusparsePlan::~CusparsePlan() {
  if (a != nullptr) cusparseDestroySpMat(a);
  if (x != nullptr) cusparseDestroyDnMat(x);
  if (y != nullptr) cusparseDestroyDnMat(y);
}

namespace {

__global__ void narrow(const std::int64_t* from, std::int32_t* to, std::int64_t n) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) to[i] = static_cast<std::int32_t>(from[i]);
}

/// The pattern's offsets in 32 bits: cuSPARSE requires offsets and columns of one type.
void need_offsets(OrreryStream& s, const OrreryPattern& a) {
  Beside& offsets = a.plans->offsets;
  if (offsets.bytes() > 0) return;
  require(a.nnz < std::int64_t{1} << 31U,
          "cuSPARSE takes fewer than 2^31 entries here: use the library's own product");
  offsets = Beside(s.device, (a.rows + 1) * 4);
  launch(s, narrow, dim3{extent(ceil_div(a.rows + 1, 256)), 1, 1}, dim3{256, 1, 1}, a.view.offsets,
         offsets.as<std::int32_t>(), a.rows + 1);
  check(cudaStreamSynchronize(s.stream), "cudaStreamSynchronize");  // other streams read it, too
}

float* need_ones(OrreryStream& s, const OrreryPattern& a) {
  Beside& ones = a.plans->ones;
  if (ones.bytes() == 0) {
    ones = Beside(s.device, a.nnz * 4);
    fill(s, {ones.as<void>(), 1, a.nnz, a.nnz, kOrreryF32}, 1);
    check(cudaStreamSynchronize(s.stream), "cudaStreamSynchronize");
  }
  return ones.as<float>();
}

constexpr auto kPlain = CUSPARSE_OPERATION_NON_TRANSPOSE;

/// Arguments of a product; pointers may change from one to the next.
struct Asked {
  std::int32_t *offsets, *columns;
  float* values;
  OrreryMatrix x, y;
  float beta;
  cusparseSpMMAlg_t algorithm;
};

std::unique_ptr<CusparsePlan> make_plan(OrreryStream& s, const OrreryPattern& a,
                                        const Asked& asked) {
  auto plan = std::make_unique<CusparsePlan>();
  const auto describe = [](cusparseDnMatDescr_t& to, const OrreryMatrix& m) {
    check(cusparseCreateDnMat(&to, m.rows, m.cols, m.ld, m.data, CUDA_R_32F, CUSPARSE_ORDER_ROW),
          "cusparseCreateDnMat");
  };
  describe(plan->x, asked.x);
  describe(plan->y, asked.y);
  check(cusparseCreateCsr(&plan->a, a.rows, a.cols, a.nnz, asked.offsets, asked.columns,
                          asked.values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                          CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F),
        "cusparseCreateCsr");
  const float one = 1;
  std::size_t bytes = 0;
  check(cusparseSpMM_bufferSize(s.sparse(), kPlain, kPlain, &one, plan->a, plan->x, &asked.beta,
                                plan->y, CUDA_R_32F, asked.algorithm, &bytes),
        "cusparseSpMM_bufferSize");
  plan->workspace = Beside(s.device, static_cast<std::int64_t>(bytes));
  check(cusparseSpMM_preprocess(s.sparse(), kPlain, kPlain, &one, plan->a, plan->x, &asked.beta,
                                plan->y, CUDA_R_32F, asked.algorithm, plan->workspace.as<void>()),
        "cusparseSpMM_preprocess");
  return plan;
}

}  // namespace

void spmm_cusparse(OrreryStream& s, const OrreryPattern& a, const float* values, OrreryMatrix x,
                   OrreryMatrix y, float beta, bool repeatable) {
  require(x.dtype == kOrreryF32 && y.dtype == kOrreryF32, "spmm needs f32");
  if (a.nnz == 0) {  // there is nothing to give to a library
    if (beta == 0) return fill(s, y, 0);
    return copy(s, y, y, beta, 0);
  }
  const std::lock_guard lock(a.plans->mutex);
  need_offsets(s, a);
  const Asked asked{a.plans->offsets.as<std::int32_t>(),
                    const_cast<std::int32_t*>(a.view.columns),
                    values != nullptr ? const_cast<float*>(values) : need_ones(s, a),
                    x,
                    y,
                    beta,
                    repeatable ? CUSPARSE_SPMM_CSR_ALG3 : CUSPARSE_SPMM_CSR_ALG2};
  auto& plan = a.plans->by_key[{&s, x.cols, x.ld, y.ld, repeatable}];
  if (plan == nullptr) plan = make_plan(s, a, asked);
  check(cusparseCsrSetPointers(plan->a, asked.offsets, asked.columns, asked.values),
        "cusparseCsrSetPointers");
  check(cusparseDnMatSetValues(plan->x, x.data), "cusparseDnMatSetValues");
  check(cusparseDnMatSetValues(plan->y, y.data), "cusparseDnMatSetValues");
  const float one = 1;
  check(cusparseSpMM(s.sparse(), kPlain, kPlain, &one, plan->a, plan->x, &beta, plan->y, CUDA_R_32F,
                     asked.algorithm, plan->workspace.as<void>()),
        "cusparseSpMM");
}

}  // namespace orrery::cuda
