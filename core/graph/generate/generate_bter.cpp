// Generator: block two-level Erdős–Rényi (BTER), degrees and clustering coefficients as wanted.
#include <algorithm>
#include <cmath>

#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/graph/generate/generate.hpp"

namespace orrery {
namespace {

constexpr std::int64_t kBlocksPerTask = 64;
// Separates the draws of phase 1 from phase 2's.
constexpr std::uint32_t kBlockPhase = 0xFFFFFFFF;

/// An affinity block: vertices first, ..., first + size - 1, each pair joined with `probability`.
struct Block {
  std::int64_t first, size;
  double probability;
};

/// Consecutive vertices that need the same number of edges besides those in their block.
struct Excess {
  std::int64_t first;
  double each;
};

/// Vertices in ascending order of degree, cut into blocks of (lowest degree + 1).
class Blocks {
 public:
  explicit Blocks(const std::vector<DegreeClass>& classes) {
    for (const DegreeClass& c : classes) total_ += c.vertices;
    for (const DegreeClass& c : classes) add(c);
    finish_excess();
  }
  const std::vector<Block>& blocks() const { return blocks_; }
  std::int64_t vertices() const { return total_; }

  /// A vertex in proportion to its excess degree.
  std::int64_t draw(Sequence& random) const {
    const double x = random.uniform() * cumulative_.back();
    const auto i = static_cast<std::size_t>(
        std::min(std::ranges::upper_bound(cumulative_, x) - cumulative_.begin(),
                 std::ssize(excess_)) -
        1);
    const std::int64_t end = i + 1 < excess_.size() ? excess_[i + 1].first : total_;
    const auto offset =
        static_cast<std::int64_t>((x - cumulative_[i]) / std::max(excess_[i].each, 1e-300));
    return std::min(excess_[i].first + offset, end - 1);
  }

 private:
  void add(const DegreeClass& c) {
    for (std::int64_t left = c.vertices; left > 0;) {
      const bool in_block = c.degree >= 2;
      if (in_block && open_ == 0) {
        open_ = std::min(c.degree + 1, total_ - placed_);
        blocks_.push_back({placed_, open_, std::cbrt(c.clustering)});
      }
      const std::int64_t taken = in_block ? std::min(left, open_) : left;
      const double inside =
          in_block ? blocks_.back().probability * static_cast<double>(blocks_.back().size - 1) : 0;
      excess_.push_back({placed_, std::max(0.0, static_cast<double>(c.degree) - inside)});
      placed_ += taken;
      left -= taken;
      if (in_block) open_ -= taken;
    }
  }
  void finish_excess() {
    cumulative_.push_back(0);
    for (std::size_t i = 0; i < excess_.size(); ++i) {
      const std::int64_t end = i + 1 < excess_.size() ? excess_[i + 1].first : total_;
      cumulative_.push_back(cumulative_.back() +
                            excess_[i].each * static_cast<double>(end - excess_[i].first));
    }
  }

  std::vector<Block> blocks_;
  std::vector<Excess> excess_;
  std::vector<double> cumulative_;  ///< of the excess, [runs + 1]
  std::int64_t total_ = 0, placed_ = 0, open_ = 0;
};

/// Phase 1: every pair inside a block is an edge with the block's probability.
std::vector<std::vector<Edge>> draw_blocks(const std::vector<Block>& blocks,
                                           const Scramble& scramble, std::uint64_t seed) {
  const std::int64_t count = std::ssize(blocks);
  std::vector<std::vector<Edge>> out(
      static_cast<std::size_t>((count + kBlocksPerTask - 1) / kBlocksPerTask));
  parallel_for(count, kBlocksPerTask, [&](std::int64_t begin, std::int64_t end) {
    auto& edges = out[at(begin / kBlocksPerTask)];
    for (std::int64_t b = begin; b < end; ++b) {
      const Block& block = blocks[at(b)];
      Sequence random(seed, Purpose::edges, static_cast<std::uint32_t>(b), kBlockPhase);
      for (std::int64_t u = block.first; u < block.first + block.size; ++u)
        for (std::int64_t v = u + 1; v < block.first + block.size; ++v)
          if (random.word() * 0x1.0p-32 < block.probability)
            edges.push_back(ascending(scramble(u), scramble(v)));
    }
  });
  return out;
}

}  // namespace

Dataset generate_bter(const DatasetOptions& options) {
  const std::vector<DegreeClass> classes = degree_classes(options);
  const Blocks blocks(classes);
  std::int64_t stubs = 0;
  for (const DegreeClass& c : classes) stubs += c.degree * c.vertices;
  const std::int64_t edges = options.generate_edges > 0 ? options.generate_edges : stubs / 2;

  const Scramble scramble(blocks.vertices(), options.seed);
  const auto draw = [&](Sequence& random) -> std::optional<Edge> {
    const std::int64_t u = blocks.draw(random);
    return Edge{scramble(u), scramble(blocks.draw(random))};
  };
  Dataset dataset =
      generated_dataset(draw_undirected(blocks.vertices(), edges, options.seed,
                                        draw_blocks(blocks.blocks(), scramble, options.seed), draw),
                        options, edges);
  add_taught_labels(dataset, options);
  return dataset;
}

}  // namespace orrery
