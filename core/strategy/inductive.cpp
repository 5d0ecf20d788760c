#include "core/strategy/inductive.hpp"

#include "core/base/error.hpp"
#include "core/strategy/make_strategy.hpp"

namespace orrery {
namespace {

/// Added to the number of a structure of the whole graph.
constexpr int kWhole = 1 << 24;

/// A structure of one of the two strategies.
struct OfGraph {
  bool whole;
  std::shared_ptr<const Structure> structure;
};

/// Work of both strategies; the second one does not exist if nothing is evaluated.
class InductiveSession final : public RankSession {
 public:
  InductiveSession(std::unique_ptr<RankSession> training, std::unique_ptr<RankSession> whole)
      : training_(std::move(training)), whole_(std::move(whole)) {}
  /// Structures that only steps work on.
  void fetch(const std::shared_ptr<const Structure>& structure) override {
    training_->fetch(content_of<OfGraph>(*structure).structure);
  }
  std::unique_ptr<RankProducts> load(std::shared_ptr<const Structure> structure) override {
    const auto& [whole, inner] = content_of<OfGraph>(*structure);
    return (whole ? whole_ : training_)->load(inner);
  }
  RowUse row_use() const override { return training_->row_use(); }
  void close() override {
    training_->close();
    if (whole_) whole_->close();
  }

 private:
  std::unique_ptr<RankSession> training_, whole_;
};

class Inductive final : public Strategy {
 public:
  /// `keeps_rows`: training does, from one step to the next.
  Inductive(std::unique_ptr<Strategy> training, std::unique_ptr<Strategy> whole, bool keeps_rows)
      : training_(std::move(training)), whole_(std::move(whole)), keeps_rows_(keeps_rows) {}

  Schedule schedule(int rank) const override {
    Schedule schedule = training_->schedule(rank);
    schedule.evaluation.clear();
    schedule.keeps_rows = keeps_rows_;
    if (whole_)
      for (const int number : whole_->schedule(rank).evaluation)
        schedule.evaluation.push_back(kWhole + number);
    return schedule;
  }

  std::shared_ptr<const Structure> prepare(int rank, StructureId which) const override {
    const bool whole = which.number >= kWhole / 2;
    if (whole) which.number -= kWhole;
    auto structure = (whole ? whole_ : training_)->prepare(rank, which);
    const HostWork work = structure->work;
    return make_structure(OfGraph{whole, std::move(structure)}, work);
  }
  std::unique_ptr<RankSession> open(Runtime& rt) const override {
    return std::make_unique<InductiveSession>(training_->open(rt),
                                              whole_ ? whole_->open(rt) : nullptr);
  }

  std::optional<Redundancy> redundancy() const override { return training_->redundancy(); }
  std::optional<BatchSizes> batch_sizes() const override { return training_->batch_sizes(); }
  std::vector<std::string> notes() const override { return training_->notes(); }

  int representative(int rank) const override {
    if (!whole_) return training_->representative(rank);
    const auto kind = [&](int r) {
      return std::pair{training_->representative(r), whole_->representative(r)};
    };
    int first = 0;
    while (kind(first) != kind(rank)) ++first;
    return first;
  }
  Group own_group(const Group& group, int rank) const override {
    return training_->own_group(group, rank);
  }

 private:
  std::unique_ptr<Strategy> training_, whole_;  ///< whole_ is empty if nothing is evaluated
  bool keeps_rows_;
};

/// Evaluation is exact, so it needs no stale rows, which would take memory.
void evaluate_only(StrategyConfig& strategy) {
  if (strategy.staleness == 0) return;
  strategy.staleness = 0;
  strategy.skip_below = 0;
  strategy.own.reset();  // full_graph: how stale rows are smoothed
}

}  // namespace

std::unique_ptr<Strategy> make_inductive(const Problem& problem) {
  Problem training = problem;
  training.whole.reset();
  const bool keeps_rows = problem.strategy.staleness > 0;
  if (problem.train.eval_every == 0)
    return std::make_unique<Inductive>(make_strategy(training), nullptr, keeps_rows);
  Problem whole = training;
  static_cast<ProblemData&>(whole) = *problem.whole;
  whole.partition = problem.whole_partition;
  evaluate_only(whole.strategy);
  return std::make_unique<Inductive>(make_strategy(training), make_strategy(whole), keeps_rows);
}

}  // namespace orrery
