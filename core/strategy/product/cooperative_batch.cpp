#include "core/strategy/product/cooperative_batch.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "core/base/index.hpp"
#include "core/strategy/product/batch_products.hpp"
#include "core/strategy/structure/cut_rows.hpp"

namespace orrery {
namespace {

/// Which rank of a server computes which vertices of its batch. All are numbers of the batch, in
/// its order, so a rank's first vertices are also those of its last level.
class Shares {
 public:
  Shares(const SampledBatch& batch, const std::vector<std::int32_t>& rank_of, int ranks)
      : rank_of_(rank_of), row_at_rank_(rank_of.size()), members_(at(ranks)) {
    for (std::size_t i = 0; i < rank_of.size(); ++i) {
      std::vector<Vertex>& members = members_[at(rank_of[i])];
      row_at_rank_[i] = static_cast<Vertex>(members.size());
      members.push_back(static_cast<Vertex>(i));
    }
    for (const std::int64_t rows : batch.rows) {
      held_.push_back(rows);
      rows_.emplace_back();
      for (const std::vector<Vertex>& members : members_)
        rows_.back().push_back(std::lower_bound(members.begin(), members.end(), rows) -
                               members.begin());
    }
  }

  const std::vector<std::int64_t>& rows(int level) const { return rows_[at(level)]; }
  std::span<const Vertex> members(int rank, int level) const {
    return std::span(members_[at(rank)]).first(at(rows(level)[at(rank)]));
  }
  /// A rank's rows of a matrix between two levels, cut by the ranks of its columns.
  std::vector<SparseMatrix> tiles(const SparseMatrix& a, int rank, int to, int from) const {
    return cut_rows(a, members(rank, to), std::span(rank_of_).first(at(held_[at(from)])),
                    row_at_rank_, rows(from));
  }

 private:
  std::vector<std::int32_t> rank_of_;
  std::vector<Vertex> row_at_rank_;
  std::vector<std::vector<Vertex>> members_;
  std::vector<std::int64_t> held_;               ///< vertices of each level, over all ranks
  std::vector<std::vector<std::int64_t>> rows_;  ///< vertices of each level, per rank
};

}  // namespace

CooperativeShare cooperative_share(const SampledBatches& batches, const ModelConfig& model,
                                   int rank, int epoch, int step,
                                   const std::shared_ptr<const EdgeFeatures>& features) {
  const int ranks = batches.ranks_per_server(), index = rank % ranks;
  const auto batch = batches.of_server(rank / ranks, epoch, step);
  const std::vector<Vertex>& vertices = *batch->vertices;
  std::vector<std::int32_t> rank_of;
  for (const Vertex v : vertices) rank_of.push_back(batches.computed_by(v));
  const Shares shares(*batch, rank_of, ranks);
  const int layers = static_cast<int>(batch->layers.size());

  std::vector<std::vector<Vertex>> of_rank(at(ranks));  // global
  for (std::size_t i = 0; i < vertices.size(); ++i) of_rank[at(rank_of[i])].push_back(vertices[i]);

  CooperativeShare made;
  made.own.edges = batch->edges;
  for (int level = 0; level <= layers; ++level)
    made.own.rows.push_back(shares.rows(level)[at(index)]);
  made.own.features = batches.wanted(rank, of_rank[at(index)]);
  for (int layer = 1; layer <= layers; ++layer) {
    const SampledBatch::Layer& whole = batch->layers[at(layer) - 1];
    made.parts.push_back(make_halo_structure(shares.tiles(whole.forward, index, layer, layer - 1),
                                             shares.tiles(*whole.adjoint, index, layer - 1, layer),
                                             index));
    if (!weighs_edges(model)) continue;
    const HaloStructure& part = made.parts.back();
    std::optional<EndVertices> ends = ends_for(model, features);
    std::vector<Vertex> sources;
    if (ends) {
      const std::span<const Vertex> own(of_rank[at(index)]);
      sources = source_vertices(part, own.first(at(part.own_block.cols())), [&](int other) {
        return std::span(std::as_const(of_rank[at(other)]));
      });
      ends->rows = own;
      ends->sources = sources;
    }
    made.edges.push_back(make_edge_structure(part, false, ends));
  }
  of_rank[at(index)].shrink_to_fit();  // several shares wait for their turn
  made.own.vertices = std::make_shared<const std::vector<Vertex>>(std::move(of_rank[at(index)]));
  return made;
}

std::vector<CooperativeShare> largest_shares(const SampledBatches& batches,
                                             const ModelConfig& model,
                                             const std::shared_ptr<const EdgeFeatures>& features) {
  const SampledBatches::Bounds whole = batches.bounds();
  const std::vector<SampledBatches::Bounds> of_place = batches.share_bounds();
  const std::size_t ranks = of_place.size();
  std::vector<CooperativeShare> shares(ranks);
  for (std::size_t place = 0; place < ranks; ++place) {
    const SampledBatches::Bounds& own = of_place[place];
    CooperativeShare& share = shares[place];
    share.own.rows = own.vertices;
    share.own.features = batches.counted_rows(own.vertices.front());
    share.own.edges = std::accumulate(whole.edges.begin(), whole.edges.end(), std::int64_t{0});
    for (std::size_t l = 0; l < own.edges.size(); ++l) {
      // A received row is a column of an entry of this rank, a sent one of an entry of its receiver.
      std::int64_t received = 0, sent = 0;
      const std::int64_t most_received = std::min(whole.vertices[l], own.edges[l]);
      std::vector<std::int64_t> receive(ranks, 0), send(ranks, 0);
      for (std::size_t other = 0; other < ranks; ++other) {
        if (other == place) continue;
        receive[other] = std::min(of_place[other].vertices[l], most_received - received);
        send[other] = std::min({own.vertices[l], of_place[other].edges[l], whole.edges[l] - sent});
        received += receive[other];
        sent += send[other];
      }
      HaloStructure part;
      part.receive = std::make_shared<const std::vector<std::int64_t>>(std::move(receive));
      part.send = std::make_shared<const std::vector<std::int64_t>>(std::move(send));
      part.send_rows = IndexList::counted(sent);
      part.received_rows = IndexList::counted(received);
      // An entry takes as many bytes in either block.
      part.own_block.pattern = Counts{own.vertices[l + 1], own.vertices[l], own.edges[l]};
      part.halo_block.pattern = Counts{own.vertices[l + 1], received, 0};
      if (weighs_edges(model))
        share.edges.push_back(make_edge_structure(part, false, ends_for(model, features)));
      share.parts.push_back(std::move(part));
    }
  }
  return shares;
}

std::int64_t host_bytes(const CooperativeShare& share) {
  constexpr std::int64_t kNumber = sizeof(Vertex), kOffset = sizeof(EdgeIndex);
  std::int64_t bytes = host_bytes(share.own, share.edges);
  for (const HaloStructure& part : share.parts) {
    for (const SparseMatrix* block : {&part.own_block, &part.halo_block})
      bytes += 2 * matrix_bytes(*block) + (block->cols() + 1) * kOffset;
    bytes += (part.sent() + part.received()) * kNumber +
             2 * std::ssize(*part.send) * static_cast<std::int64_t>(sizeof(std::int64_t));
  }
  return bytes;
}

CooperativeProducts::CooperativeProducts(Runtime& rt, std::shared_ptr<const CooperativeShare> share,
                                         VertexData data, Group server, FeaturesOfEdges features,
                                         FeatureStore* store)
    : RankProducts(rt),
      share_(std::move(share)),
      data_(std::move(data)),
      store_(store),
      row_ids_(rt, {rows(0), 1}, DType::i32, "indices/vertices"),
      features_of_edges_(std::move(features)) {
  constexpr bool kOverlap = true;
  rt.submit(Lane::copy, Load{vertices().source(), row_ids_.tensor()});
  rt.wait(Lane::compute, rt.record(Lane::copy));
  for (const HaloStructure& part : share_->parts)
    if (share_->edges.empty())
      products_.emplace_back(rt, part, server, false, kOverlap, 1);
    else
      exchanges_.emplace_back(rt, part, server, kOverlap);
  for (const EdgeStructure& edges : share_->edges)
    edges_.emplace_back(rt, edges, features_of_edges_.take(edges.entries()));
}

void CooperativeProducts::load_features(std::int64_t first_column, const Tensor& features) {
  ORRERY_ASSERT(first_column == 0 && store_ != nullptr);
  places_ = store_->pull(share_->own.features, features);
}

void CooperativeProducts::prepare(std::int64_t widest_aggregate, std::int64_t) {
  std::int64_t sent = 0, received = 0;
  for (const HaloStructure& part : share_->parts) {
    sent = std::max(sent, part.sent());
    received = std::max(received, part.received());
  }
  if (exchanges_.empty())
    buffers_ = HaloBuffers(rt_, sent, received, widest_aggregate);
  else
    sent_ = Buffer(rt_, {sent, widest_aggregate}, DType::f32, "halo/rows sent");
}

void CooperativeProducts::aggregate(int layer, const Tensor& x, const Tensor& y, float beta) {
  products_[at(layer) - 1].multiply(x, y, beta, buffers_);
}

void CooperativeProducts::aggregate_adjoint(int layer, const Tensor& dy, const Tensor& dx,
                                            float beta) {
  products_[at(layer) - 1].multiply_adjoint(dy, dx, beta, buffers_);
}

void CooperativeProducts::bring_sources(int layer, const Tensor& x,
                                        const std::function<void()>& meanwhile) {
  exchange(layer).bring(x, sent_.view(part(layer).sent(), x.cols()), meanwhile);
}

void CooperativeProducts::bring_sources_adjoint(int layer, const Tensor& dx,
                                                const std::function<void()>& meanwhile) {
  exchange(layer).bring_adjoint(dx, sent_.view(part(layer).sent(), dx.cols()), meanwhile);
}

}  // namespace orrery
