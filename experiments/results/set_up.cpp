#include "experiments/results/set_up.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/units.hpp"

namespace orrery {

nlohmann::ordered_json set_up_json(const SetUp& set_up) {
  return {{"seconds", set_up.seconds()},
          {"partition_seconds", set_up.partition_seconds},
          {"structure_seconds", set_up.structure_seconds},
          {"device_seconds", set_up.device_seconds}};
}

std::string set_up_line(std::span<const nlohmann::ordered_json> of_runs) {
  const auto seconds = [](const nlohmann::ordered_json& run, const char* key = "seconds") {
    return run[key].get<double>();
  };
  const std::string begins = "set-up before the first epoch, which no epoch contains: ";
  if (of_runs.size() > 1) {
    const auto [least, most] =
        std::minmax_element(of_runs.begin(), of_runs.end(),
                            [&](const auto& a, const auto& b) { return seconds(a) < seconds(b); });
    return fmt::format("{}{} to {} (\"set_up\" in result.json of each run)", begins,
                       human_seconds(seconds(*least)), human_seconds(seconds(*most)));
  }
  const auto& run = of_runs.front();
  const auto said = [&](const char* key) { return human_seconds(seconds(run, key)); };
  return fmt::format(
      "{}{} (cutting the graph into parts {}, subgraphs and halos {}, onto devices {})", begins,
      said("seconds"), said("partition_seconds"), said("structure_seconds"),
      said("device_seconds"));
}

}  // namespace orrery
