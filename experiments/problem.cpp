#include "experiments/problem.hpp"

namespace orrery {

std::shared_ptr<const Dataset> DatasetCache::load(const Experiment& experiment) {
  const std::string key = experiment.resolved["dataset"].dump() + std::to_string(experiment.seed);
  just_loaded_ = key != key_;
  if (just_loaded_) {
    last_.reset();  // before the next one takes memory
    last_ = std::make_shared<const Dataset>(load_dataset(experiment.dataset));
    key_ = key;
  }
  return last_;
}

Problem make_problem(const Experiment& experiment, std::shared_ptr<const Dataset> data) {
  Problem problem;
  problem.partition = partition_graph(
      *data->graph, parts_for(experiment.strategy, experiment.ranks()), experiment.partition);
  problem.data = std::move(data);
  problem.model = experiment.model;
  problem.train = experiment.train;
  problem.strategy = experiment.strategy;
  return problem;
}

Capacities device_capacities(const Experiment& experiment) {
  Capacities capacities;
  if (experiment.device_bytes)
    capacities.bytes[static_cast<std::size_t>(Space::device)] = *experiment.device_bytes;
  return capacities;
}

}  // namespace orrery
