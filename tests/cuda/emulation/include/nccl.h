// The part of NCCL's interface that the CUDA library uses, for ranks that are threads.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

struct EmulatedNccl;
using ncclComm_t = EmulatedNccl*;

enum ncclResult_t { ncclSuccess = 0, ncclInvalidUsage = 5, ncclInProgress = 7 };
enum ncclDataType_t { ncclUint8 = 1, ncclFloat32 = 7, ncclFloat64 = 8 };
enum ncclRedOp_t { ncclSum = 0 };
struct ncclUniqueId {
  char internal[128];
};

const char* ncclGetErrorString(ncclResult_t);
ncclResult_t ncclGetVersion(int* version);
ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int size, ncclUniqueId id, int rank);
ncclResult_t ncclCommDestroy(ncclComm_t);
ncclResult_t ncclCommAbort(ncclComm_t);
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* state);
ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();
ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t, int root,
                           ncclComm_t, cudaStream_t);
ncclResult_t ncclReduce(const void* from, void* to, std::size_t count, ncclDataType_t, ncclRedOp_t,
                        int root, ncclComm_t, cudaStream_t);
ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t,
                           ncclRedOp_t, ncclComm_t, cudaStream_t);
ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count_each, ncclDataType_t,
                               ncclRedOp_t, ncclComm_t, cudaStream_t);
ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count_each, ncclDataType_t,
                           ncclComm_t, cudaStream_t);
ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t, int to, ncclComm_t,
                      cudaStream_t);
ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t, int from, ncclComm_t,
                      cudaStream_t);
