// The loss of a model that predicts links, and how well it tells held-out links from pairs that are
// no links.
#pragma once

#include <memory>
#include <optional>

#include "core/model/link_decoder.hpp"
#include "core/sample/links/link_batches.hpp"
#include "core/strategy/edges/device_edges.hpp"
#include "core/strategy/product/rank_products.hpp"
#include "core/strategy/strategy.hpp"

namespace orrery {

/// The loss of the pairs of a step, and the scores of held-out ones, from the rows of the last layer.
/// Pairs are worked on in slabs: a link and its negatives stand in the same one.
///
/// If ranks own the rows of their parts, each scores the pairs whose link's source it owns: rows of
/// other ranks that it needs travel before, each once, and their gradients after. The pairs of a
/// batch have all their rows in it.
///
/// Placement rows, gradient: of this rank's own vertices; a pair: on the rank that owns its link's
///           source
class LinkObjective {
 public:
  /// `problem` and `strategy` outlive this.
  LinkObjective(Runtime& rt, const Problem& problem, const Strategy& strategy);

  LinkDecoder& decoder() { return decoder_; }
  /// The decoder's parameters are allocated.
  void allocate(const Parameters& parameters);

  /// Sets the gradient at the rows of the last layer and those of the decoder. `loss` is set, or
  /// added to with `accumulate`: the mean over the pairs of all ranks, times the step's share of the
  /// epoch's links.
  ///
  /// Shapes    rows, gradient [own vertices, width], may be the same memory · loss [1, 1] f64
  void learn(const RankProducts& products, const Tensor& rows, const Tensor& gradient, int epoch,
             int step, const Tensor& loss, bool accumulate);

  /// Scores of the links that are held out; nothing without values. A collective; the host waits.
  ///
  /// Shapes    rows [own vertices, width]
  std::optional<HeldOutScores> score(const Tensor& rows);

 private:
  /// Some links with all their negatives, on the device.
  struct Slab {
    std::int64_t links = 0;
    Buffer left, right;
    SparseBuffer at_left, at_right;
    PairEnds ends() const;
  };
  /// Those of a step without batches; the host draws them now.
  LinkBatches::OfRanks rows_of_step(int epoch, int step);
  /// Links that are worked on at once.
  std::int64_t slab_links(int per_link) const;
  Slab slab(const PairRows& pairs, std::int64_t first, std::int64_t last,
            std::int64_t all_rows) const;
  /// The rows of other ranks that are needed stand behind the own ones.
  Tensor with_received(const PairRows& pairs, const Tensor& rows);
  /// Where the loss of a step is summed.
  struct StepLoss {
    double scale;   ///< of each of its terms
    double weight;  ///< of the step in its epoch
    Tensor sum;
    int step;
    bool accumulate;
  };
  void cross_entropy(std::int64_t links, const Tensor& scores, const Tensor& dscores,
                     const StepLoss& of);
  void margin_loss(std::int64_t links, int per_link, const Tensor& scores, const Tensor& dscores,
                   const StepLoss& of, bool first);
  std::optional<LinkScores> score(const Tensor& rows, const LinkBatches::OfRanks& of_ranks);

  Runtime& rt_;
  const LinkBatches& links_;
  LinkConfig config_;
  LinkDecoder decoder_;
  Buffer rows_, gradient_, sent_, scores_, score_gradients_;
  Buffer margin_, differences_, scaled_, step_losses_, unused_;  ///< of the margin loss
  std::optional<HaloStructure> halo_;  ///< of the pairs that are worked on
  std::optional<SourceExchange> exchange_;
  LinkBatches::OfRanks validation_, test_;  ///< once they have been scored
};

}  // namespace orrery
