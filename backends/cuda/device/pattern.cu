#include "backends/cuda/device/pattern.cuh"

#include "backends/cuda/device/cusparse_plans.cuh"
#include "backends/cuda/device/ops.cuh"
#include "backends/cuda/device/spmm_choice.hpp"

using orrery::cuda::Beside;

namespace {

template <class T>
void upload(OrreryStream& s, T* to, const T* from, std::int64_t count) {
  if (count > 0)
    orrery::cuda::check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(count) * sizeof(T),
                                        cudaMemcpyDefault, s.stream),
                        "cudaMemcpyAsync of a pattern");
}

template <class T>
Beside uploaded(OrreryStream& s, const std::vector<T>& from) {
  const auto count = static_cast<std::int64_t>(from.size());
  Beside to(s.device, count * static_cast<std::int64_t>(sizeof(T)));
  upload(s, to.as<T>(), from.data(), count);
  return to;
}

}  // namespace

OrreryPattern::OrreryPattern(OrreryDevice& on, std::int64_t row_count, std::int64_t col_count,
                             std::int64_t entries)
    : device(on),
      rows(row_count),
      cols(col_count),
      nnz(entries),
      plans(std::make_unique<orrery::cuda::CusparsePlans>()) {
  orrery::cuda::require(rows < std::int64_t{1} << 31U,
                        "a sparse pattern on a device has less than 2^31 rows: use more ranks");
  offsets_ = static_cast<std::int64_t*>(device.allocate((rows + 1) * 8));
  try {
    columns_ = static_cast<std::int32_t*>(device.allocate(nnz * 4));
  } catch (...) {
    device.release(offsets_);
    throw;
  }
}

void OrreryPattern::prepare(OrreryStream& s, const std::int64_t* offsets) {
  const orrery::cuda::Preparation work = orrery::cuda::prepare(rows, offsets);
  pieces_ = uploaded(s, work.pieces);
  long_rows_ = uploaded(s, work.long_rows);
  other_rows_ = uploaded(s, work.rows);
  longest = work.longest;
  orrery::cuda::check(cudaStreamSynchronize(s.stream), "cudaStreamSynchronize");
  const auto count = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
  view = {offsets_,
          columns_,
          pieces_.as<orrery::cuda::Preparation::Piece>(),
          long_rows_.as<orrery::cuda::Preparation::LongRow>(),
          other_rows_.as<std::int32_t>(),
          count(work.pieces),
          count(work.long_rows),
          count(work.rows)};
}

OrreryPattern::OrreryPattern(OrreryStream& s, std::int64_t row_count, std::int64_t col_count,
                             std::int64_t entries, const std::int64_t* offsets,
                             const std::int32_t* columns)
    : OrreryPattern(s.device, row_count, col_count, entries) {
  upload(s, offsets_, offsets, rows + 1);
  upload(s, columns_, columns, nnz);
  prepare(s, offsets);
}

OrreryPattern::OrreryPattern(OrreryStream& s, const OrreryPattern& of, const float* values,
                             float* t_values)
    : OrreryPattern(s.device, of.cols, of.rows, of.nnz) {
  orrery::cuda::transpose(s, of.view.offsets, of.view.columns, values, {of.rows, of.cols, of.nnz},
                          offsets_, columns_, t_values);
  prepare(s);
}

OrreryPattern::OrreryPattern(OrreryStream& s, const OrreryPattern& of, std::int32_t* order)
    : OrreryPattern(s.device, of.cols, of.rows, of.nnz) {
  orrery::cuda::transpose(s, of.view.offsets, of.view.columns, {of.rows, of.cols, of.nnz}, offsets_,
                          columns_, order);
  prepare(s);
}

OrreryPattern::OrreryPattern(OrreryStream& s, const OrreryPattern& rows_of, std::int64_t col_count,
                             const std::int32_t* columns)
    : OrreryPattern(s.device, rows_of.rows, col_count, rows_of.nnz) {
  upload(s, offsets_, rows_of.offsets_, rows + 1);
  upload(s, columns_, columns, nnz);
  prepare(s);
}

void OrreryPattern::prepare(OrreryStream& s) {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(rows) + 1);
  orrery::cuda::check(
      cudaMemcpyAsync(offsets.data(), offsets_, offsets.size() * sizeof(std::int64_t),
                      cudaMemcpyDefault, s.stream),
      "cudaMemcpyAsync of a pattern");
  orrery::cuda::check(cudaStreamSynchronize(s.stream), "cudaStreamSynchronize");
  prepare(s, offsets.data());
}

OrreryPattern::~OrreryPattern() {
  device.release(offsets_);
  device.release(columns_);
}

namespace orrery::cuda {

void pattern_transpose(OrreryStream& s, const OrreryPattern* a, const float* values,
                       float* t_values, OrreryPattern** out) {
  *out = new OrreryPattern(s, *a, values, t_values);
}

void pattern_by_column(OrreryStream& s, const OrreryPattern* a, std::int32_t* order,
                       OrreryPattern** t, OrreryPattern** by_column) {
  auto transposed = std::make_unique<OrreryPattern>(s, *a, order);
  *by_column = new OrreryPattern(s, *transposed, a->nnz, order);
  *t = transposed.release();
}

void spmm(OrreryStream& s, const OrreryPattern* a, const float* values, std::int64_t heads,
          OrreryMatrix x, OrreryMatrix y, float beta, OrrerySpmmBy by) {
  require(a->rows == y.rows && a->cols == x.rows && x.cols == y.cols,
          "spmm: the extents of a, x and y do not fit together");
  require(heads >= 1 && x.cols % heads == 0, "spmm: heads must divide the columns of x");
  require(heads == 1 || by == kOrrerySpmmChosen || by == kOrrerySpmmOwn,
          "spmm: cuSPARSE takes one value per entry: use the library's own product");
  if (y.rows == 0 || y.cols == 0) return;
  switch (by) {
    case kOrrerySpmmChosen:
      if (!prefer_own({a->rows, a->nnz, a->longest, x.cols, heads, values != nullptr}))
        return spmm_cusparse(s, *a, values, x, y, beta, true);
      [[fallthrough]];
    case kOrrerySpmmOwn:
      return spmm_own(s, *a, values, heads, x, y, beta);
    case kOrrerySpmmCusparse:
      return spmm_cusparse(s, *a, values, x, y, beta, false);
    case kOrrerySpmmCusparseRepeatable:
      return spmm_cusparse(s, *a, values, x, y, beta, true);
  }
  throw Failure{kOrreryFailed, "spmm: unknown product"};
}

}  // namespace orrery::cuda
