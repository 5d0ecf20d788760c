// The edges of a batch that were drawn between vertices: numbers for these, and the transpose.
#include "backends/cuda/device/launch.cuh"
#include "backends/cuda/device/ops.cuh"
#include "backends/cuda/device/pattern.cuh"

namespace orrery::cuda {
namespace {

constexpr unsigned kThreads = 256;

__device__ __forceinline__ std::int64_t thread_number() {
  return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
dim3 blocks_for(std::int64_t n) { return dim3{extent(ceil_div(n, kThreads)), 1, 1}; }

/// Fibonacci hashing: a slot of 2^bits. Without bits all vertices begin in the first one.
__device__ __forceinline__ std::int64_t first_slot(std::int32_t vertex, int bits) {
  const std::uint64_t product =
      static_cast<std::uint64_t>(static_cast<std::uint32_t>(vertex)) * 0x9E3779B97F4A7C15ULL;
  return bits == 0 ? 0 : static_cast<std::int64_t>(product >> (64 - bits));
}

/// Slots hold places in the list, which are distinct: which thread finds a slot first decides where a
/// place is kept, but not what is found later.
__global__ void keep_places(const std::int32_t* vertices, std::int64_t count, std::int32_t* table,
                            int bits) {
  const std::int64_t i = thread_number();
  if (i >= count) return;
  const std::int64_t mask = (std::int64_t{1} << bits) - 1;
  std::int64_t slot = first_slot(vertices[i], bits);
  while (atomicCAS(&table[slot], -1, static_cast<std::int32_t>(i)) != -1) slot = (slot + 1) & mask;
}

__global__ void look_up(const std::int32_t* vertices, const std::int32_t* table, int bits,
                        std::int32_t* columns, std::int64_t nnz) {
  const std::int64_t e = thread_number();
  if (e >= nnz) return;
  const std::int64_t mask = (std::int64_t{1} << bits) - 1;
  const std::int32_t vertex = columns[e];
  std::int64_t slot = first_slot(vertex, bits);
  std::int32_t place = table[slot];
  while (place >= 0 && vertices[place] != vertex) {  // at least one slot is empty
    slot = (slot + 1) & mask;
    place = table[slot];
  }
  columns[e] = place;
}

/// The first of `n` ascending numbers that is at least `number`.
template <class T>
__device__ __forceinline__ std::int64_t lower_bound(const T* ascending, std::int64_t n,
                                                    std::int64_t number) {
  std::int64_t low = 0;
  while (low < n) {
    const std::int64_t middle = (low + n) / 2;
    if (ascending[middle] < number)
      low = middle + 1;
    else
      n = middle;
  }
  return low;
}

__global__ void offsets_of(const std::int32_t* sorted, std::int64_t nnz, std::int64_t* offsets,
                           std::int64_t count) {
  const std::int64_t i = thread_number();
  if (i < count) offsets[i] = lower_bound(sorted, nnz, i);
}

/// Entry p of the transpose is entry source[p] of the pattern, in its row. It takes what that entry has:
/// of_entry(e).
template <class T, class OfEntry>
__global__ void place_entries(const std::int64_t* offsets, std::int64_t rows, OfEntry of_entry,
                              const std::int32_t* source, std::int64_t nnz, std::int32_t* t_columns,
                              T* placed) {
  const std::int64_t p = thread_number();
  if (p >= nnz) return;
  const std::int64_t e = source[p];
  t_columns[p] = static_cast<std::int32_t>(lower_bound(offsets + 1, rows, e + 1));
  placed[p] = of_entry(e);
}

struct ValueOf {
  const float* values;
  __device__ float operator()(std::int64_t e) const { return values[e]; }
};
struct NumberOf {
  __device__ std::int32_t operator()(std::int64_t e) const { return static_cast<std::int32_t>(e); }
};

template <class T, class OfEntry>
void transpose_with(OrreryStream& s, const std::int64_t* offsets, const std::int32_t* columns,
                    OfEntry of_entry, const Extents& of, std::int64_t* t_offsets,
                    std::int32_t* t_columns, T* placed) {
  require(of.nnz < std::int64_t{1} << 31U, "a pattern of 2^31 entries or more is not transposed");
  SortedRows sorted{};
  if (of.nnz > 0) sorted = sort_rows(s, columns, of.nnz);
  launch(s, offsets_of, blocks_for(of.cols + 1), dim3{kThreads, 1, 1},
         static_cast<const std::int32_t*>(sorted.index), of.nnz, t_offsets, of.cols + 1);
  launch(s, place_entries<T, OfEntry>, blocks_for(of.nnz), dim3{kThreads, 1, 1}, offsets, of.rows,
         of_entry, static_cast<const std::int32_t*>(sorted.source), of.nnz, t_columns, placed);
}

}  // namespace

void relabel(OrreryStream& s, OrreryPattern* a, const std::int32_t* vertices, std::int64_t count,
             std::int32_t* table, std::int64_t slots) {
  int bits = 0;
  while (std::int64_t{1} << bits < slots) ++bits;
  require(std::int64_t{1} << bits == slots && slots > count,
          "relabel: the table must have a power of two of slots, more than there are vertices");
  require(a->cols == count, "relabel: the list must have a vertex for each column");
  check(cudaMemsetAsync(table, 0xFF, static_cast<std::size_t>(slots) * sizeof(std::int32_t),
                        s.stream),
        "cudaMemsetAsync of a table");
  launch(s, keep_places, blocks_for(count), dim3{kThreads, 1, 1}, vertices, count, table, bits);
  launch(s, look_up, blocks_for(a->nnz), dim3{kThreads, 1, 1}, vertices,
         static_cast<const std::int32_t*>(table), bits, a->columns(), a->nnz);
}

void transpose(OrreryStream& s, const std::int64_t* offsets, const std::int32_t* columns,
               const float* values, const Extents& of, std::int64_t* t_offsets,
               std::int32_t* t_columns, float* t_values) {
  transpose_with(s, offsets, columns, ValueOf{values}, of, t_offsets, t_columns, t_values);
}

void transpose(OrreryStream& s, const std::int64_t* offsets, const std::int32_t* columns,
               const Extents& of, std::int64_t* t_offsets, std::int32_t* t_columns,
               std::int32_t* order) {
  transpose_with(s, offsets, columns, NumberOf{}, of, t_offsets, t_columns, order);
}

}  // namespace orrery::cuda
