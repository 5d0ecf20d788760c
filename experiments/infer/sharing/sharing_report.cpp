#include "experiments/infer/sharing/sharing_report.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/units.hpp"
#include "core/terminal/activity.hpp"
#include "core/terminal/terminal.hpp"
#include "experiments/config/version.hpp"
#include "experiments/results/table.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

std::int64_t rows_of(double share, std::int64_t vertices, const char* flag, double least) {
  if (!(share >= 0 && share <= 1) || share < least)
    throw ConfigError(flag, fmt::format("found {}, expected a share of the vertices, {} to 1",
                                        share, least > 0 ? "above 0" : "0"));
  return std::llround(share * static_cast<double>(vertices));
}

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

std::string percent(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:.1f} %", 100 * *ratio) : "-";
}

Json to_json(const std::string& name, const NetworkSharing& sharing,
             const SharingSettings& settings) {
  Json systems = Json::array();
  for (const auto& system : sharing.systems) {
    Json levels = Json::array();
    for (int level = 0; level < static_cast<int>(sharing.used.size()); ++level)
      levels.push_back(or_null(sharing.ratio(system, level)));
    systems.push_back({{"system", system.name},
                       {"made", system.made},
                       {"sharing_by_level", levels},
                       {"sharing", or_null(sharing.ratio(system))},
                       {"mean_over_levels", or_null(sharing.mean_ratio(system))}});
  }
  return {{"schema_version", kSchemaVersion},
          {"name", name},
          {"vertices", sharing.vertices},
          {"fanouts", settings.fanouts},
          {"merged", settings.merged},
          {"batch", settings.batch},
          {"cached", settings.cached},
          {"order", settings.order},
          {"used", sharing.used},
          {"all_networks_counted", sharing.networks_counted},
          {"all_batches_counted", sharing.batches_counted},
          {"systems", systems}};
}

void print(const std::string& name, const NetworkSharing& sharing,
           const SharingSettings& settings) {
  fmt::print("{}: ego networks of {} targets, {} drawn in each layer\n\n", name, sharing.vertices,
             fmt::join(settings.fanouts, ", "));
  std::vector<std::string> header{"system"};
  const int levels = static_cast<int>(sharing.used.size());
  for (int level = 0; level < levels; ++level)
    header.push_back(level == 0 ? "input" : fmt::format("layer {}", level));
  header.insert(header.end(), {"all together", "mean of levels"});
  Table table(header);
  for (const auto& system : sharing.systems) {
    std::vector<std::string> row{system.name};
    for (int level = 0; level < levels; ++level)
      row.push_back(percent(sharing.ratio(system, level)));
    row.push_back(percent(sharing.ratio(system)));
    row.push_back(percent(sharing.mean_ratio(system)));
    table.add(row);
  }
  std::vector<std::string> row{"used, a value"};
  for (const double used : sharing.used)
    row.push_back(fmt::format("{:.1f} times", used / static_cast<double>(sharing.vertices)));
  row.insert(row.end(), {"", ""});
  table.add(row);
  fmt::print("{}\n", table.text(room_on(stdout)));
  std::string words = fmt::format(
      "The value of a vertex at a level is used by every target in whose ego network it is there. "
      "Of "
      "what making it once for each of these takes more than making it once (Deal), the share that "
      "a "
      "system saves: DGI merges {} targets in a batch; DistDGL {}; P3 shares the input alone; "
      "SALIENT++ has DistDGL's batches and keeps {} input rows. What is drawn is the same for all.",
      settings.merged, settings.batch, settings.cached);
  if (!sharing.networks_counted)
    words +=
        fmt::format(" Own networks of {} targets were counted, and scaled up.", settings.networks);
  if (!sharing.batches_counted)
    words +=
        fmt::format(" At most {} batches of a kind were counted, and scaled up.", settings.batches);
  fmt::print("{}\n", wrapped(words, paragraph_on(stdout)));
}

}  // namespace

void report_sharing(const Dataset& dataset, SharingSettings settings, const SharingShares& shares,
                    bool json) {
  const std::int64_t vertices = dataset.vertices();
  settings.merged = std::max<std::int64_t>(1, rows_of(shares.merged, vertices, "--merged", 1e-12));
  settings.cached = rows_of(shares.cached, vertices, "--cached", 0);
  std::optional<Activity> counting;
  counting.emplace("counting ego networks and batches");
  const NetworkSharing sharing = network_sharing(*dataset.graph, settings);
  counting.reset();
  if (json) {
    fmt::print("{}\n", to_json(dataset.name, sharing, settings).dump());
    return;
  }
  print(dataset.name, sharing, settings);
}

}  // namespace orrery
