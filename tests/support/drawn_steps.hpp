// A strategy for tests of structures that are prepared ahead: every step works on another drawn
// structure.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/rng.hpp"
#include "core/model/adjacency.hpp"
#include "core/partition/neighbourhood.hpp"
#include "core/strategy/product/subgraph_products.hpp"
#include "core/strategy/strategy.hpp"
#include "core/strategy/structure/subgraphs.hpp"

namespace orrery::testing {

/// Several steps an epoch, not always as many. A step has random seeds, its targets, the same on
/// any number of ranks; rank r works on those whose number is r mod W, with all that they depend
/// on, and gradients are averaged. So its loss is one rank's with all seeds. The seeds of the third step
/// of an epoch are multiples of three, and so of three ranks only rank 0 has any. Sizes differ by a
/// factor of four. Evaluation is of the
/// whole graph, on rank 0.
class DrawnSteps final : public Strategy {
 public:
  static constexpr int kWholeGraph = -1;  // as a structure; the others are numbers of steps

  struct Options {
    int ahead = 0;
    std::chrono::milliseconds preparing{0};     ///< that each structure takes at least
    const std::atomic<bool>* broken = nullptr;  ///< preparing fails while it is set
  };

  DrawnSteps(const Problem& problem, Options options)
      : problem_(problem),
        options_(options),
        lengths_(row_lengths(*problem.data->graph,
                             weighting_of(problem.model, problem.data->symmetric))),
        reverse_(transpose(*problem.data->graph)) {
    problem_.strategy.averaging = Averaging::gradient;
  }

  static int steps_of(int epoch) { return 3 + epoch % 3; }

  Schedule schedule(int rank) const override {
    Schedule schedule;
    schedule.training = std::make_shared<Drawn>(*this);
    schedule.evaluation.clear();
    if (rank == 0 && problem_.train.eval_every > 0) schedule.evaluation = {kWholeGraph};
    if (options_.ahead > 0) schedule.ahead = StagesAhead{options_.ahead};
    return schedule;
  }

  std::shared_ptr<const Structure> prepare(int rank, StructureId which) const override {
    if (options_.broken != nullptr && options_.broken->load())
      throw Error("a structure could not be drawn");
    std::this_thread::sleep_for(options_.preparing);
    auto held =
        neighbourhood(*problem_.data->graph, reverse_, own(rank, which), problem_.model.layers);
    const auto part = make_subgraph(problem_.data, problem_.model, std::move(held), lengths_);
    const HostWork work{"sample", part->a.nnz(), 4 * part->a.nnz(), 1};
    return make_structure(Sampled{prepare_subgraph(part, problem_.model)}, work);
  }

  std::unique_ptr<RankProducts> load(Runtime& rt,
                                     std::shared_ptr<const Structure> structure) const override {
    return load_subgraph(rt, content_of<Sampled>(*structure).part, problem_.strategy);
  }

  /// The seeds of a step, of all ranks, ascending.
  std::vector<Vertex> seeds(StructureId which) const {
    std::vector<Vertex> list;
    const auto n = problem_.data->vertices();
    const double share = 0.1 * (1 + (which.number + which.draw) % 4);
    for (Vertex v = 0; v < n; ++v) {
      const auto bits = random_bits(
          problem_.train.seed, Purpose::sampler, static_cast<std::uint32_t>(v),
          static_cast<std::uint32_t>(which.number), static_cast<std::uint32_t>(which.draw));
      if (uniform_double(bits[0], bits[1]) < share && (which.number != 2 || v % 3 == 0))
        list.push_back(v);
    }
    return list;
  }

 private:
  struct Sampled {
    std::shared_ptr<const Structure> part;
  };

  class Drawn final : public Steps {
   public:
    explicit Drawn(const DrawnSteps& strategy) : strategy_(strategy) {}
    int count(int epoch) const override { return steps_of(epoch); }
    TrainStep at(int epoch, int index) const override {
      const StructureId which{index, epoch};
      std::int64_t targets = 0;
      for (const Vertex v : strategy_.seeds(which))
        if (strategy_.problem_.data->split[orrery::at(v)] == Split::train) ++targets;
      return {which, std::max<std::int64_t>(targets, 1)};
    }

   private:
    const DrawnSteps& strategy_;
  };

  std::vector<Vertex> own(int rank, StructureId which) const {
    std::vector<Vertex> list;
    if (which.number == kWholeGraph) {
      for (Vertex v = 0; v < problem_.data->vertices(); ++v) list.push_back(v);
      return list;
    }
    for (const Vertex v : seeds(which))
      if (v % problem_.ranks() == rank) list.push_back(v);
    return list;
  }

  Problem problem_;
  Options options_;
  std::vector<std::int64_t> lengths_;  ///< of the rows of the whole A
  Csr reverse_;
};

}  // namespace orrery::testing
