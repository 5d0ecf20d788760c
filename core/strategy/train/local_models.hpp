// The models that steps train separately: whose turn it is, their average, and how they are saved.
#pragma once

#include <vector>

#include "core/model/parameters.hpp"
#include "core/strategy/schedule.hpp"

namespace orrery {

/// The local models of one rank. `parameters` hold the first model, except while another one is at
/// work. All start from the same weights.
///
/// Placement each model, with its optimiser's state, on one rank; the average: on every rank
/// Source    CATGNN 3.3, which does not say what happens to Adam's moments: each model keeps its
///           own
class LocalModels {
 public:
  LocalModels(Runtime& rt, Parameters& parameters, LocalTraining plan);

  /// A rank without models holds the average.
  std::size_t count() const { return plan_.shares.size(); }
  /// Puts a model into `parameters`, and the first one back.
  void begin_step(std::size_t model) { swap(model); }
  void end_step(std::size_t model) { swap(model); }
  /// The rows of Parameters::state() of a model.
  std::vector<Tensor> state(std::size_t model);

  bool averaged_after(int epoch) const { return (epoch + 1) % plan_.interval == 0; }
  /// All weights of all ranks ← Σ over models of share·weights, on a lane of its own; the compute
  /// lane waits for it before it continues. It replaces the gradients.
  void average();

  /// The average replaces the weights as long as this lives, for an evaluation.
  class ForNow {
   public:
    explicit ForNow(LocalModels& models);
    ~ForNow() { parameters_.swap_weights_and_gradients(); }
    ForNow(const ForNow&) = delete;
    ForNow& operator=(const ForNow&) = delete;

   private:
    Parameters& parameters_;
  };

  /// The states of the models of all ranks (rank r has counts[r]): one matrix for each number of a
  /// model on its rank and row of the state, with rows by rank. On the communication lane; the
  /// compute lane waits for them before it continues.
  std::vector<Buffer> gather(const std::vector<std::size_t>& counts);

 private:
  void swap(std::size_t model) {
    if (model > 0) parameters_.swap_state(others_[model - 1]);
  }
  void average_into_gradients();

  Runtime& rt_;
  Parameters& parameters_;
  LocalTraining plan_;
  std::vector<Parameters::State> others_;  ///< state from the second model on
};

}  // namespace orrery
