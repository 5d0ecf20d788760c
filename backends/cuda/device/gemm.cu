// The dense product by cuBLAS.
#include "backends/cuda/device/ops.cuh"
#include "backends/cuda/device/windows.cuh"

namespace orrery::cuda {

// cuBLAS is column-major: it sees our matrices transposed, so it computes cᵀ = op(b)ᵀ·op(a)ᵀ.
void gemm(OrreryStream& s, OrreryMatrix a, OrreryMatrix b, OrreryMatrix c, std::int32_t transpose_a,
          std::int32_t transpose_b, float beta, std::int32_t tf32) {
  const Window<float> left = floats(a), right = floats(b), out = floats(c);
  const std::int64_t inner = transpose_a != 0 ? a.rows : a.cols;
  require(c.rows == (transpose_a != 0 ? a.cols : a.rows) &&
              inner == (transpose_b != 0 ? b.cols : b.rows) &&
              c.cols == (transpose_b != 0 ? b.rows : b.cols),
          "gemm: the extents of a, b and c do not fit together");
  if (c.rows == 0 || c.cols == 0) return;
  if (inner == 0) {  // cuBLAS requires strides that an empty matrix does not have
    if (beta == 0) return fill(s, c, 0);
    return copy(s, c, c, beta, 0);
  }
  const cublasHandle_t blas = s.blas();
  check(cublasSetMathMode(blas, tf32 != 0 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH),
        "cublasSetMathMode");
  const float one = 1;
  check(cublasSgemm_64(blas, transpose_b != 0 ? CUBLAS_OP_T : CUBLAS_OP_N,
                       transpose_a != 0 ? CUBLAS_OP_T : CUBLAS_OP_N, c.cols, c.rows, inner, &one,
                       right.first, right.ld, left.first, left.ld, &beta, out.first, out.ld),
        "cublasSgemm");
}

}  // namespace orrery::cuda
