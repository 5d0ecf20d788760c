// From an experiment's settings to the problem that a strategy works on.
#pragma once

#include <memory>
#include <string>

#include "core/runtime/ledger.hpp"
#include "core/strategy/strategy.hpp"
#include "experiments/config.hpp"

namespace orrery {

/// Loads data sets, keeping the last one: the combinations of a sweep mostly share theirs.
class DatasetCache {
 public:
  std::shared_ptr<const Dataset> load(const Experiment& experiment);
  /// Whether the last load() really read or generated something.
  bool just_loaded() const { return just_loaded_; }

 private:
  std::string key_;
  bool just_loaded_ = false;
  std::shared_ptr<const Dataset> last_;
};

/// Partitions the data set for the experiment's ranks.
Problem make_problem(const Experiment& experiment, std::shared_ptr<const Dataset> data);

/// The device memory of each rank.
Capacities device_capacities(const Experiment& experiment);

}  // namespace orrery
