// Parts of a graph given by its statistics: the blocks of rows and columns that a random
// permutation of its vertices cuts, each with its expected size.
//
// A has E' entries: the edges and, for GCN, one self-loop a vertex. A block of s of the n vertices
// has E'·s/n of them in its rows; the tile with t columns has s·t/n² of all. In truth the n
// self-loops lie in the diagonal tiles. Here they are spread over the row like all other entries,
// so that blocks of equal size are equal in all their tiles. A diagonal tile then lacks s·(1 − s/n)
// of its entries, and every other tile has s·t/n too many: less than one per row, where the mean
// degree is some tens. Entries are rounded so that those of a block of rows sum to its rounded
// share.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/model/adjacency.hpp"
#include "core/strategy/structure/partitioned_graph.hpp"

namespace orrery {
namespace {

/// The largest of n independent Poisson counts with this mean: the count whose probability is 1/n,
/// with Stirling's formula for its factorial; at least the mean.
double largest_poisson(double n, double mean) {
  const double once = std::log(std::max(n, 1.0));
  const auto rarity = [&](double k) {
    return k * std::log(k / mean) - k + mean + std::log(2 * std::numbers::pi * k) / 2;
  };
  // Above the mean, and below the bound of Bernstein's inequality.
  double low = mean, high = mean + 2 * once / 3 + std::sqrt(2 * once * mean);
  for (int i = 0; i < 50; ++i) {
    const double k = (low + high) / 2;
    (rarity(k) < once ? low : high) = k;
  }
  return high;
}

/// Largest row of a tile divided by its mean row. Among rows of equal degree, chance makes one the
/// largest; a hub adds its share of skew times the mean. Every block is assumed to have such a hub,
/// because nothing is known about the degrees below the largest. That is too much for all blocks
/// but one.
double tile_skew(const Counts& tile, double skew) {
  if (tile.nnz == 0) return 1;
  const double mean = static_cast<double>(tile.nnz) / static_cast<double>(tile.rows);
  const double chance = largest_poisson(static_cast<double>(tile.rows), mean);
  const double largest = std::max({skew * mean, chance, 1.0});
  return std::max(1.0, std::min(largest, static_cast<double>(tile.cols)) / mean);
}

class GraphByStatistics final : public PartitionedGraph {
 public:
  GraphByStatistics(const GraphStatistics& graph, const ModelConfig& model, int parts)
      : graph_(graph) {
    const Weighting weight = weighting_of(model, graph.symmetric);
    symmetric_ = weight.symmetric;
    entries_ = graph.edges + (weight.loops ? graph.vertices : 0);
    for (int p = 0; p < parts; ++p)
      sizes_.push_back(graph.vertices * (p + 1) / parts - graph.vertices * p / parts);
  }

  const std::vector<std::int64_t>& sizes() const override { return sizes_; }
  bool symmetric() const override { return symmetric_; }
  bool alike() const override { return true; }
  IndexList vertices(int part) const override { return IndexList::counted(size(part)); }

  /// Aᵀ has as many as A.
  std::vector<SparseMatrix> rows(int part, Direction) const override {
    const double own = share(static_cast<double>(entries_), size(part));
    std::vector<SparseMatrix> tiles;
    std::int64_t columns = 0, before = 0;
    for (const std::int64_t width : sizes_) {
      columns += width;
      const std::int64_t upto = std::llround(share(own, columns));
      Counts tile{size(part), width, upto - std::exchange(before, upto), 1};
      tile.skew = tile_skew(tile, graph_.skew);
      tiles.push_back({tile, nullptr});
    }
    return tiles;
  }

  VertexData data(int part) const override {
    const std::int64_t n = graph_.vertices, training = graph_.training_vertices;
    const auto own = [&](std::int64_t count) {
      return std::llround(share(static_cast<double>(count), size(part)));
    };
    const std::int64_t train = own(training), validation = own(training + (n - training) / 2);
    return {size(part), size(part),
            SplitCounts{train, validation - train, size(part) - validation}};
  }

 private:
  std::int64_t size(int part) const { return sizes_[at(part)]; }
  /// The share of `whole` that belongs to this many of all vertices.
  double share(double whole, std::int64_t vertices) const {
    return whole * static_cast<double>(vertices) / static_cast<double>(graph_.vertices);
  }

  GraphStatistics graph_;
  bool symmetric_ = false;
  std::int64_t entries_ = 0;
  std::vector<std::int64_t> sizes_;
};

}  // namespace

std::shared_ptr<const PartitionedGraph> partitioned_by_statistics(const GraphStatistics& graph,
                                                                  const ModelConfig& model,
                                                                  int parts) {
  return std::make_shared<const GraphByStatistics>(graph, model, parts);
}

}  // namespace orrery
