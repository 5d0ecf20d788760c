// NCCL, thinly: one call each. Buffers of bytes go as bytes, sums as what they are.
#include "backends/cuda/device/nccl.cuh"

#include <nccl.h>

#include <cstring>

#include "backends/cuda/device/device.cuh"

struct OrreryNccl {
  ncclComm_t comm = nullptr;
  std::int32_t device = 0;
};

namespace orrery::cuda {
namespace {

void check(ncclResult_t result, const char* call) {
  if (result != ncclSuccess && result != ncclInProgress)
    throw Failure{kOrreryFailed, std::string(call) + " failed: " + ncclGetErrorString(result) +
                                     " (" + std::to_string(result) + ")"};
}

std::size_t count_of(std::int64_t n) { return static_cast<std::size_t>(n); }

ncclDataType_t type_of(OrreryDType dtype) {
  require(dtype == kOrreryF32 || dtype == kOrreryF64, "NCCL sums are of f32 or f64");
  return dtype == kOrreryF32 ? ncclFloat32 : ncclFloat64;
}

int unique_id(char id[128]) {
  return guarded([&] {
    ncclUniqueId made;
    static_assert(sizeof made.internal == 128);
    check(ncclGetUniqueId(&made), "ncclGetUniqueId");
    std::memcpy(id, made.internal, sizeof made.internal);
  });
}

int open(OrreryDevice* device, std::int32_t size, std::int32_t rank, const char id[128],
         OrreryNccl** out) {
  return guarded([&] {
    device->use();
    ncclUniqueId of_all;
    std::memcpy(of_all.internal, id, sizeof of_all.internal);
    ncclComm_t comm = nullptr;
    check(ncclCommInitRank(&comm, size, of_all, rank), "ncclCommInitRank");
    *out = new OrreryNccl{comm, device->number};
  });
}

void close(OrreryNccl* n) {
  if (n == nullptr) return;
  if (n->comm != nullptr) ncclCommDestroy(n->comm);
  delete n;
}

/// Ends hanging operations; the communicator is then gone.
void abort(OrreryNccl* n) {
  if (n->comm != nullptr) ncclCommAbort(n->comm);
  n->comm = nullptr;
}

int async_error(OrreryNccl* n) {
  return guarded([&] {
    ncclResult_t state = ncclSuccess;
    check(ncclCommGetAsyncError(n->comm, &state), "ncclCommGetAsyncError");
    check(state, "an NCCL operation");
  });
}

int group_start() {
  return guarded([] { check(ncclGroupStart(), "ncclGroupStart"); });
}
int group_end() {
  return guarded([] { check(ncclGroupEnd(), "ncclGroupEnd"); });
}

void broadcast(OrreryStream& s, OrreryNccl& n, void* x, std::int64_t bytes, std::int32_t root) {
  check(ncclBroadcast(x, x, count_of(bytes), ncclUint8, root, n.comm, s.stream), "ncclBroadcast");
}
void reduce(OrreryStream& s, OrreryNccl& n, OrreryDType type, void* x, std::int64_t count,
            std::int32_t root) {
  check(ncclReduce(x, x, count_of(count), type_of(type), ncclSum, root, n.comm, s.stream),
        "ncclReduce");
}
void all_reduce(OrreryStream& s, OrreryNccl& n, OrreryDType type, void* x, std::int64_t count) {
  check(ncclAllReduce(x, x, count_of(count), type_of(type), ncclSum, n.comm, s.stream),
        "ncclAllReduce");
}
void reduce_scatter(OrreryStream& s, OrreryNccl& n, OrreryDType type, const void* x, void* y,
                    std::int64_t each) {
  check(ncclReduceScatter(x, y, count_of(each), type_of(type), ncclSum, n.comm, s.stream),
        "ncclReduceScatter");
}
void all_gather(OrreryStream& s, OrreryNccl& n, const void* x, void* y, std::int64_t bytes_each) {
  check(ncclAllGather(x, y, count_of(bytes_each), ncclUint8, n.comm, s.stream), "ncclAllGather");
}
void send(OrreryStream& s, OrreryNccl& n, const void* x, std::int64_t bytes, std::int32_t to) {
  check(ncclSend(x, count_of(bytes), ncclUint8, to, n.comm, s.stream), "ncclSend");
}
void recv(OrreryStream& s, OrreryNccl& n, void* y, std::int64_t bytes, std::int32_t from) {
  check(ncclRecv(y, count_of(bytes), ncclUint8, from, n.comm, s.stream), "ncclRecv");
}

/// An operation of a communicator on a stream, as an entry of the table.
template <auto operation>
struct NcclEntry;
template <class... A, void (*operation)(OrreryStream&, OrreryNccl&, A...)>
struct NcclEntry<operation> {
  static int call(OrreryNccl* n, OrreryStream* s, A... arguments) {
    return guarded([&] {
      s->device.use();
      operation(*s, *n, arguments...);
    });
  }
};

}  // namespace

void add_nccl(OrreryCudaApi& table) {
  table.nccl_unique_id = unique_id;
  table.nccl_open = open;
  table.nccl_close = close;
  table.nccl_abort = abort;
  table.nccl_async_error = async_error;
  table.nccl_group_start = group_start;
  table.nccl_group_end = group_end;
  table.nccl_broadcast = NcclEntry<broadcast>::call;
  table.nccl_reduce = NcclEntry<reduce>::call;
  table.nccl_all_reduce = NcclEntry<all_reduce>::call;
  table.nccl_reduce_scatter = NcclEntry<reduce_scatter>::call;
  table.nccl_all_gather = NcclEntry<all_gather>::call;
  table.nccl_send = NcclEntry<send>::call;
  table.nccl_recv = NcclEntry<recv>::call;
}

int nccl_version() {
  int version = 0;
  return ncclGetVersion(&version) == ncclSuccess ? version : 0;
}

}  // namespace orrery::cuda
