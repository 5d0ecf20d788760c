// The part of NCCL that Orrery's library uses, among threads of one process (nccl.cpp).
#pragma once

#include <cuda_runtime.h>

enum ncclResult_t {
  ncclSuccess = 0,
  ncclSystemError = 2,
  ncclInvalidUsage = 5,
  ncclInProgress = 7,
};
enum ncclDataType_t { ncclUint8 = 1, ncclFloat32 = 7, ncclFloat64 = 8 };
enum ncclRedOp_t { ncclSum = 0 };
struct ncclUniqueId {
  char internal[128];
};
struct EmulatedComm;
using ncclComm_t = EmulatedComm*;

const char* ncclGetErrorString(ncclResult_t);
ncclResult_t ncclGetVersion(int*);
ncclResult_t ncclGetUniqueId(ncclUniqueId*);
ncclResult_t ncclCommInitRank(ncclComm_t*, int size, ncclUniqueId, int rank);
ncclResult_t ncclCommDestroy(ncclComm_t);
ncclResult_t ncclCommAbort(ncclComm_t);
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t*);
ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();
ncclResult_t ncclBroadcast(const void* x, void* y, std::size_t n, ncclDataType_t, int root,
                           ncclComm_t, cudaStream_t);
ncclResult_t ncclReduce(const void* x, void* y, std::size_t n, ncclDataType_t, ncclRedOp_t,
                        int root, ncclComm_t, cudaStream_t);
ncclResult_t ncclAllReduce(const void* x, void* y, std::size_t n, ncclDataType_t, ncclRedOp_t,
                           ncclComm_t, cudaStream_t);
ncclResult_t ncclReduceScatter(const void* x, void* y, std::size_t n_each, ncclDataType_t,
                               ncclRedOp_t, ncclComm_t, cudaStream_t);
ncclResult_t ncclAllGather(const void* x, void* y, std::size_t n_each, ncclDataType_t, ncclComm_t,
                           cudaStream_t);
ncclResult_t ncclSend(const void* x, std::size_t n, ncclDataType_t, int to, ncclComm_t,
                      cudaStream_t);
ncclResult_t ncclRecv(void* y, std::size_t n, ncclDataType_t, int from, ncclComm_t, cudaStream_t);
