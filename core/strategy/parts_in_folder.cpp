// Parts from a folder: a part's rows of A are put together from its edges and the degrees that were
// stored with them.
#include <algorithm>
#include <numeric>

#include "core/base/error.hpp"
#include "core/model/adjacency.hpp"
#include "core/strategy/once_per_rank.hpp"
#include "core/strategy/part_source.hpp"

namespace orrery {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// What is kept of one part.
struct Loaded {
  StoredPart stored;
  Csr out;  ///< the part's graph by source, where it is directed
  std::shared_ptr<const std::vector<Vertex>> rows;  ///< 0, 1, 2, ...
};

/// Blocks that grow row by row, one per part that owns columns.
class GrowingBlocks {
 public:
  GrowingBlocks(std::int64_t rows, const std::vector<std::int64_t>& widths)
      : entries_(widths.size()) {
    for (const std::int64_t width : widths) {
      patterns_.push_back(std::make_shared<Csr>());
      patterns_.back()->rows = rows;
      patterns_.back()->cols = width;
      values_.push_back(std::make_shared<std::vector<float>>());
    }
  }
  void add(std::int32_t part, Vertex column, float value) {
    entries_[at(part)].emplace_back(column, value);
  }
  void end_row() {
    for (std::size_t b = 0; b < entries_.size(); ++b) {
      std::sort(entries_[b].begin(), entries_[b].end());
      for (const auto& [column, value] : entries_[b]) {
        patterns_[b]->columns.push_back(column);
        values_[b]->push_back(value);
      }
      entries_[b].clear();
      patterns_[b]->offsets.push_back(patterns_[b]->nnz());
    }
  }
  std::vector<Block> blocks() const {
    std::vector<Block> list;
    for (std::size_t b = 0; b < patterns_.size(); ++b) list.push_back({patterns_[b], values_[b]});
    return list;
  }

 private:
  std::vector<std::vector<std::pair<Vertex, float>>> entries_;
  std::vector<std::shared_ptr<Csr>> patterns_;
  std::vector<std::shared_ptr<std::vector<float>>> values_;
};

class PartsInFolder final : public PartSource {
 public:
  PartsInFolder(std::shared_ptr<const PartsFolder> folder, const ModelConfig& model)
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
  PartData data(int part) const override {
    const Loaded& loaded = load(part);
    return {loaded.stored.local, loaded.rows};
  }

  std::vector<Block> rows(int part, Direction direction) const override {
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
    GrowingBlocks blocks(n, sizes());
    for (std::int64_t v = 0; v < n; ++v) {
      if (weight_.loops) blocks.add(part, static_cast<Vertex>(v), weight(v, v));
      for (const Vertex u : graph.row(v))
        if (u >= n)
          blocks.add(stored.replica_owner[at(u - n)], stored.replica_row[at(u - n)], weight(v, u));
        else if (u != v)
          blocks.add(part, u, weight(v, u));
      blocks.end_row();
    }
    return blocks.blocks();
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

  std::shared_ptr<const PartsFolder> folder_;
  Weighting weight_;
  OncePerRank<Loaded> loaded_;
};

}  // namespace

std::shared_ptr<const PartSource> parts_in_folder(std::shared_ptr<const PartsFolder> folder,
                                                  const ModelConfig& model) {
  return std::make_shared<const PartsInFolder>(std::move(folder), model);
}

}  // namespace orrery
