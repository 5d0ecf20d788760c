// The part of cuSPARSE that Orrery's library uses, as plain loops on the emulated runtime.
#pragma once

#include <cuda_runtime.h>
#include <library_types.h>

enum cusparseStatus_t { CUSPARSE_STATUS_SUCCESS = 0, CUSPARSE_STATUS_INVALID_VALUE = 3 };
enum cusparseOperation_t { CUSPARSE_OPERATION_NON_TRANSPOSE = 0 };
enum cusparseIndexType_t { CUSPARSE_INDEX_32I = 2 };
enum cusparseIndexBase_t { CUSPARSE_INDEX_BASE_ZERO = 0 };
enum cusparseOrder_t { CUSPARSE_ORDER_ROW = 2 };
enum cusparseSpMMAlg_t { CUSPARSE_SPMM_CSR_ALG2 = 6, CUSPARSE_SPMM_CSR_ALG3 = 12 };

struct EmulatedSparse;
struct EmulatedSpMat;
struct EmulatedDnMat;
using cusparseHandle_t = EmulatedSparse*;
using cusparseSpMatDescr_t = EmulatedSpMat*;
using cusparseDnMatDescr_t = EmulatedDnMat*;

cusparseStatus_t cusparseCreate(cusparseHandle_t*);
cusparseStatus_t cusparseDestroy(cusparseHandle_t);
cusparseStatus_t cusparseSetStream(cusparseHandle_t, cudaStream_t);
cusparseStatus_t cusparseGetProperty(libraryPropertyType, int* value);
const char* cusparseGetErrorString(cusparseStatus_t);
cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t*, std::int64_t rows, std::int64_t cols,
                                   std::int64_t nnz, void* offsets, void* columns, void* values,
                                   cusparseIndexType_t, cusparseIndexType_t, cusparseIndexBase_t,
                                   cudaDataType);
cusparseStatus_t cusparseCsrSetPointers(cusparseSpMatDescr_t, void* offsets, void* columns,
                                        void* values);
cusparseStatus_t cusparseDestroySpMat(cusparseSpMatDescr_t);
cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t*, std::int64_t rows, std::int64_t cols,
                                     std::int64_t ld, void* values, cudaDataType, cusparseOrder_t);
cusparseStatus_t cusparseDnMatSetValues(cusparseDnMatDescr_t, void* values);
cusparseStatus_t cusparseDestroyDnMat(cusparseDnMatDescr_t);
cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
                                         const void* alpha, cusparseSpMatDescr_t,
                                         cusparseDnMatDescr_t, const void* beta,
                                         cusparseDnMatDescr_t, cudaDataType, cusparseSpMMAlg_t,
                                         std::size_t* bytes);
cusparseStatus_t cusparseSpMM_preprocess(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
                                         const void* alpha, cusparseSpMatDescr_t,
                                         cusparseDnMatDescr_t, const void* beta,
                                         cusparseDnMatDescr_t, cudaDataType, cusparseSpMMAlg_t,
                                         void* workspace);
cusparseStatus_t cusparseSpMM(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t,
                              const void* alpha, cusparseSpMatDescr_t, cusparseDnMatDescr_t,
                              const void* beta, cusparseDnMatDescr_t, cudaDataType,
                              cusparseSpMMAlg_t, void* workspace);
