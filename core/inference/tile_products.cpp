#include "core/inference/tile_products.hpp"

#include <algorithm>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/inference/exchanged_graph.hpp"
#include "core/inference/fetched_rows.hpp"
#include "core/inference/sliced_graph.hpp"

namespace orrery {
namespace {

/// Rows of a product in place that are computed at a time: their result stays in a cache.
constexpr std::int64_t kRowsOfBlock = 4096;

Products::Columns as_columns(const Share& share) { return {share.first, share.count}; }

/// y ← x, or y + x if beta is 1.
void put(Runtime& rt, const Tensor& x, const Tensor& y, float beta) {
  if (y.shape.size() > 0) rt.submit(Lane::compute, Copy{x, y, 1, beta != 0});
}

}  // namespace

std::unique_ptr<TileSum> make_tile_sum(Runtime& rt, const LayerGraphs& graphs,
                                       const InferenceConfig& config, int column_tiles) {
  switch (config.spmm) {
    case SparseProduct::ids_then_rows:
      return std::make_unique<FetchedRows>(rt, graphs, config, column_tiles);
    case SparseProduct::exchange_graph:
      return std::make_unique<ExchangedGraph>(rt, graphs, column_tiles);
    case SparseProduct::two_d:
      return std::make_unique<SlicedGraph>(rt, graphs, config, column_tiles);
  }
  ORRERY_ASSERT(false && "no such product");
  return nullptr;
}

TileProducts::TileProducts(Runtime& rt, const LayerGraphs& graphs, const InferenceConfig& config,
                           int column_tiles)
    : Products(rt),
      graphs_(graphs),
      config_(config),
      sum_(make_tile_sum(rt, graphs, config, column_tiles)) {}

std::int64_t TileProducts::rows(int) const { return layout().rows(part()).count; }

Products::Columns TileProducts::columns(std::int64_t width) const {
  return as_columns(layout().columns(width, share()));
}

Tensor TileProducts::row_ids() const {
  ORRERY_ASSERT(false && "an inference has no dropout");
  return {};
}

void TileProducts::prepare(std::int64_t, std::int64_t) {
  ORRERY_ASSERT(false && "begin() makes room, layer by layer");
}

void TileProducts::aggregate_adjoint(int, const Tensor&, const Tensor&, float) {
  ORRERY_ASSERT(false && "an inference has no backward pass");
}

// ---- a layer -----------------------------------------------------------------------------------

void TileProducts::begin(int layer, const LayerWidths& widths) {
  std::int64_t own = columns(widths.aggregated).count;
  if (config_.sum_columns > 0) {
    own = std::min<std::int64_t>(own, config_.sum_columns);
    if (own > 0) piece_ = Buffer(rt_, {rows(0), own}, DType::f32, "scratch/columns of a sum");
    block_ = Buffer(rt_, {std::min(rows(0), kRowsOfBlock), widths.out}, DType::f32,
                    "scratch/rows of a product");
  }
  if (!sums_input_) sum_->begin(layer, widths.aggregated, own);
  make_room(widths);
  if (!sums_input_) sum_->set_out();
}

void TileProducts::give_room_back() {
  for (auto* rooms : {&tile_in_, &tile_out_})
    for (Buffer& room : *rooms) room = {};
  whole_ = {};
  piece_ = {};
  block_ = {};
}

void TileProducts::end() {
  if (!sums_input_) sum_->end();
  give_room_back();
}

void TileProducts::make_room(const LayerWidths& widths) {
  if (layout().column_parts == 1) return;
  const std::int64_t whole = whole_share(share()).count, most_whole = whole_share(0).count;
  const std::int64_t own = columns(widths.out).count,
                     widest_in = layout().columns(widths.in, 0).count,
                     widest_out = layout().columns(widths.out, 0).count;
  const bool reduces = config_.gemm == DenseProduct::reduce;
  whole_ = Buffer(rt_, {1, (reduces ? rows(0) : whole) * widths.out}, DType::f32,
                  reduces ? "scratch/partial sums" : "scratch/whole rows");
  // The first share is the largest. An incoming tile belongs to x or to the result.
  const std::size_t tiles = reduces ? 1 : 2;
  for (std::size_t i = 0; i < tiles; ++i) {
    tile_in_[i] =
        Buffer(rt_, {1, reduces ? rows(0) * own : std::max(whole * widest_in, most_whole * own)},
               DType::f32, "scratch/tiles that come in");
    if (!reduces)
      tile_out_[i] = Buffer(rt_, {1, whole * widest_out}, DType::f32, "scratch/tiles that go out");
  }
}

void TileProducts::aggregate(int, const Tensor& x, const Tensor& y, float beta) {
  if (input_ != nullptr && input_->stands_for(x)) {
    ORRERY_ASSERT(sums_input_);
    return input_->aggregate(y, beta);
  }
  if (x == y) return aggregate_in_place(x);
  sum_->multiply(x, y, beta);
}

/// No column of the sum depends on another one of x.
void TileProducts::aggregate_in_place(const Tensor& x) {
  const std::int64_t at_a_time = piece_.tensor().cols();
  for (std::int64_t first = 0; first < x.cols(); first += at_a_time) {
    const std::int64_t count = std::min(at_a_time, x.cols() - first);
    const Tensor own = x.cols_at(first, count), sum = piece_.view(x.rows(), count);
    if (first > 0) sum_->set_out();
    sum_->multiply(own, sum, 0);
    put(rt_, sum, own, 0);
  }
}

/// No row of the product depends on another one of x.
void TileProducts::transform_in_place(const Tensor& x, const Tensor& w, const Tensor& y) {
  for (std::int64_t first = 0; first < x.rows(); first += kRowsOfBlock) {
    const std::int64_t count = std::min(kRowsOfBlock, x.rows() - first);
    const Tensor block = block_.view(count, w.cols());
    rt_.submit(Lane::compute, Gemm{x.rows_at(first, count), w, block});
    put(rt_, block, y.rows_at(first, count), 0);
  }
}

// ---- x·W ---------------------------------------------------------------------------------------

void TileProducts::transform(const Tensor& x, const Tensor& w, const Tensor& y, float beta) {
  ORRERY_ASSERT(x.rows() == rows(0) && (beta == 0 || beta == 1));
  if (input_ != nullptr && input_->stands_for(x)) return input_->transform(w, y, beta);
  if (x.id == y.id) return transform_in_place(x, w, y);
  if (layout().column_parts == 1) return Products::transform(x, w, y, beta);
  config_.gemm == DenseProduct::ring ? ring(x, w, y, beta) : reduce(x, w, y, beta);
}

template <class Use>
void TileProducts::turn(const Tensor& x, std::int64_t width, const Use& use) {
  const int m = share(), ranks = layout().column_parts;
  const Share own = whole_share(m);
  std::vector<std::optional<Event>> arrived(at(ranks));
  const auto from = [&](int step) { return (m + ranks - step) % ranks; };
  const auto tile = [&](int step) {
    return tile_in_[at(step % 2)].view(own.count, layout().columns(width, from(step)).count);
  };
  const auto send = [&](int step) {
    const int to = (m + step) % ranks;
    SendRecv message;
    message.group = layout().row_group(rt_.rank());
    const Share theirs = whole_share(to);
    if (theirs.count * x.cols() > 0) {
      message.send = x.rows_at(theirs.first, theirs.count);
      message.to = to;
    }
    if (tile(step).shape.size() > 0) {
      message.recv = tile(step);
      message.from = from(step);
    }
    if (!message.send && !message.recv) return;
    rt_.wait(Lane::comm, rt_.record(Lane::compute));  // x is there, and the tile's room is free
    rt_.submit(Lane::comm, message);
    arrived[at(step)] = rt_.record(Lane::comm);
  };
  if (ranks > 1) send(1);
  use(x.rows_at(own.first, own.count), layout().columns(width, m));
  for (int step = 1; step < ranks; ++step) {
    // The product before the last has read the room of the next tile.
    if (step + 1 < ranks) send(step + 1);
    if (arrived[at(step)]) rt_.wait(Lane::compute, *arrived[at(step)]);
    use(tile(step), layout().columns(width, from(step)));
  }
}

void TileProducts::ring(const Tensor& x, const Tensor& w, const Tensor& y, float beta) {
  const Tensor whole = whole_.view(whole_share(share()).count, w.cols());
  float keep = 0;
  turn(x, w.rows(), [&](const Tensor& tile, const Share& k) {
    if (k.count == 0 || tile.rows() == 0) return;
    rt_.submit(Lane::compute, Gemm{tile, w.rows_at(k.first, k.count), whole, false, false, keep});
    keep = 1;
  });
  turn_back(whole, y, beta);
}

void TileProducts::turn_back(const Tensor& whole, const Tensor& y, float beta) {
  const int m = share(), ranks = layout().column_parts;
  const std::int64_t width = whole.cols();
  std::vector<std::optional<Event>> moved(at(ranks));
  const auto rows_from = [&](int step) { return whole_share((m + ranks - step) % ranks); };
  const auto room = [&](int step) {
    return tile_in_[at(step % 2)].view(rows_from(step).count, y.cols());
  };
  const auto send = [&](int step) {
    const int to = (m + step) % ranks;
    const Share theirs = layout().columns(width, to);
    SendRecv message;
    message.group = layout().row_group(rt_.rank());
    if (theirs.count * whole.rows() > 0) {
      message.send = tile_out_[at(step % 2)].view(whole.rows(), theirs.count);
      message.to = to;
      put(rt_, whole.cols_at(theirs.first, theirs.count), *message.send, 0);
    }
    if (room(step).shape.size() > 0) {
      message.recv = room(step);
      message.from = (m + ranks - step) % ranks;
    }
    if (!message.send && !message.recv) return;
    rt_.wait(Lane::comm, rt_.record(Lane::compute));
    rt_.submit(Lane::comm, message);
    moved[at(step)] = rt_.record(Lane::comm);
  };
  send(1);
  const Share own = whole_share(m), columns = layout().columns(width, m);
  put(rt_, whole.cols_at(columns.first, columns.count), y.rows_at(own.first, own.count), beta);
  for (int step = 1; step < ranks; ++step) {
    // Its rooms are those of the step before this one, which has been waited for.
    if (step + 1 < ranks) send(step + 1);
    if (moved[at(step)]) rt_.wait(Lane::compute, *moved[at(step)]);
    const Share theirs = rows_from(step);
    put(rt_, room(step), y.rows_at(theirs.first, theirs.count), beta);
  }
}

void TileProducts::reduce(const Tensor& x, const Tensor& w, const Tensor& y, float beta) {
  const int ranks = layout().column_parts;
  const std::int64_t n = rows(0);
  const auto [first, count] = columns(w.rows());
  auto slices = std::make_shared<std::vector<std::int64_t>>();
  for (int k = 0; k < ranks; ++k) {
    const Share out = layout().columns(w.cols(), k);
    slices->push_back(n * out.count);
    if (n * out.count == 0) continue;
    const Tensor partial =
        whole_.tensor().cols_at(n * out.first, n * out.count).reshaped({n, out.count});
    if (count > 0)
      rt_.submit(Lane::compute,
                 Gemm{x, w.rows_at(first, count).cols_at(out.first, out.count), partial});
    else
      rt_.submit(Lane::compute, Fill{partial, 0});
  }
  const Tensor sum = tile_in_[0].view(n, y.cols());
  rt_.wait(Lane::comm, rt_.record(Lane::compute));
  rt_.submit(Lane::comm, ReduceScatter{whole_.tensor().reshaped({n * w.cols(), 1}),
                                       sum.reshaped({sum.shape.size(), 1}), std::move(slices),
                                       layout().row_group(rt_.rank())});
  rt_.wait(Lane::compute, rt_.record(Lane::comm));
  put(rt_, sum, y, beta);
}

void TileProducts::whole_rows(const Tensor& x, const Tensor& y) {
  const std::int64_t tile = y.rows() * layout().columns(y.cols(), 0).count;
  if (layout().column_parts > 1)
    for (Buffer& room : tile_in_)
      if (!room) room = Buffer(rt_, {1, tile}, DType::f32, "scratch/tiles that come in");
  turn(x, y.cols(), [&](const Tensor& piece, const Share& k) {
    put(rt_, piece, y.cols_at(k.first, k.count), 0);
  });
}

void TileProducts::on_whole_rows(const Tensor& x, std::int64_t width,
                                 const std::function<void(const Tensor& whole)>& use) {
  if (layout().column_parts == 1) return use(x);
  const std::int64_t whole = whole_share(share()).count, widest = layout().columns(width, 0).count;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t tile = std::max(whole * widest, whole_share(0).count * x.cols());
    tile_in_[i] = Buffer(rt_, {1, tile}, DType::f32, "scratch/tiles that come in");
    tile_out_[i] = Buffer(rt_, {1, whole * widest}, DType::f32, "scratch/tiles that go out");
  }
  whole_ = Buffer(rt_, {whole, width}, DType::f32, "scratch/whole rows");
  whole_rows(x, whole_.tensor());
  if (whole > 0) use(whole_.tensor());
  turn_back(whole_.tensor(), x, 0);
  give_room_back();
}

}  // namespace orrery
