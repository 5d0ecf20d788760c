#include "experiments/infer/simulate_inference.hpp"

#include <utility>

#include "core/base/error.hpp"
#include "experiments/config/shipped.hpp"
#include "experiments/config/this_machine.hpp"
#include "experiments/infer/inference_report.hpp"
#include "experiments/predict/simulate.hpp"
#include "experiments/run/forecast.hpp"
#include "experiments/run/interruption.hpp"

namespace orrery {

using Json = nlohmann::ordered_json;

Json simulate_stages(const InferenceProblem& problem, Experiment experiment,
                     const RankStages& counted, Json* simulation) {
  const InferenceBody body(problem);
  experiment.simulation.epochs = body.epochs();
  Simulator simulator(&stop_requested());
  SimulatedOutcome made = simulate(body, experiment, simulator);
  if (simulation != nullptr) *simulation = std::move(made.simulation);
  const std::vector<double> seconds = slowest_seconds(made.outcome);
  Json stages = stages_json(problem, nullptr, counted, seconds);
  if (problem.data->feature_files && experiment.cluster->storage.has_rate())
    stages[0]["seconds"] = seconds[0];
  return stages;
}

Json simulate_elsewhere(const InferenceProblem& problem, const Experiment& experiment,
                        const RankStages& counted, bool quiet) {
  Json told = Json::object();
  for (const std::string& cluster : experiment.simulate_on) try {
      if (cluster == kThisMachine && experiment.kernels != "cuda") measure_this_machine(quiet);
      told[cluster]["stages"] =
          simulate_stages(problem, on_cluster(experiment, cluster), counted, nullptr);
      told[cluster]["seconds"] = total_seconds(told[cluster]["stages"]);
    } catch (const Error& error) {
      told[cluster] = {{"not_simulated", error.what()}};
    }
  return told;
}

}  // namespace orrery
