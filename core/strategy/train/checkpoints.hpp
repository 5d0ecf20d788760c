// The weights that a run saves while it goes on, and how it resumes.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/runtime/body.hpp"
#include "core/strategy/strategy.hpp"
#include "core/strategy/train/local_models.hpp"

namespace orrery {

/// Saves and restores the state of one model that all ranks share, or of all local models.
///
/// Placement weights: on every rank, local models on theirs; the saved state: whole, on rank 0
class Checkpoints {
 public:
  /// `local`: null if all ranks share the model of `parameters`; `learned`: null if features are
  /// not learned.
  Checkpoints(Runtime& rt, const Strategy& strategy, const Parameters& parameters,
              LocalModels* local, LearnedTable* learned)
      : rt_(rt), strategy_(strategy), parameters_(parameters), local_(local), learned_(learned) {}

  /// All local models may start from a single one.
  ///
  /// Errors    ConfigError (other sizes or numbers)
  void restore(const Checkpoint& from);
  /// Begins with the weights and the running averages of another training: its first row and, with
  /// averages, its last. Moments and epochs begin anew; all local models start alike.
  ///
  /// Errors    ConfigError (other sizes)
  void start(const Checkpoint& from);
  /// Adds the state to a checkpoint, and keeps it. The values leave on the copy lane and are kept on
  /// the host lane, while training goes on. Weights that are not finite are not kept: the checkpoint
  /// before stays.
  void keep(Checkpoint checkpoint, RunObserver& observer);
  /// The model that is evaluated, in the same way, for keep_best(). No collective.
  void keep_best(Checkpoint checkpoint, RunObserver& observer);
  /// The last one has been kept.
  void finish();

 private:
  /// The local models of all ranks, by the first structure that each learns from.
  struct Place {
    int structure, rank;
    std::size_t number;  ///< on its rank
  };
  std::vector<Place> places() const;
  std::vector<std::size_t> counts() const;
  void load(const Checkpoint& from, std::size_t first, const std::vector<Tensor>& rows);
  void save(Checkpoint checkpoint, const std::vector<Tensor>& rows,
            std::function<void(const Checkpoint&)> keep);
  std::vector<Tensor> rows_by_structure(const std::vector<Buffer>& gathered) const;

  Runtime& rt_;
  const Strategy& strategy_;
  const Parameters& parameters_;
  LocalModels* local_;
  LearnedTable* learned_;
  std::optional<Task> kept_;  ///< being kept
};

}  // namespace orrery
