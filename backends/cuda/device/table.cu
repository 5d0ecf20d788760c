// The table of the C interface.
#include <cstring>
#include <memory>

#include "backends/cuda/device/device.cuh"
#include "backends/cuda/device/graph.cuh"
#include "backends/cuda/device/nccl.cuh"
#include "backends/cuda/device/ops.cuh"
#include "backends/cuda/device/pattern.cuh"

namespace orrery::cuda {
namespace {

/// An operation on a stream, as an entry of the table.
template <auto operation>
struct Entry;
template <class... A, void (*operation)(OrreryStream&, A...)>
struct Entry<operation> {
  static int call(OrreryStream* s, A... arguments) {
    return guarded([&] {
      s->device.use();
      operation(*s, arguments...);
    });
  }
};

/// Closes an object of the library: runs its destructor, on its device.
template <class T>
void close(T* object) {
  if (object == nullptr) return;
  guarded([&] { object->device.use(); });
  delete object;
}

// ---- devices ------------------------------------------------------------------------------------

int device_count(std::int32_t* count) {
  *count = 0;
  return guarded([&] {
    int found = 0;
    const cudaError_t error = cudaGetDeviceCount(&found);
    if (error == cudaSuccess) {
      *count = found;
      return;
    }
    cudaGetLastError();
    // No driver, or one that is too old, is no failure: there are no devices.
    set_last_error(std::string("no CUDA device: ") + cudaGetErrorString(error) + " (" +
                   std::to_string(static_cast<int>(error)) + ")");
  });
}

/// major·1000 + minor·10 of a library that tells them by number.
template <class Get>
std::int32_t version_of(Get get) {
  int major = 0, minor = 0;
  check(get(MAJOR_VERSION, &major), "a library's version");
  check(get(MINOR_VERSION, &minor), "a library's version");
  return major * 1000 + minor * 10;
}

int device_info(std::int32_t device, OrreryDeviceInfo* info) {
  return guarded([&] {
    *info = {};
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    static_assert(sizeof info->name == sizeof properties.name);
    std::memcpy(info->name, properties.name, sizeof info->name);
    check(cudaDeviceGetPCIBusId(info->pci_bus_id, sizeof info->pci_bus_id, device),
          "cudaDeviceGetPCIBusId");
    check(cudaSetDevice(device), "cudaSetDevice");
    std::size_t free_bytes = 0, total = 0;
    check(cudaMemGetInfo(&free_bytes, &total), "cudaMemGetInfo");
    info->memory_bytes = static_cast<std::int64_t>(total);
    info->free_bytes = static_cast<std::int64_t>(free_bytes);
    info->l2_bytes = properties.l2CacheSize;
    info->multiprocessors = properties.multiProcessorCount;
    info->capability_major = properties.major;
    info->capability_minor = properties.minor;
    info->memory_bus_bits = properties.memoryBusWidth;
    check(cudaDriverGetVersion(&info->driver_version), "cudaDriverGetVersion");
    check(cudaRuntimeGetVersion(&info->runtime_version), "cudaRuntimeGetVersion");
    info->cublas_version = version_of(cublasGetProperty);
    info->cusparse_version = version_of(cusparseGetProperty);
    info->nccl_version = nccl_version();
    check(cudaDeviceGetAttribute(&info->clock_khz, cudaDevAttrClockRate, device), "a clock rate");
    check(cudaDeviceGetAttribute(&info->memory_clock_khz, cudaDevAttrMemoryClockRate, device),
          "a clock rate");
  });
}

int device_open(std::int32_t device, std::int64_t arena_bytes, OrreryDevice** out) {
  return guarded([&] { *out = new OrreryDevice(device, arena_bytes); });
}

void device_close(OrreryDevice* device) {
  if (device == nullptr) return;
  guarded([&] { device->use(); });
  delete device;
}

int allocate(OrreryDevice* device, std::int64_t bytes, void** out) {
  return guarded([&] { *out = device->allocate(bytes); });
}
int release(OrreryDevice* device, void* p) {
  return guarded([&] { device->release(p); });
}
int device_memory(OrreryDevice* device, OrreryDeviceMemory* memory) {
  return guarded([&] { *memory = device->memory(); });
}
int allocate_pinned(OrreryDevice* device, std::int64_t bytes, void** out) {
  return guarded([&] { *out = device->allocate_pinned(bytes); });
}
int release_pinned(OrreryDevice* device, void* p) {
  return guarded([&] { device->release_pinned(p); });
}

// ---- streams and events -------------------------------------------------------------------------

template <class T>
int open_on(OrreryDevice* device, T** out) {
  return guarded([&] {
    device->use();
    *out = new T(*device);
  });
}

void sync(OrreryStream& s) { check(cudaStreamSynchronize(s.stream), "cudaStreamSynchronize"); }
void wait(OrreryStream& s, OrreryEvent* event) {
  check(cudaStreamWaitEvent(s.stream, event->event, 0), "cudaStreamWaitEvent");
}

int event_record(OrreryEvent* event, OrreryStream* s) {
  return guarded([&] {
    s->device.use();
    check(cudaEventRecord(event->event, s->stream), "cudaEventRecord");
  });
}

int event_done(OrreryEvent* event) {
  return guarded([&] {
    event->device.use();
    const cudaError_t error = cudaEventQuery(event->event);
    if (error == cudaErrorNotReady) throw Failure{kOrreryNotReady, "the event has not happened"};
    check(error, "cudaEventQuery");
  });
}

int event_sync(OrreryEvent* event) {
  return guarded([&] {
    event->device.use();
    check(cudaEventSynchronize(event->event), "cudaEventSynchronize");
  });
}

int event_seconds(OrreryEvent* from, OrreryEvent* to, double* seconds) {
  return guarded([&] {
    from->device.use();
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, from->event, to->event), "cudaEventElapsedTime");
    *seconds = 1e-3 * static_cast<double>(milliseconds);
  });
}

// ---- bytes and patterns -------------------------------------------------------------------------

void copy_bytes(OrreryStream& s, void* to, const void* from, std::int64_t bytes) {
  if (bytes == 0) return;
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, s.stream),
        "cudaMemcpyAsync");
}

void fill_bytes(OrreryStream& s, void* to, std::int32_t byte, std::int64_t bytes) {
  if (bytes == 0) return;
  check(cudaMemsetAsync(to, byte, static_cast<std::size_t>(bytes), s.stream), "cudaMemsetAsync");
}

void pattern_open(OrreryStream& s, std::int64_t rows, std::int64_t cols, std::int64_t nnz,
                  const std::int64_t* offsets, const std::int32_t* columns, OrreryPattern** out) {
  *out = new OrreryPattern(s, rows, cols, nnz, offsets, columns);
}

// ---- graphs -------------------------------------------------------------------------------------

void graph_begin(OrreryStream& s, std::int32_t words, OrreryGraph** out, const std::uint32_t** at) {
  *out = new OrreryGraph(s, words);
  *at = (*out)->words();
}
int graph_end(OrreryGraph* graph) {
  return guarded([&] {
    graph->device.use();
    graph->end();
  });
}
int graph_launch(OrreryGraph* graph, const std::uint32_t* words) {
  return guarded([&] {
    graph->device.use();
    graph->launch(words);
  });
}

OrreryCudaApi make_table() {
  OrreryCudaApi table{};
  table.version = kOrreryCudaVersion;
  table.last_error = last_error;
  table.device_count = device_count;
  table.device_info = device_info;
  table.device_open = device_open;
  table.device_close = device_close;
  table.allocate = allocate;
  table.release = release;
  table.device_memory = device_memory;
  table.allocate_pinned = allocate_pinned;
  table.release_pinned = release_pinned;
  table.stream_open = open_on<OrreryStream>;
  table.stream_close = close<OrreryStream>;
  table.stream_sync = Entry<sync>::call;
  table.event_open = open_on<OrreryEvent>;
  table.event_close = close<OrreryEvent>;
  table.event_record = event_record;
  table.stream_wait = Entry<wait>::call;
  table.event_done = event_done;
  table.event_sync = event_sync;
  table.event_seconds = event_seconds;
  table.copy_in = Entry<copy_bytes>::call;
  table.copy_out = Entry<copy_bytes>::call;
  table.copy_bytes = Entry<copy_bytes>::call;
  table.fill_bytes = Entry<fill_bytes>::call;
  table.pattern_open = Entry<pattern_open>::call;
  table.relabel = Entry<relabel>::call;
  table.pattern_transpose = Entry<pattern_transpose>::call;
  table.pattern_by_column = Entry<pattern_by_column>::call;
  table.pattern_close = close<OrreryPattern>;
  table.fill = Entry<fill>::call;
  table.copy = Entry<copy>::call;
  table.spmm = Entry<spmm>::call;
  table.gemm = Entry<gemm>::call;
  table.sddmm = Entry<sddmm>::call;
  table.edge_softmax = Entry<edge_softmax>::call;
  table.edge_softmax_backward = Entry<edge_softmax_backward>::call;
  table.gather_rows = Entry<gather_rows>::call;
  table.scatter_add_rows = Entry<scatter_add_rows>::call;
  table.activate = Entry<activate>::call;
  table.activate_backward = Entry<activate_backward>::call;
  table.column_sum = Entry<column_sum>::call;
  table.layer_norm = Entry<layer_norm>::call;
  table.layer_norm_backward = Entry<layer_norm_backward>::call;
  table.column_moments = Entry<column_moments>::call;
  table.batch_norm = Entry<batch_norm>::call;
  table.batch_norm_backward = Entry<batch_norm_backward>::call;
  table.loss = Entry<loss>::call;
  table.score = Entry<score>::call;
  table.sgd = Entry<sgd>::call;
  table.adam = Entry<adam>::call;
  table.add = Entry<add>::call;
  table.graph_begin = Entry<graph_begin>::call;
  table.graph_end = graph_end;
  table.graph_launch = graph_launch;
  table.graph_close = close<OrreryGraph>;
  add_nccl(table);
  return table;
}

}  // namespace
}  // namespace orrery::cuda

extern "C" __attribute__((visibility("default"))) const OrreryCudaApi* orrery_cuda_api(
    int32_t version) {
  static const OrreryCudaApi table = orrery::cuda::make_table();
  return version == kOrreryCudaVersion ? &table : nullptr;
}
