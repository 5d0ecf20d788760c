#include "core/inference/tile_attention.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/base/index.hpp"
#include "core/inference/fetched_rows.hpp"
#include "core/inference/tile_sddmm.hpp"

namespace orrery {

struct TileAttention::Parts {
  const LayerGraphs& graphs;
  TileSddmm sddmm;
  FetchedRows sum;
};

namespace {

/// h heads, z = x·W: y_i = Σ_j w_ij·z_j by heads, side by side or (in the last layer) averaged.
///
/// Memory    in elements, n rows of the part, m its entries, f columns of the rank: z, n·f; weights,
///           m·h, and m/M·h where they are exchanged; of the additive form 2·n·h and s·h for the s
///           sources; where heads are averaged n·f more
class AttentionLayer final : public Convolution {
 public:
  AttentionLayer(LayerContext& context, TileProducts& products, TileAttention::Parts& parts,
                 const ModelConfig& model, int layer, std::int64_t in, std::int64_t out)
      : Convolution(context, layer, in, out),
        products_(products),
        parts_(parts),
        additive_(model.attention == Attention::additive),
        averages_(layer == model.layers && model.output_heads > 1),
        heads_(layer == model.layers ? model.output_heads : model.heads),
        width_(averages_ ? out * heads_ : out),
        weight_(
            context.parameters.add({in, width_}, Parameters::glorot(in, width_ / heads_), false)) {
    if (additive_)
      ends_ = context.parameters.add({2 * heads_, columns_of_head()},
                                     Parameters::glorot(columns_of_head(), 1), false);
  }

  // Here TileProducts multiplies without A.
  std::int64_t aggregated_width() const override { return 0; }
  std::int64_t scratch_width() const override { return 0; }
  bool backward_in_place() const override { return false; }
  void backward(const Tensor&, const Tensor&, const std::optional<Tensor>&) override {
    ORRERY_ASSERT(false && "an inference has no backward pass");
  }
  void allocate() override {}

  void forward(const Tensor& x, const Tensor& y) override {
    const WholeRows::Pieces pieces = pieces_of_rows();
    const auto& own = pieces.shares[at(share())];
    std::int64_t columns = 0;
    for (const PieceColumns& piece : own) columns += piece.count;
    const std::int64_t n = x.rows();

    parts_.sddmm.begin(layer_, additive_ ? WholeRows::everywhere(heads_) : pieces, heads_,
                       !additive_);
    parts_.sum.begin(layer_, width_, columns);
    parts_.sddmm.set_out();
    parts_.sum.set_out();
    const Buffer z(c_.rt, {n, columns}, DType::f32, "activations/transformed input");
    transform_heads(x, z.tensor());
    const Buffer weights = weigh_edges(z.tensor(), own);
    sum_up(z.tensor(), own, weights.tensor(), y);
    parts_.sddmm.end();
    parts_.sum.end();
  }

 private:
  const TileLayout& layout() const { return parts_.graphs.layout(); }
  int share() const { return layout().column_of(c_.rt.rank()); }
  std::int64_t columns_of_head() const { return width_ / heads_; }
  template <class T>
  void submit(const T& op) {
    c_.rt.submit(Lane::compute, op);
  }

  /// The columns of z on each rank of the part, cut where a head ends. Averaged heads are each
  /// spread over the ranks like the result.
  WholeRows::Pieces pieces_of_rows() const {
    WholeRows::Pieces pieces{width_, {}};
    const std::int64_t f = columns_of_head();
    for (int m = 0; m < layout().column_parts; ++m) {
      std::vector<PieceColumns> list;
      if (averages_) {
        const Share share = layout().columns(out_, m);
        for (std::int64_t head = 0; head < heads_; ++head)
          list.push_back({head * share.count, head * f + share.first, share.count});
      } else {
        const Share share = layout().columns(width_, m);
        for (std::int64_t c = share.first; c < share.end();) {
          const std::int64_t end = std::min(share.end(), (c / f + 1) * f);
          list.push_back({c - share.first, c, end - c});
          c = end;
        }
      }
      pieces.shares.push_back(std::move(list));
    }
    return pieces;
  }

  void transform_heads(const Tensor& x, const Tensor& z) {
    const Tensor w = c_.parameters.weight(weight_);
    if (!averages_) return products_.transform(x, w, z, 0);
    const std::int64_t each = z.cols() / heads_;
    for (std::int64_t head = 0; head < heads_; ++head)
      products_.transform(x, w.cols_at(head * out_, out_), z.cols_at(head * each, each), 0);
  }

  /// The weights of all entries of the part.
  Buffer weigh_edges(const Tensor& z, const std::vector<PieceColumns>& columns) {
    TileSddmm& sddmm = parts_.sddmm;
    const Share rows = layout().rows(layout().part_of(c_.rt.rank()));
    Buffer all(c_.rt, {parts_.graphs.entries_of(rows), heads_}, DType::f32,
               "activations/weights of edges");
    Buffer some;
    if (sddmm.exchanges())
      some = Buffer(c_.rt, {sddmm.pattern().nnz, heads_}, DType::f32,
                    "activations/weights of the rank's edges");
    const Tensor own = some ? some.tensor() : all.tensor();
    if (additive_)
      by_scalars(z, columns, own);
    else {
      sddmm.multiply(z, z, own);
      const auto scale = 1 / std::sqrt(static_cast<double>(columns_of_head()));
      if (own.rows() > 0) submit(EdgeSoftmax{sddmm.pattern(), own, {}, static_cast<float>(scale)});
    }
    sddmm.exchange(own, all.tensor());
    return all;
  }

  /// The additive form: a score is the sum of a number of each end.
  void by_scalars(const Tensor& z, const std::vector<PieceColumns>& columns, const Tensor& own) {
    Runtime& rt = c_.rt;
    const Tensor a = c_.parameters.weight(ends_);
    const Buffer scalars(rt, {z.rows(), 2 * heads_}, DType::f32, "activations/scalars"),
        sources(rt, {parts_.sddmm.pattern().shape.cols, heads_}, DType::f32,
                "activations/scalars of sources");
    if (z.shape.size() > 0) {
      // Row k has the weights of head k (of sources: k − h) for the columns of that head.
      const Buffer blocks(rt, {2 * heads_, z.cols()}, DType::f32, "scratch/attention vectors");
      submit(Fill{blocks.tensor(), 0});
      for (const std::int64_t first : {std::int64_t{0}, heads_})
        for (const PieceColumns& piece : columns) {
          const std::int64_t head = piece.whole / columns_of_head();
          submit(Copy{a.rows_at(first + head, 1)
                          .cols_at(piece.whole - head * columns_of_head(), piece.count),
                      blocks.tensor().rows_at(first + head, 1).cols_at(piece.tile, piece.count)});
        }
      submit(Gemm{z, blocks.tensor(), scalars.tensor(), false, true, 0});
    } else {
      submit(Fill{scalars.tensor(), 0});
    }
    if (layout().column_parts > 1) {
      rt.wait(Lane::comm, rt.record(Lane::compute));
      rt.submit(Lane::comm, AllReduce{scalars.tensor(), layout().row_group(rt.rank())});
      rt.wait(Lane::compute, rt.record(Lane::comm));
    }
    parts_.sddmm.gather(scalars.tensor().cols_at(heads_, heads_), sources.tensor());
    const Share rows = parts_.sddmm.rows();
    if (own.rows() > 0)
      submit(
          EdgeSoftmax{parts_.sddmm.pattern(), own,
                      EndScores{scalars.tensor().rows_at(rows.first, rows.count).cols_at(0, heads_),
                                sources.tensor()}});
  }

  /// y ← the rows of z by their weights.
  void sum_up(const Tensor& z, const std::vector<PieceColumns>& columns, const Tensor& weights,
              const Tensor& y) {
    if (z.cols() == 0) return;
    const Buffer values(c_.rt, {parts_.sum.most_entries(), heads_}, DType::f32,
                        "scratch/weights of a block");
    Buffer heads;
    if (averages_) heads = Buffer(c_.rt, z.shape, DType::f32, "activations/heads");
    // Heads with equally many columns here are one product.
    const bool alike = std::all_of(columns.begin(), columns.end(), [&](const PieceColumns& piece) {
      return piece.count == columns.front().count;
    });
    parts_.sum.multiply(
        z, averages_ ? heads.tensor() : y, 0,
        [&](const FetchedRows::WeighedBlock& block, const Tensor& from, const Tensor& to,
            float beta) {
          const auto multiply = [&](std::int64_t head, std::int64_t count, std::int64_t first,
                                    std::int64_t width) {
            const Tensor of_block = values.view(block.pattern.sparse().nnz, count);
            submit(GatherRows{weights.cols_at(head, count), block.entries.tensor(), of_block});
            submit(SpMM{block.pattern.sparse(), of_block, from.cols_at(first, width),
                        to.cols_at(first, width), beta});
          };
          const auto head_of = [&](const PieceColumns& piece) {
            return piece.whole / columns_of_head();
          };
          if (alike) return multiply(head_of(columns.front()), std::ssize(columns), 0, from.cols());
          for (const PieceColumns& piece : columns)
            multiply(head_of(piece), 1, piece.tile, piece.count);
        });
    if (!averages_) return;
    for (std::int64_t head = 0; head < heads_; ++head)
      submit(Copy{heads.tensor().cols_at(head * y.cols(), y.cols()), y,
                  1 / static_cast<float>(heads_), head > 0});
  }

  TileProducts& products_;
  TileAttention::Parts& parts_;
  bool additive_, averages_;
  std::int64_t heads_, width_;
  int weight_, ends_ = -1;
};

}  // namespace

TileAttention::TileAttention(Runtime& rt, const LayerGraphs& graphs, const InferenceConfig& config)
    : parts_(new Parts{graphs, TileSddmm(rt, graphs, config),
                       FetchedRows(rt, graphs, config, 1, true)}) {}

TileAttention::~TileAttention() = default;

std::unique_ptr<Convolution> TileAttention::make_layer(LayerContext& context,
                                                       TileProducts& products,
                                                       const ModelConfig& model, int layer,
                                                       std::int64_t in, std::int64_t out) {
  return std::make_unique<AttentionLayer>(context, products, *parts_, model, layer, in, out);
}

}  // namespace orrery
