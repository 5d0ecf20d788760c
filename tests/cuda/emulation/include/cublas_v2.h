// The part of cuBLAS that Orrery's library uses, as plain loops on the emulated runtime.
#pragma once

#include <cuda_runtime.h>
#include <library_types.h>

enum cublasStatus_t { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_INVALID_VALUE = 7 };
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };
enum cublasMath_t { CUBLAS_DEFAULT_MATH = 0, CUBLAS_TF32_TENSOR_OP_MATH = 3 };

struct EmulatedBlas;
using cublasHandle_t = EmulatedBlas*;

cublasStatus_t cublasCreate(cublasHandle_t*);
cublasStatus_t cublasDestroy(cublasHandle_t);
cublasStatus_t cublasSetStream(cublasHandle_t, cudaStream_t);
cublasStatus_t cublasSetWorkspace(cublasHandle_t, void*, std::size_t bytes);
cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t);
cublasStatus_t cublasGetProperty(libraryPropertyType, int* value);
const char* cublasGetStatusString(cublasStatus_t);
cublasStatus_t cublasSgemm_64(cublasHandle_t, cublasOperation_t, cublasOperation_t, std::int64_t m,
                              std::int64_t n, std::int64_t k, const float* alpha, const float* a,
                              std::int64_t lda, const float* b, std::int64_t ldb, const float* beta,
                              float* c, std::int64_t ldc);
