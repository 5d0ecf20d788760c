// Parts from a folder: a part's rows of A are made from its edges and the degrees that were stored
// with them.
#include <algorithm>
#include <numeric>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/model/adjacency.hpp"
#include "core/strategy/structure/once_per_rank.hpp"
#include "core/strategy/structure/partitioned_graph.hpp"

namespace orrery {
namespace {

/// The kept data of one part.
struct Loaded {
  StoredPart stored;
  Csr out;  ///< the part's graph by source, if it is directed
  std::shared_ptr<const std::vector<Vertex>> rows;  ///< 0, 1, 2, ...
};

class GraphInFolder final : public PartitionedGraph {
 public:
  GraphInFolder(std::shared_ptr<const PartitionedDataset> folder, const ModelConfig& model)
      : folder_(std::move(folder)),
        weight_(weighting_of(model, folder_->facts().symmetric)),
        loaded_(static_cast<int>(folder_->sizes().size())) {
    if (folder_->hops() < 1)
      throw ConfigError("dataset.parts",
                        "hold no neighbours of their vertices (hops 0), which this strategy needs: "
                        "write them again with partition.hops 1");
  }

  const std::vector<std::int64_t>& sizes() const override { return folder_->sizes(); }
  bool symmetric() const override { return weight_.symmetric; }
  IndexList vertices(int part) const override { return IndexList(load(part).stored.vertices); }
  VertexData data(int part) const override {
    const Loaded& loaded = load(part);
    return {loaded.stored.local, loaded.rows};
  }

  std::vector<SparseMatrix> rows(int part, Direction direction) const override {
    const Loaded& loaded = load(part);
    const StoredPart& stored = loaded.stored;
    const bool forward = direction == Direction::forward;
    const bool by_source = !forward && !folder_->facts().symmetric;
    const Csr& graph = by_source ? loaded.out : *stored.local->graph;
    const std::int64_t n = stored.owned;
    const auto length = [&](std::int64_t i) {
      return stored.degrees[at(i)] + (weight_.loops ? 1.0 : 0.0);
    };
    // An entry of Aᵀ in row v, column u is that of A in row u, column v.
    const auto weight = [&](std::int64_t v, std::int64_t u) {
      return forward ? weight_(length(v), length(u)) : weight_(length(u), length(v));
    };
    auto blocks = block_builders(n, sizes());
    for (std::int64_t v = 0; v < n; ++v) {
      if (weight_.loops) blocks[at(part)].add(static_cast<Vertex>(v), weight(v, v));
      for (const Vertex u : graph.row(v))
        if (u >= n)
          blocks[at(stored.replica_owner[at(u - n)])].add(stored.replica_row[at(u - n)],
                                                          weight(v, u));
        else if (u != v)
          blocks[at(part)].add(u, weight(v, u));
      for (RowBuilder& block : blocks) block.end_row();
    }
    return finish(blocks);
  }

  Relations relations(int part) const override {
    const StoredPart& stored = load(part).stored;
    const TypedGraph& typed = *folder_->typed();
    Relations of_part{rows_of_types(typed, *stored.vertices), {}};
    for (std::size_t r = 0; r < typed.relations.size(); ++r) {
      const auto type = typed.type(typed.relations[r].destination) - typed.types.data();
      const auto [first, count] = of_part.types[at(type)];
      auto blocks = block_builders(count, sizes());
      for (std::int64_t v = first; v < first + count; ++v) {
        const auto row = stored.relations[r].row(v);
        const auto others = std::ranges::count_if(row, [&](Vertex u) { return u != v; });
        const auto share = static_cast<float>(1 / static_cast<double>(others));
        for (const Vertex u : row)
          if (u >= stored.owned)
            blocks[at(stored.replica_owner[at(u - stored.owned)])].add(
                stored.replica_row[at(u - stored.owned)], share);
          else if (u != v)
            blocks[at(part)].add(u, share);
        for (RowBuilder& block : blocks) block.end_row();
      }
      of_part.relations.push_back({static_cast<int>(type), finish(blocks)});
    }
    return of_part;
  }

 private:
  const Loaded& load(int part) const {
    return loaded_.get(part, [&] {
      Loaded loaded{folder_->read(part), {}, nullptr};
      if (!folder_->facts().symmetric) loaded.out = transpose(*loaded.stored.local->graph);
      std::vector<Vertex> rows(at(loaded.stored.owned));
      std::iota(rows.begin(), rows.end(), 0);
      loaded.rows = std::make_shared<const std::vector<Vertex>>(std::move(rows));
      return loaded;
    });
  }

  std::shared_ptr<const PartitionedDataset> folder_;
  Weighting weight_;
  OncePerRank<Loaded> loaded_;
};

}  // namespace

std::shared_ptr<const PartitionedGraph> partitioned_in_folder(
    std::shared_ptr<const PartitionedDataset> folder, const ModelConfig& model) {
  return std::make_shared<const GraphInFolder>(std::move(folder), model);
}

}  // namespace orrery
