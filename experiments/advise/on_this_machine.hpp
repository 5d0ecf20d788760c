// This machine as the one that a search is about, and that runs its plans.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/temporary_folder.hpp"
#include "experiments/advise/search_space.hpp"
#include "experiments/calibrate/other_work.hpp"
#include "experiments/run/real_run.hpp"
#include "experiments/run/runner.hpp"

namespace orrery {

class OnThisMachine {
 public:
  /// `overrides`: of the file, in the form of load_experiments().
  ///
  /// Errors    ConfigError: the file names another cluster or a backend that does not run for real,
  ///           data on which nobody can train, this machine is not calibrated; those of RealRuns
  OnThisMachine(const std::string& file, const std::vector<std::string>& overrides);

  /// The overrides with what a search on this machine needs besides.
  const std::vector<std::string>& overrides() const { return overrides_; }
  /// The file of a plan of such a search without that: as it runs for real.
  nlohmann::ordered_json real_file(nlohmann::ordered_json file) const;

  /// The median of its epochs' seconds, without the first, of a plan with a real_file().
  ///
  /// Errors    those of RealRuns::run()
  double run(const Plan& plan, int epochs);
  /// What other programs did since the first run, if that made epochs longer; else empty.
  std::string disturbance() const;

 private:
  std::vector<std::string> overrides_;
  nlohmann::ordered_json asked_;  ///< the file with its own overrides alone
  bool over_links_ = false;       ///< of a netcluster
  TemporaryFolder folder_{"advise"};
  Job job_;
  Runner runner_{{.quiet = true}, job_};
  RealRuns real_{runner_};
  std::optional<calibrate::WorkWatch> watch_;  ///< from the first run on
  std::string others_;  ///< what ranks over links, which are no children of this process, said
};

}  // namespace orrery
