// The steps of a rank: what it works on, one after the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/index.hpp"
#include "core/strategy/config/stages_ahead.hpp"

namespace orrery {

/// Which structure of a strategy is meant: a number, to which the strategy gives a meaning, and
/// which draw of it.
struct StructureId {
  int number = 0;
  int draw = 0;  ///< the epoch, or the step, of what is drawn anew; else 0
  bool operator==(const StructureId&) const = default;
};

/// One optimiser step.
struct TrainStep {
  StructureId structure;  ///< what it works on, with features, labels and targets
  /// Over how many training vertices, of all ranks in this step, the loss is averaged; nothing: all
  /// of the graph. Where targets have weights, what these sum up to in the mean.
  std::optional<double> averaged_over;
};

/// The training steps of a rank, asked for one at a time, in any order: each is a function of its
/// epoch and its place there. All calls may come from several threads at once.
class Steps {
 public:
  virtual ~Steps() = default;
  /// Steps of an epoch; may be none.
  virtual int count(int epoch) const = 0;
  /// Step `index`, from 0, of an epoch.
  virtual TrainStep at(int epoch, int index) const = 0;
  /// What the steps of every epoch work on, in order, where that is the same in all epochs. Default:
  /// it is not.
  virtual std::optional<std::vector<StructureId>> fixed() const { return std::nullopt; }
};

/// The same list in every epoch.
class ListedSteps final : public Steps {
 public:
  /// `redrawn`: the structures are drawn anew in every epoch, which is the number of the draw.
  explicit ListedSteps(std::vector<TrainStep> list, bool redrawn = false)
      : list_(std::move(list)), redrawn_(redrawn) {}

  int count(int) const override { return static_cast<int>(list_.size()); }
  TrainStep at(int epoch, int index) const override {
    TrainStep step = list_[orrery::at(index)];
    if (redrawn_) step.structure.draw = epoch;
    return step;
  }
  std::optional<std::vector<StructureId>> fixed() const override {
    if (redrawn_) return std::nullopt;
    std::vector<StructureId> structures;
    for (const TrainStep& step : list_) structures.push_back(step.structure);
    return structures;
  }

 private:
  std::vector<TrainStep> list_;
  bool redrawn_;
};

/// Each model is trained in steps of its own, until all go on from their average. Every epoch has the
/// same number of steps, and step i the same structure number.
struct LocalTraining {
  int interval = 1;  ///< epochs from one average to the next
  /// Whether some rank has several models. They then take turns: each trains all epochs of an
  /// interval before the next one does, so that what it works on is loaded once. An evaluation or a
  /// checkpoint, which needs all models, ends a turn as well. Not with structures that are prepared
  /// ahead, where a turn is an epoch. The same on all ranks.
  bool in_turns = false;
  /// Of each of the rank's models in the average; they sum to 1 over all ranks.
  std::vector<double> shares;
  /// Steps of each model in an epoch, which come one after the other; none: one step each.
  std::vector<int> steps{};

  /// A model, and which of its steps.
  struct Place {
    std::size_t model = 0;
    int step = 0;
  };
  int steps_of(std::size_t model) const { return steps.empty() ? 1 : steps[model]; }
  /// The first step of a model in an epoch of the rank.
  int first_step(std::size_t model) const {
    int first = 0;
    for (std::size_t before = 0; before < model; ++before) first += steps_of(before);
    return first;
  }
  Place place_of(int step) const {
    Place place{0, step};
    for (; place.step >= steps_of(place.model); ++place.model) place.step -= steps_of(place.model);
    return place;
  }
};

/// Where a rank's steps share one structure, it stays loaded.
struct Schedule {
  /// Default: those of whole-graph training, one an epoch, on structure 0.
  std::shared_ptr<const Steps> training = std::make_shared<ListedSteps>(std::vector<TrainStep>(1));
  /// Numbers of structures whose last rows, with those of the other ranks of the covering group,
  /// are the vertices of the graph, each once.
  std::vector<int> evaluation{0};
  /// How many structures are prepared and loaded while a step works on another one, over the ends of
  /// epochs. The device holds those of `load` and that of the step, and those of evaluations beside
  /// them. Nothing: each takes the place of the last one when its step begins.
  std::optional<StagesAhead> ahead;
  std::optional<LocalTraining> local;  ///< nothing: all steps of all ranks train one model

  /// Whether all steps and evaluations work on one structure.
  bool stays() const {
    const auto all = training->fixed();
    if (!all) return false;
    const StructureId first = !all->empty()         ? all->front()
                              : !evaluation.empty() ? StructureId{evaluation.front(), 0}
                                                    : StructureId{};
    return std::all_of(evaluation.begin(), evaluation.end(),
                       [&](int number) {
                         return StructureId{number, 0} == first;
                       }) &&
           std::all_of(all->begin(), all->end(),
                       [&](const StructureId& structure) { return structure == first; });
  }
};

}  // namespace orrery
