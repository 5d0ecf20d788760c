// cuBLAS and cuSPARSE of the emulation: the definitions of the products as loops, sums in double.
#include <cublas_v2.h>
#include <cusparse.h>

namespace em = orrery::emulation;

struct EmulatedBlas {
  cudaStream_t stream = nullptr;
};
struct EmulatedSparse {
  cudaStream_t stream = nullptr;
};
struct EmulatedSpMat {
  std::int64_t rows, cols;
  const std::int32_t *offsets, *columns;
  const float* values;
};
struct EmulatedDnMat {
  std::int64_t rows, cols, ld;
  float* values;
};

namespace {

int version_of(libraryPropertyType) { return 0; }

/// sum + beta·y, where beta = 0 means that y is not read.
float updated(double sum, float beta, float y) {
  return static_cast<float>(beta == 0 ? sum : sum + static_cast<double>(beta) * y);
}

}  // namespace

cublasStatus_t cublasCreate(cublasHandle_t* out) {
  *out = new EmulatedBlas;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace(cublasHandle_t, void*, std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
  *value = version_of(type);
  return CUBLAS_STATUS_SUCCESS;
}
const char* cublasGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "success" : "an invalid value";
}

// Column-major, as BLAS is.
cublasStatus_t cublasSgemm_64(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                              std::int64_t m, std::int64_t n, std::int64_t k, const float* alpha,
                              const float* a, std::int64_t lda, const float* b, std::int64_t ldb,
                              const float* beta, float* c, std::int64_t ldc) {
  const bool ta = op_a == CUBLAS_OP_T, tb = op_b == CUBLAS_OP_T;
  if (lda < std::max<std::int64_t>(1, ta ? k : m) || ldb < std::max<std::int64_t>(1, tb ? n : k) ||
      ldc < std::max<std::int64_t>(1, m))
    return CUBLAS_STATUS_INVALID_VALUE;
  em::enqueue(handle->stream, [=, alpha = *alpha, beta = *beta] {
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i) {
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l)
          sum += static_cast<double>(ta ? a[l + i * lda] : a[i + l * lda]) *
                 (tb ? b[j + l * ldb] : b[l + j * ldb]);
        float& to = c[i + j * ldc];
        to = updated(alpha * sum, beta, to);
      }
  });
  return CUBLAS_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCreate(cusparseHandle_t* out) {
  *out = new EmulatedSparse;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDestroy(cusparseHandle_t handle) {
  delete handle;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseGetProperty(libraryPropertyType type, int* value) {
  *value = version_of(type);
  return CUSPARSE_STATUS_SUCCESS;
}
const char* cusparseGetErrorString(cusparseStatus_t status) {
  return status == CUSPARSE_STATUS_SUCCESS ? "success" : "an invalid value";
}

cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t* out, std::int64_t rows, std::int64_t cols,
                                   std::int64_t, void* offsets, void* columns, void* values,
                                   cusparseIndexType_t, cusparseIndexType_t, cusparseIndexBase_t,
                                   cudaDataType) {
  *out = new EmulatedSpMat{rows, cols, nullptr, nullptr, nullptr};
  return cusparseCsrSetPointers(*out, offsets, columns, values);
}
cusparseStatus_t cusparseCsrSetPointers(cusparseSpMatDescr_t a, void* offsets, void* columns,
                                        void* values) {
  a->offsets = static_cast<const std::int32_t*>(offsets);
  a->columns = static_cast<const std::int32_t*>(columns);
  a->values = static_cast<const float*>(values);
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDestroySpMat(cusparseSpMatDescr_t a) {
  delete a;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t* out, std::int64_t rows,
                                     std::int64_t cols, std::int64_t ld, void* values, cudaDataType,
                                     cusparseOrder_t) {
  if (ld < cols) return CUSPARSE_STATUS_INVALID_VALUE;
  *out = new EmulatedDnMat{rows, cols, ld, static_cast<float*>(values)};
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDnMatSetValues(cusparseDnMatDescr_t x, void* values) {
  x->values = static_cast<float*>(values);
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDestroyDnMat(cusparseDnMatDescr_t x) {
  delete x;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
                                         const void*, cusparseSpMatDescr_t, cusparseDnMatDescr_t,
                                         const void*, cusparseDnMatDescr_t, cudaDataType,
                                         cusparseSpMMAlg_t, std::size_t* bytes) {
  *bytes = 8;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMM_preprocess(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
                                         const void*, cusparseSpMatDescr_t, cusparseDnMatDescr_t,
                                         const void*, cusparseDnMatDescr_t, cudaDataType,
                                         cusparseSpMMAlg_t, void* workspace) {
  std::memset(workspace, 1, 8);
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMM(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t,
                              const void* alpha, cusparseSpMatDescr_t a, cusparseDnMatDescr_t x,
                              const void* beta, cusparseDnMatDescr_t y, cudaDataType,
                              cusparseSpMMAlg_t, void*) {
  if (a->cols != x->rows || a->rows != y->rows || x->cols != y->cols)
    return CUSPARSE_STATUS_INVALID_VALUE;
  em::enqueue(handle->stream, [a = *a, x = *x, y = *y, alpha = *static_cast<const float*>(alpha),
                               beta = *static_cast<const float*>(beta)] {
    for (std::int64_t i = 0; i < a.rows; ++i)
      for (std::int64_t j = 0; j < y.cols; ++j) {
        double sum = 0;
        for (std::int32_t e = a.offsets[i]; e < a.offsets[i + 1]; ++e)
          sum += static_cast<double>(a.values[e]) * x.values[a.columns[e] * x.ld + j];
        float& to = y.values[i * y.ld + j];
        to = updated(alpha * sum, beta, to);
      }
  });
  return CUSPARSE_STATUS_SUCCESS;
}
