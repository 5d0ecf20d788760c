// Mini-batches of parts that are trained alone: which vertices of a part are in each step.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/strategy/product/batch_products.hpp"
#include "core/strategy/product/structure.hpp"
#include "core/strategy/structure/once_per_rank.hpp"
#include "core/strategy/structure/subgraphs.hpp"

namespace orrery {

/// The batches of all parts, each a function of its part, epoch and number. Only neighbours that
/// the part holds are drawn. All calls may come from several threads at once.
class PartBatches {
 public:
  /// How many batches are made ready while one trains.
  static constexpr StagesAhead kAhead{kBatchesAhead};
  /// `fanouts`: for each layer, the first at the seeds, as in NeighbourSampler; empty: all
  /// neighbours.
  PartBatches(std::shared_ptr<const Subgraphs> parts, const ModelConfig& model,
              const DataFacts& facts, std::int64_t batch, std::vector<int> fanouts,
              std::uint64_t seed);
  /// The same parts with batches that are counted only, each as large as one of so many seeds can be in
  /// its part. There are as many as are in memory at a time, since more take no more memory.
  PartBatches(const PartBatches& drawn, std::int64_t batch);

  /// Batches of an epoch; the last one has the remaining seeds.
  int count(int part) const;
  /// Training vertices of a batch.
  std::int64_t seeds(int part, int number) const;
  /// It stores no features: they are those of its vertices.
  SampledBatch batch(int part, int epoch, int number) const {
    return make(part, epoch, number).first;
  }
  std::shared_ptr<const Structure> prepare(int part, int epoch, int number) const;

 private:
  /// A part in the form of the sampler.
  struct Sampled {
    std::shared_ptr<const Subgraph> part;
    Csr graph;                                   ///< of a, without its diagonal
    std::vector<float> values;                   ///< of the entries of `graph` in a
    std::vector<std::optional<float>> diagonal;  ///< of a
    std::optional<Seeds> seeds;                  ///< in numbers of the part
    std::unique_ptr<const NeighbourSampler> sampler;
  };
  /// What the counted batches of a part depend on, besides the number of seeds.
  struct Counted {
    std::int64_t vertices = 0,
                 diagonal = 0;        ///< of a: rows, and rows with an entry on the diagonal
    std::int64_t entries = 0;         ///< of a
    std::vector<std::int64_t> drawn;  ///< by hop: entries if each row of `a` draws
  };
  std::uint64_t part_seed(int part) const;
  /// Gradients of models that weigh edges pass through the edges.
  bool has_adjoint(int layer) const {
    return !weighs_edges(model_) && (layer > 1 || first_adjoint_);
  }
  std::unique_ptr<const Counted> counted(int part) const;
  SampledBatch largest(int part) const;
  std::unique_ptr<const Sampled> sampled(int part) const;
  std::pair<SampledBatch, VertexData> make(int part, int epoch, int number) const;
  SampledBatch::Layer cut(const Sampled& from, const MessageFlow& flow, int layer) const;

  std::shared_ptr<const Subgraphs> parts_;
  ModelConfig model_;
  std::int64_t batch_;
  NeighbourSampling sampling_;
  bool first_adjoint_;
  std::uint64_t seed_;
  OncePerRank<std::unique_ptr<const Sampled>> sampled_;
  std::shared_ptr<OncePerRank<std::unique_ptr<const Counted>>> counted_;  ///< by part
  bool draws_ = true;
};

bool is_part_batch(const Structure& structure);

/// A batch that prepare() made, on this rank with its own model; nothing travels.
std::unique_ptr<RankProducts> load_part_batch(Runtime& rt,
                                              std::shared_ptr<const Structure> structure);

}  // namespace orrery
