#include "experiments/advise/on_this_machine.hpp"

#include <fmt/core.h>

#include "core/base/error.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/config/shipped.hpp"
#include "experiments/config/this_machine.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

/// Keys that say what a simulation takes for this machine.
constexpr std::pair<const char*, const char*> kDescription[] = {{"cluster", "file"},
                                                                {"simulation", "library"}};

void require_this_machine(const Experiment& experiment) {
  const Json& cluster = experiment.resolved["cluster"];
  if (!cluster.contains("file")) return;
  const std::string here = calibrated_machine(experiment.kernels, experiment.ranks());
  if (kClusterFiles.look_up(cluster["file"]) != kClusterFiles.look_up(here))
    throw ConfigError(
        "--measure",
        fmt::format("plans run on this machine, and cluster.file describes another one, {}: leave "
                    "cluster.file out (the file's own or that of --set) to ask about this machine, "
                    "or leave --measure out",
                    cluster["file"].dump()));
}

}  // namespace

OnThisMachine::OnThisMachine(const std::string& file, const std::vector<std::string>& overrides)
    : overrides_(overrides) {
  const Experiment experiment = load_experiments(file, with_any_strategy(file, overrides)).front();
  require_real(experiment, "orrery advise --measure");
  require_data(experiment);
  require_this_machine(experiment);
  asked_ = experiment.base;
  over_links_ = !experiment.netcluster.empty();
  const DescribedHere here = real_.described(experiment, folder_.path());
  overrides_.push_back("simulation.library=" + here.library);
  for (const auto& [key, value] : here.cluster.items())  // none where the file names one
    overrides_.push_back(fmt::format("cluster.{}={}", key, value.dump()));
}

Json OnThisMachine::real_file(Json file) const {
  for (const auto& [room, key] : kDescription) {
    if (!file.contains(room) || (asked_.contains(room) && asked_[room].contains(key))) continue;
    file[room].erase(key);
    if (file[room].empty()) file.erase(room);
  }
  return file;
}

double OnThisMachine::run(const Plan& plan, int epochs) {
  if (!watch_) watch_.emplace();
  Json file = plan.file;
  file["train"]["epochs"] = epochs;
  file.erase("simulation");
  const Json result =
      real_.run(parse_experiments(file.dump(), plan.label, {}).front(), folder_.path());
  if (const Json& note = result["other_work"]["note"]; note.is_string()) others_ = note;
  return result["epoch_seconds"];
}

std::string OnThisMachine::disturbance() const {
  if (over_links_ || !watch_) return others_;
  const calibrate::OtherWork seen = watch_->seen();
  return seen.disturbs() ? seen.words("plans were") : "";
}

}  // namespace orrery
