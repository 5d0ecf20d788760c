/* What liborrery_cuda.so offers, in C, so that no program links CUDA: one table of functions, found
 * by dlopen.
 *
 * A device is opened once per rank. Work goes to streams, in order within one; events order
 * streams. Nothing below waits for the device unless it says so. Functions return a code of
 * OrreryCudaStatus; last_error() of the calling thread then says what failed. Matrices are windows
 * in device memory, row-major: element (i, j) at data[i * ld + j]. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { kOrreryCudaVersion = 8 }; /* of this interface; both sides must agree */

typedef enum {
  kOrreryOk = 0,
  kOrreryFailed = 1,
  kOrreryOutOfMemory = 2, /* the arena, or the device, has no room */
  kOrreryNotReady = 3     /* event_done: not yet */
} OrreryCudaStatus;

typedef enum { kOrreryF32 = 0, kOrreryI32 = 1, kOrreryF64 = 2, kOrreryF16 = 3 } OrreryDType;

typedef struct OrreryDevice OrreryDevice;   /* one rank's use of a GPU: arena, libraries */
typedef struct OrreryStream OrreryStream;   /* a CUDA stream with library handles and workspace */
typedef struct OrreryEvent OrreryEvent;     /* with timing */
typedef struct OrreryPattern OrreryPattern; /* CSR on the device, prepared for products */
typedef struct OrreryNccl OrreryNccl;       /* one NCCL communicator */
typedef struct OrreryGraph OrreryGraph;     /* work of one stream that is launched as one */

typedef struct {
  char name[256], pci_bus_id[32];
  int64_t memory_bytes, free_bytes, l2_bytes;
  int32_t multiprocessors, capability_major, capability_minor;
  int32_t driver_version, runtime_version, cublas_version, cusparse_version, nccl_version;
  int32_t clock_khz, memory_clock_khz, memory_bus_bits;
} OrreryDeviceInfo;

typedef struct { /* of one device of this library, in bytes */
  int64_t arena_bytes, in_use_bytes, peak_bytes, largest_hole_bytes;
  int64_t beside_bytes; /* device memory of the library's own: workspaces, prepared patterns */
  int64_t pinned_bytes;
} OrreryDeviceMemory;

typedef struct {
  void* data;
  int64_t rows, cols, ld;
  OrreryDType dtype;
} OrreryMatrix;

typedef struct { /* a number that is another one at every launch of a graph */
  uint32_t value;
  const uint32_t* at; /* where not null: on the device, read instead of `value` by the kernel */
} OrreryVarying;

typedef struct { /* as Dropout of core/ops/ops.hpp; row_ids [n, 1] i32 contiguous on the device */
  double p;
  uint64_t seed;
  OrreryVarying epoch;
  uint32_t layer;
  const int32_t* row_ids; /* null: nothing is dropped */
  int64_t col0;
} OrreryDropout;

typedef enum {
  kOrrerySpmmChosen = 0, /* one of the repeatable ones, by the pattern's counts and the width */
  kOrrerySpmmOwn = 1,
  kOrrerySpmmCusparse = 2, /* its fastest for row-major matrices: bits may differ between runs */
  kOrrerySpmmCusparseRepeatable = 3
} OrrerySpmmBy;
typedef enum { kOrreryNoActivation = 0, kOrreryRelu = 1, kOrreryElu = 2 } OrreryActivation;
typedef enum { kOrrerySoftmax = 0, kOrrerySigmoid = 1 } OrreryLossKind;

typedef struct {
  int32_t version;
  const char* (*last_error)(void);

  /* 0 devices, with last_error() saying why, where there is no driver. */
  int (*device_count)(int32_t* count);
  int (*device_info)(int32_t device, OrreryDeviceInfo* info);
  /* arena_bytes are reserved at once; allocations come out of them. */
  int (*device_open)(int32_t device, int64_t arena_bytes, OrreryDevice** out);
  void (*device_close)(OrreryDevice*);
  int (*allocate)(OrreryDevice*, int64_t bytes,
                  void** out); /* 256-byte aligned; not ordered by streams: the caller
                                  frees what no queued work uses any more */
  int (*release)(OrreryDevice*, void*);
  int (*device_memory)(OrreryDevice*, OrreryDeviceMemory* memory);
  int (*allocate_pinned)(OrreryDevice*, int64_t bytes, void** out);
  int (*release_pinned)(OrreryDevice*, void*);

  int (*stream_open)(OrreryDevice*, OrreryStream** out);
  void (*stream_close)(OrreryStream*);
  int (*stream_sync)(OrreryStream*); /* waits */
  int (*event_open)(OrreryDevice*, OrreryEvent** out);
  void (*event_close)(OrreryEvent*);
  int (*event_record)(OrreryEvent*, OrreryStream*);
  int (*stream_wait)(OrreryStream*, OrreryEvent*);
  int (*event_done)(OrreryEvent*); /* kOrreryOk or kOrreryNotReady */
  int (*event_sync)(OrreryEvent*); /* waits */
  int (*event_seconds)(OrreryEvent* from, OrreryEvent* to, double* seconds);

  /* Bytes between host and device; host memory that is not pinned makes them wait. */
  int (*copy_in)(OrreryStream*, void* device, const void* host, int64_t bytes);
  int (*copy_out)(OrreryStream*, void* host, const void* device, int64_t bytes);
  int (*copy_bytes)(OrreryStream*, void* to, const void* from,
                    int64_t bytes); /* device to device */
  int (*fill_bytes)(OrreryStream*, void* device, int32_t byte, int64_t bytes);

  /* Copies a pattern to the device and prepares it (rows by length, for own products). offsets
   * [rows + 1], columns [nnz] on the host; may wait. */
  int (*pattern_open)(OrreryStream*, int64_t rows, int64_t cols, int64_t nnz,
                      const int64_t* offsets, const int32_t* columns, OrreryPattern** out);
  /* Columns that are vertices[i] become i, for i in [0, count); all are among the distinct vertices.
   * table [slots] is scratch, slots a power of two above count. */
  int (*relabel)(OrreryStream*, OrreryPattern*, const int32_t* vertices, int64_t count,
                 int32_t* table, int64_t slots);
  /* The transpose with its values, prepared like the pattern; entries of a row in the order of the
   * pattern's rows. Waits. */
  int (*pattern_transpose)(OrreryStream*, const OrreryPattern*, const float* values,
                           float* t_values, OrreryPattern** out);
  /* The transpose, for each of its entries the number that it has in the pattern, and the pattern
   * whose row j has these numbers of column j. Both are prepared. Waits. */
  int (*pattern_by_column)(OrreryStream*, const OrreryPattern*, int32_t* order, OrreryPattern** t,
                           OrreryPattern** by_column);
  void (*pattern_close)(OrreryPattern*);

  /* The local operations, as core/ops/ops.hpp defines them. */
  int (*fill)(OrreryStream*, OrreryMatrix y, double value);
  int (*copy)(OrreryStream*, OrreryMatrix x, OrreryMatrix y, float scale, int32_t accumulate);
  /* values [nnz, heads], or null: ones. cuSPARSE knows one head only. */
  int (*spmm)(OrreryStream*, const OrreryPattern*, const float* values, int64_t heads,
              OrreryMatrix x, OrreryMatrix y, float beta, OrrerySpmmBy by);
  int (*gemm)(OrreryStream*, OrreryMatrix a, OrreryMatrix b, OrreryMatrix c, int32_t transpose_a,
              int32_t transpose_b, float beta, int32_t tf32);
  /* dots [nnz, heads]. */
  int (*sddmm)(OrreryStream*, const OrreryPattern*, OrreryMatrix x, OrreryMatrix z, float* dots,
               int64_t heads);
  /* weights, gradient, own [nnz, heads]; left.data, right.data, dleft.data null: scores are
   * scale * weights. own null: left + right alone. */
  int (*edge_softmax)(OrreryStream*, const OrreryPattern*, float* weights, int64_t heads,
                      OrreryMatrix left, OrreryMatrix right, const float* own, float slope,
                      float scale);
  int (*edge_softmax_backward)(OrreryStream*, const OrreryPattern*, const float* weights,
                               float* gradient, int64_t heads, OrreryMatrix left,
                               OrreryMatrix right, const float* own, OrreryMatrix dleft,
                               float slope, float scale);
  int (*gather_rows)(OrreryStream*, OrreryMatrix x, const int32_t* index, OrreryMatrix y);
  /* Sums in the order of i, so that results are repeatable; max_repeats: how often one index occurs
   * at most where known, 0 where not (1 lets rows be added at once). */
  int (*scatter_add_rows)(OrreryStream*, OrreryMatrix x, const int32_t* index, OrreryMatrix y,
                          int64_t max_repeats);
  int (*activate)(OrreryStream*, OrreryMatrix x, const float* bias /* or null */, OrreryMatrix y,
                  OrreryActivation, OrreryDropout dropout);
  int (*activate_backward)(OrreryStream*, OrreryMatrix dy, const float* y /* or null */,
                           int64_t ld_y, OrreryMatrix dx, OrreryActivation, OrreryDropout dropout);
  int (*column_sum)(OrreryStream*, OrreryMatrix x, float* y, float beta);
  int (*layer_norm)(OrreryStream*, OrreryMatrix x, const float* gain, const float* shift,
                    OrreryMatrix normalised, float* rstd, OrreryMatrix y);
  int (*layer_norm_backward)(OrreryStream*, OrreryMatrix dy, OrreryMatrix normalised,
                             const float* rstd, const float* gain, OrreryMatrix dx, float* dgain,
                             float* dshift);
  /* sum, product [cols], both f32 or both f64. */
  int (*column_moments)(OrreryStream*, OrreryMatrix x, OrreryMatrix z, OrreryDType sums, void* sum,
                        void* product);
  /* moments and normalised.data: both null in an evaluation. */
  int (*batch_norm)(OrreryStream*, OrreryMatrix x, const double* moments, OrreryMatrix averages,
                    const float* gain, const float* shift, OrreryMatrix normalised, OrreryMatrix y);
  int (*batch_norm_backward)(OrreryStream*, OrreryMatrix dy, OrreryMatrix normalised,
                             const double* moments, const float* sums, const float* gain,
                             OrreryMatrix dx, int64_t counted);
  /* weights: of each target, or null: 1. */
  int (*loss)(OrreryStream*, OrreryLossKind, OrreryMatrix logits, const int32_t* labels,
              int64_t ld_labels, const int32_t* targets, int64_t target_count, const float* weights,
              OrreryMatrix grad, double* loss, double scale, double weight, int32_t accumulate);
  int (*score)(OrreryStream*, OrreryLossKind, OrreryMatrix logits, const int32_t* labels,
               int64_t ld_labels, const int32_t* targets, int64_t target_count, double* counts,
               int32_t accumulate);
  int (*sgd)(OrreryStream*, float* w, const float* g, int64_t n, float rate, float decay);
  /* correction1, correction2: bits of the floats 1 - beta1^step and 1 - beta2^step. */
  int (*adam)(OrreryStream*, float* w, const float* g, float* m, float* v, int64_t n, float rate,
              float decay, float beta1, float beta2, float epsilon, OrreryVarying correction1,
              OrreryVarying correction2);
  /* y[i] += x[i], f32 or f64: sums of collectives between ranks that share a GPU. */
  int (*add)(OrreryStream*, OrreryDType, const void* x, void* y, int64_t n);

  /* A graph: what the stream is asked for between begin and end is kept instead of done. Local
   * operations only, each asked for on this stream before with the same arguments, so that nothing
   * is left to be prepared. What varies lies in `words` numbers on the device, which every launch
   * sets anew; `at` is the first. */
  int (*graph_begin)(OrreryStream*, int32_t words, OrreryGraph** out, const uint32_t** at);
  int (*graph_end)(OrreryGraph*);
  int (*graph_launch)(OrreryGraph*, const uint32_t* words); /* on the stream it began on */
  void (*graph_close)(OrreryGraph*);                        /* waits for its last launch */

  /* NCCL: null entries where the library was built without it. The id is made by one rank and given
   * to the others. */
  int (*nccl_unique_id)(char id[128]);
  int (*nccl_open)(OrreryDevice*, int32_t size, int32_t rank, const char id[128],
                   OrreryNccl** out); /* waits for all */
  void (*nccl_close)(OrreryNccl*);
  void (*nccl_abort)(OrreryNccl*);
  int (*nccl_async_error)(OrreryNccl*); /* kOrreryOk while nothing has failed */
  int (*nccl_group_start)(void);
  int (*nccl_group_end)(void);
  int (*nccl_broadcast)(OrreryNccl*, OrreryStream*, void* x, int64_t bytes, int32_t root);
  int (*nccl_reduce)(OrreryNccl*, OrreryStream*, OrreryDType, void* x, int64_t n, int32_t root);
  int (*nccl_all_reduce)(OrreryNccl*, OrreryStream*, OrreryDType, void* x, int64_t n);
  int (*nccl_reduce_scatter)(OrreryNccl*, OrreryStream*, OrreryDType, const void* x, void* y,
                             int64_t n_each);
  int (*nccl_all_gather)(OrreryNccl*, OrreryStream*, const void* x, void* y, int64_t bytes_each);
  int (*nccl_send)(OrreryNccl*, OrreryStream*, const void* x, int64_t bytes, int32_t to);
  int (*nccl_recv)(OrreryNccl*, OrreryStream*, void* y, int64_t bytes, int32_t from);
} OrreryCudaApi;

/* The one exported symbol.   Returns null where `version` is not that of the library. */
const OrreryCudaApi* orrery_cuda_api(int32_t version);

#ifdef __cplusplus
}
#endif
