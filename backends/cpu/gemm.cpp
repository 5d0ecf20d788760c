// Dense product by oneDNN or OpenBLAS, called on one thread per block of our own loop.
//
// The library's own threads would spin beside ours after every call, and its division of the inner
// sum would make results depend on their number.
#include <fmt/core.h>
#include <omp.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "backends/cpu/cpu_apply.hpp"
#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/units.hpp"

#ifdef ORRERY_HAVE_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#else
#include <cblas.h>
#endif

namespace orrery::cpu {
namespace {

/// c ← op(a)·op(b) + beta·c with op(a) [m, k], op(b) [k, n].
struct Product {
  std::int64_t m, n, k;
  bool transpose_a, transpose_b;
  Rows<const float> a, b;
  Rows<float> c;
  float beta;
};

/// Rows [begin, end) of c.
Product rows_of_product(const Product& p, std::int64_t begin, std::int64_t end) {
  Product part = p;
  part.m = end - begin;
  part.a.first += p.transpose_a ? begin : begin * p.a.ld;
  part.c.first = p.c.row(begin);
  return part;
}

/// The part of the sum over inner indices [begin, end), into `c` (contiguous).
Product inner_of_product(const Product& p, std::int64_t begin, std::int64_t end, float* c) {
  Product part = p;
  part.k = end - begin;
  part.a.first += p.transpose_a ? begin * p.a.ld : begin;
  part.b.first += p.transpose_b ? begin : begin * p.b.ld;
  part.c = {c, p.n};
  part.beta = 0;
  return part;
}

void multiply(const Product& p) {
  omp_set_num_threads(1);  // of this thread's calls
#ifdef ORRERY_HAVE_ONEDNN
  const auto status =
      dnnl_sgemm(p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', p.m, p.n, p.k, 1.0F,
                 p.a.first, p.a.ld, p.b.first, p.b.ld, p.beta, p.c.first, p.c.ld);
  if (status == dnnl_out_of_memory) throw std::bad_alloc();
  ORRERY_ASSERT(status == dnnl_success);
#else
  static const bool serial = (openblas_set_num_threads(1), true);
  ORRERY_ASSERT(serial);
  const auto extent = [](std::int64_t n) { return static_cast<blasint>(n); };
  cblas_sgemm(CblasRowMajor, p.transpose_a ? CblasTrans : CblasNoTrans,
              p.transpose_b ? CblasTrans : CblasNoTrans, extent(p.m), extent(p.n), extent(p.k),
              1.0F, p.a.first, extent(p.a.ld), p.b.first, extent(p.b.ld), p.beta, p.c.first,
              extent(p.c.ld));
#endif
}

/// to, [k, n] and contiguous, ← b transposed, from [n, k].
void transpose(const Rows<const float>& b, std::int64_t n, std::int64_t k, float* to) {
  constexpr std::int64_t kTile = 16;  // a line of the cache for each of its rows
  parallel_for(n, kTile, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = 0; j < k; j += kTile)
      for (std::int64_t r = begin; r < end; ++r)
        for (std::int64_t c = j; c < std::min(k, j + kTile); ++c) to[c * n + r] = b.row(r)[c];
  });
}

/// Blocks of c's rows, each about 16 MFLOP.
void by_rows(const Product& p) {
  const std::int64_t flops_per_row = 2 * p.n * p.k;
  const std::int64_t rows = std::max<std::int64_t>(64, (16'000'000 / flops_per_row + 15) / 16 * 16);
  parallel_for(p.m, rows, [&](std::int64_t begin, std::int64_t end) {
    multiply(rows_of_product(p, begin, end));
  });
}

/// Numbers (16 MiB) that stay with a thread between its products.
constexpr std::int64_t kMostKept = std::int64_t{4} << 20;

/// Room for numbers within one product. Up to kMostKept stay with the calling thread: fresh pages are
/// mapped when they are first touched, which would take as long as a part of the product.
class Scratch {
 public:
  explicit Scratch(std::int64_t floats) {
    thread_local std::unique_ptr<float[]> kept;
    thread_local std::int64_t kept_floats = 0;
    const auto take = [floats] {
      return std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(floats));
    };
    if (floats > kMostKept) {
      own_ = take();
    } else if (floats > kept_floats) {
      kept = take();
      kept_floats = floats;
    }
    first_ = own_ ? own_.get() : kept.get();
  }
  float* first() const { return first_; }

 private:
  std::unique_ptr<float[]> own_;
  float* first_ = nullptr;
};

/// The same with b transposed once before: every block would do that for itself, more slowly.
void by_rows_of_transposed(const Product& p) {
  const Scratch scratch(p.n * p.k);
  transpose(p.b, p.n, p.k, scratch.first());
  Product plain = p;
  plain.transpose_b = false;
  plain.b = {scratch.first(), p.n};
  by_rows(plain);
}

/// Numbers (4 MiB) of a product whose inner sum is cut: each block has a result of its own.
constexpr std::int64_t kMostSummed = std::int64_t{1} << 20;

/// At most 16 blocks of the inner sum; their results are added in order (for a weight gradient c is
/// small, and k is the number of vertices).
void by_inner_sum(const Product& p) {
  constexpr std::int64_t kMaxBlocks = 16;
  const std::int64_t block = std::max<std::int64_t>(1024, (p.k + kMaxBlocks - 1) / kMaxBlocks);
  const std::int64_t blocks = (p.k + block - 1) / block, size = p.m * p.n;
  const Scratch scratch(blocks * size);
  float* parts = scratch.first();
  parallel_for(p.k, block, [&](std::int64_t begin, std::int64_t end) {
    multiply(inner_of_product(p, begin, end, parts + begin / block * size));
  });
  parallel_for(p.m, rows_per_range(p.n), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      float* c = p.c.row(i);
      for (std::int64_t j = 0; j < p.n; ++j) c[j] = p.beta == 0 ? 0 : p.beta * c[j];
      for (std::int64_t b = 0; b < blocks; ++b) {
        const float* part = parts + b * size + i * p.n;
#pragma GCC ivdep
        for (std::int64_t j = 0; j < p.n; ++j) c[j] += part[j];
      }
    }
  });
}

/// c ← beta·c, the product over an empty inner extent.
void scale(const Product& p) {
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t j = 0; j < p.n; ++j) p.c.row(i)[j] = p.beta == 0 ? 0 : p.beta * p.c.row(i)[j];
}

#ifdef ORRERY_HAVE_ONEDNN
/// Has oneDNN generate its code for products now, while nobody else takes the memory that is free.
///
/// Errors    Error: `limit` bytes of address space do not suffice
void generate_code(rlim_t limit) {
  // Measured with oneDNN 2.6: 18 MB with AVX-512, 6 MB with AVX2.
  constexpr std::int64_t kCode = std::int64_t{32} << 20U;
  void* room = ::mmap(nullptr, kCode, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED)
    throw Error(
        fmt::format("oneDNN needs {} of address space for the code that it generates, and ulimit "
                    "-v grants {} in all: raise that, or set kernels to reference",
                    human_bytes(kCode), human_bytes(static_cast<double>(limit))));
  ::munmap(room, kCode);
  const std::vector<float> ones(16, 1);
  std::vector<float> product(16);
  const Rows<const float> operand{ones.data(), 4};
  const Rows<float> result{product.data(), 4};
  for (const std::int64_t m : {1, 4})
    for (const std::int64_t n : {1, 4})
      for (const bool transpose_a : {false, true})
        for (const bool transpose_b : {false, true})
          multiply({m, n, 1, transpose_a, transpose_b, operand, operand, result, 0});
}
#endif

}  // namespace

void prepare_products() {
#ifdef ORRERY_HAVE_ONEDNN
  // It writes the code without a look at whether it was granted memory for it.
  rlimit space{};
  if (::getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY) return;
  static const bool generated = (generate_code(space.rlim_cur), true);
  ORRERY_ASSERT(generated);
#endif
}

void apply(const Gemm& op, const RankMemory& memory, const RangeKernels&) {
  // The libraries require ld >= columns, which a window of one row need not have.
  const auto leading = [](const Tensor& t) { return std::max({t.ld, t.cols(), std::int64_t{1}}); };
  const Product p{.m = op.c.rows(),
                  .n = op.c.cols(),
                  .k = op.transpose_a ? op.a.rows() : op.a.cols(),
                  .transpose_a = op.transpose_a,
                  .transpose_b = op.transpose_b,
                  .a = {memory.data<float>(op.a), leading(op.a)},
                  .b = {memory.data<float>(op.b), leading(op.b)},
                  .c = {memory.data<float>(op.c), leading(op.c)},
                  .beta = op.beta};
  if (p.m == 0 || p.n == 0) return;
  if (p.k == 0)
    scale(p);
  else if (p.k >= 2048 && p.k >= 4 * p.m && p.m * p.n <= kMostSummed)
    by_inner_sum(p);
  else if (p.transpose_b && p.m >= 2048 && p.n * p.k <= kMostKept)
    by_rows_of_transposed(p);
  else
    by_rows(p);
}

}  // namespace orrery::cpu
