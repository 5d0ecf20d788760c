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

/// Names a structure of a strategy: a number, which has a meaning for the strategy, and a draw.
struct StructureId {
  int number = 0;
  int draw = 0;  ///< the epoch, or the step, for what is drawn anew; else 0
  bool operator==(const StructureId&) const = default;
};

/// The number of the whole graph, for strategies whose other structures are numbered from 0.
inline constexpr int kWholeGraph = -1;

/// One optimiser step.
struct TrainStep {
  StructureId structure;  ///< the structure with its features, labels and targets
  /// Number of training vertices, of all ranks in this step, over which the loss is averaged;
  /// nothing: those of the graph. The expected sum of the targets' weights, if they have weights.
  std::optional<double> averaged_over;
};

/// The training steps of a rank. They can be asked for in any order: each is a function of its
/// epoch and its place there. All calls may come from several threads at once.
class Steps {
 public:
  virtual ~Steps() = default;
  /// Steps of an epoch; may be 0.
  virtual int count(int epoch) const = 0;
  /// Step `index`, from 0, of an epoch.
  virtual TrainStep at(int epoch, int index) const = 0;
  /// The structures of the steps of every epoch, in order, if all epochs have the same. Default: it
  /// is not.
  virtual std::optional<std::vector<StructureId>> fixed() const { return std::nullopt; }
};

/// The same list in every epoch.
class ListedSteps final : public Steps {
 public:
  /// `redrawn`: the structures are drawn anew in every epoch, whose number is the draw.
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

/// Each model is trained in its own steps until all continue from their average. Every epoch has
/// the same number of steps, and step i the same structure number.
struct LocalTraining {
  int interval = 1;  ///< epochs between two averagings
  /// Whether some rank has several models. They then take turns: each trains all epochs of an
  /// interval before the next one, so that its structure is loaded once. An evaluation or a
  /// checkpoint needs all models, so it ends a turn, too. If structures are prepared ahead, a turn
  /// is an epoch. The same on all ranks.
  bool in_turns = false;
  /// Weight of each of the rank's models in the average. Over all ranks the weights sum to 1.
  std::vector<double> shares;
  /// Steps of each model in an epoch, which are consecutive; empty: one step each.
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

/// If a rank's steps share one structure, it stays loaded.
struct Schedule {
  /// Default: the steps of whole-graph training, one per epoch, on structure 0.
  std::shared_ptr<const Steps> training = std::make_shared<ListedSteps>(std::vector<TrainStep>(1));
  /// Numbers of structures whose last rows, together with those of the other ranks of the covering
  /// group, are the vertices of the graph, each once.
  std::vector<int> evaluation{0};
  /// Number of structures that are prepared and loaded while a step works on another one, across
  /// epochs. The device holds `load` of them and that of the step, and also those of evaluations.
  /// Nothing: each replaces the last one when its step begins.
  std::optional<StagesAhead> ahead;
  std::optional<LocalTraining> local;  ///< nothing: all steps of all ranks train one model
  /// The structure of the steps keeps rows from one step to the next: it stays on the device while
  /// others are evaluated, which are loaded in addition. Only where all steps share one structure.
  bool keeps_rows = false;

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
