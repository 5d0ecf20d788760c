#include "experiments/predict/servers/price.hpp"

#include <fmt/core.h>

#include "experiments/config/shipped.hpp"
#include "experiments/config/validate_json.hpp"

namespace orrery {

std::optional<double> usd_per_epoch(const Experiment& experiment, double epoch_seconds) {
  if (!experiment.cluster) return std::nullopt;
  const std::string path =
      kClusterFiles.find(experiment.resolved["cluster"]["file"].get<std::string>());
  const auto file = parse_json(read_settings(path, "a cluster file"), path);
  const auto& server = file["server"];
  if (!server.contains("usd_per_hour")) return std::nullopt;
  return epoch_seconds * experiment.placement().servers() *
         server["usd_per_hour"]["value"].get<double>() / 3600;
}

std::string dollars(double usd) {
  return usd < 0.01 ? fmt::format("${:.2e}", usd) : fmt::format("${:.3g}", usd);
}

}  // namespace orrery
