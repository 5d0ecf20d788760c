// The 1D product: rows of everything split over the ranks; to aggregate, each rank broadcasts its
// rows in turn, and every rank multiplies the matching tile of its row of A while the next rows
// travel into the other of two buffers.
//
// Source    MG-GCN 4.1, 4.3; CAGNET 1D
#include <algorithm>
#include <array>

#include "core/base/parallel.hpp"
#include "core/strategy/blocks.hpp"
#include "core/strategy/strategy.hpp"

namespace orrery {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// The structure of one rank: row r of the grid of tiles of A, and of Aᵀ.
struct Row {
  std::shared_ptr<const std::vector<Vertex>> own;
  std::vector<Block> tiles, adjoint_tiles;  ///< by owner of the columns; no adjoint where A = Aᵀ
};

class Spmm1dPlan final : public StrategyPlan {
 public:
  explicit Spmm1dPlan(const Problem& problem) : config_(problem.strategy) {
    const Partition& partition = problem.partition;
    const auto members = partition.members();
    std::vector<Vertex> local(partition.owner.size());
    for (const auto& own : members) {
      sizes_.push_back(static_cast<std::int64_t>(own.size()));
      for (std::size_t i = 0; i < own.size(); ++i) local[at(own[i])] = static_cast<Vertex>(i);
    }
    const Adjacency a = normalised_adjacency(*problem.data, problem.model);
    const Adjacency adjoint = a.symmetric ? Adjacency{} : transpose(a);
    rows_.resize(members.size());
    parallel_for(problem.ranks(), 1, [&](std::int64_t r, std::int64_t) {
      Row& row = rows_[at(r)];
      row.own = std::make_shared<const std::vector<Vertex>>(members[at(r)]);
      row.tiles = cut_rows(a, *row.own, partition.owner, local, sizes_);
      if (!a.symmetric)
        row.adjoint_tiles = cut_rows(adjoint, *row.own, partition.owner, local, sizes_);
    });
  }

  std::unique_ptr<Strategy> instantiate(Runtime& rt) const override;

 private:
  StrategyConfig config_;
  std::vector<std::int64_t> sizes_;  ///< vertices of each rank
  std::vector<Row> rows_;
};

class Spmm1d final : public Strategy {
 public:
  Spmm1d(Runtime& rt, const Row& row, const std::vector<std::int64_t>& sizes,
         const StrategyConfig& config)
      : Strategy(rt),
        own_(row.own),
        sizes_(sizes),
        overlap_(config.overlap),
        tiles_(load(rt, row.tiles, config, "tiles")),
        adjoint_tiles_(load(rt, row.adjoint_tiles, config, "tiles transposed")),
        row_ids_(rt, {static_cast<std::int64_t>(own_->size()), 1}, DType::i32, "indices/vertices") {
    rt.submit(Lane::copy, Load{IndexArray{own_}, row_ids_.tensor()});
    rt.wait(Lane::compute, rt.record(Lane::copy));
  }

  std::shared_ptr<const std::vector<Vertex>> vertices() const override { return own_; }
  std::int64_t rows(int) const override { return static_cast<std::int64_t>(own_->size()); }
  Tensor row_ids() const override { return row_ids_.tensor(); }

  void prepare(std::int64_t max_width) override {
    const std::int64_t largest = *std::max_element(sizes_.begin(), sizes_.end());
    for (int j = 0; j < rt_.size(); ++j) {
      Buffer& slot = received_[at(j % 2)];
      if (j != rt_.rank() && !slot)
        slot = Buffer(rt_, {largest, max_width}, DType::f32, "scratch/broadcast buffer");
    }
  }

  void aggregate(int, const Tensor& x, const Tensor& y, float beta) override {
    multiply(tiles_, x, y, beta);
  }
  void aggregate_adjoint(int, const Tensor& dy, const Tensor& dx, float beta) override {
    multiply(adjoint_tiles_.empty() ? tiles_ : adjoint_tiles_, dy, dx, beta);
  }

 private:
  static std::vector<LocalMatrix> load(Runtime& rt, const std::vector<Block>& blocks,
                                       const StrategyConfig& config, std::string_view name) {
    std::vector<LocalMatrix> matrices;
    for (const Block& block : blocks) matrices.emplace_back(rt, block, config.column_tiles, name);
    return matrices;
  }

  /// y ← Σ_j tile_j·x_j + beta·y, x_j broadcast by its owner j while tile j − 1 is multiplied.
  void multiply(const std::vector<LocalMatrix>& tiles, const Tensor& x, const Tensor& y,
                float beta) {
    const Group world = world_group(rt_.size());
    // A buffer is free when the product before last has read it; at first, when x is there.
    std::array<Event, 2> free{rt_.record(Lane::compute), rt_.record(Lane::compute)};
    for (int j = 0; j < world.size; ++j) {
      const std::size_t slot = at(j % 2);
      const Tensor in = j == rt_.rank() ? x : received_[slot].view(sizes_[at(j)], x.cols());
      rt_.wait(Lane::comm, overlap_ ? free[slot] : rt_.record(Lane::compute));
      rt_.submit(Lane::comm, Broadcast{in, j, world});
      rt_.wait(Lane::compute, rt_.record(Lane::comm));
      tiles[at(j)].multiply(rt_, in, y, j == 0 ? beta : 1.0F);
      free[slot] = rt_.record(Lane::compute);
    }
  }

  std::shared_ptr<const std::vector<Vertex>> own_;
  const std::vector<std::int64_t>& sizes_;
  bool overlap_;
  std::vector<LocalMatrix> tiles_, adjoint_tiles_;
  Buffer row_ids_;
  std::array<Buffer, 2> received_;
};

std::unique_ptr<Strategy> Spmm1dPlan::instantiate(Runtime& rt) const {
  return std::make_unique<Spmm1d>(rt, rows_[at(rt.rank())], sizes_, config_);
}

}  // namespace

std::unique_ptr<StrategyPlan> plan_spmm_1d(const Problem& problem) {
  return std::make_unique<Spmm1dPlan>(problem);
}

}  // namespace orrery
