#include "core/inference/sliced_graph.hpp"

#include "core/base/index.hpp"

namespace orrery {

void SlicedGraph::begin(int layer, std::int64_t width, std::int64_t own) {
  width_ = width;
  if (width == 0) return;
  rows_.begin(layer, WholeRows::shares_of(graphs_.layout(), width), [&](const PartRows& rows) {
    blocks_.clear();
    for (const RemoteGroup& group : rows.groups)
      blocks_.emplace_back(rt_, group.block, column_tiles_, "columns of the rank");
  });
  const TileLayout& layout = graphs_.layout();
  const std::int64_t rows = layout.rows(layout.part_of(rt_.rank())).count;
  partial_ = Buffer(rt_, {1, rows * width}, DType::f32, "scratch/partial sums of columns");
  if (layout.column_parts > 1)
    sum_ = Buffer(rt_, {rows, own}, DType::f32, "scratch/sums of columns");
}

void SlicedGraph::end() {
  if (width_ == 0) return;
  rows_.end();
  if (!graphs_.alike()) blocks_.clear();
  partial_ = {};
  sum_ = {};
}

void SlicedGraph::multiply(const Tensor& x, const Tensor& y, float beta) {
  if (width_ == 0) return;
  const TileLayout& layout = graphs_.layout();
  const std::int64_t n = x.rows();
  const auto partial = [&](int m) {
    const Share columns = layout.columns(width_, m);
    return partial_.tensor()
        .cols_at(n * columns.first, n * columns.count)
        .reshaped({n, columns.count});
  };
  if (blocks_.empty()) rt_.submit(Lane::compute, Fill{partial_.tensor(), 0});
  rows_.gather(x, [&](std::size_t g, const Tensor& whole) {
    for (int m = 0; m < layout.column_parts; ++m) {
      const Share columns = layout.columns(width_, m);
      if (columns.count > 0)
        blocks_[g].multiply(rt_, whole.cols_at(columns.first, columns.count), partial(m),
                            g == 0 ? 0.0F : 1.0F);
    }
  });
  Tensor sum = partial(0);
  if (layout.column_parts > 1) {
    auto slices = std::make_shared<std::vector<std::int64_t>>();
    for (int m = 0; m < layout.column_parts; ++m)
      slices->push_back(n * layout.columns(width_, m).count);
    sum = sum_.tensor();
    rt_.wait(Lane::comm, rt_.record(Lane::compute));
    rt_.submit(Lane::comm, ReduceScatter{partial_.tensor().reshaped({n * width_, 1}),
                                         sum.reshaped({sum.shape.size(), 1}), std::move(slices),
                                         layout.row_group(rt_.rank())});
    rt_.wait(Lane::compute, rt_.record(Lane::comm));
  }
  if (y.shape.size() > 0) rt_.submit(Lane::compute, Copy{sum, y, 1, beta != 0});
}

}  // namespace orrery
