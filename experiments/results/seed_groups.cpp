#include "experiments/results/seed_groups.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>

#include "core/base/units.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

/// What is averaged: its name, and where it stands in a result.
constexpr std::pair<const char*, const char*> kNumbers[] = {
    {"test_accuracy", "/test_accuracy"},   {"val_accuracy", "/val_accuracy"},
    {"train_accuracy", "/train_accuracy"}, {"test_macro_f1", "/scores/test/macro_f1"},
    {"test_auc", "/scores/test/auc"},      {"loss", "/loss"},
    {"epoch_seconds", "/epoch_seconds"},   {"mean_epoch_seconds", "/mean_epoch_seconds"},
};

/// Groups runs by the swept keys without the seed, in the order in which they were run.
std::vector<std::pair<Json, std::vector<const FinishedRun*>>> groups(
    const std::vector<FinishedRun>& runs) {
  std::vector<std::pair<Json, std::vector<const FinishedRun*>>> found;
  for (const FinishedRun& run : runs) {
    Json settings = run.experiment.settings;
    if (!settings.is_object() || !settings.contains("seed")) continue;
    if (run.result.contains("out_of_memory")) continue;  // it has no numbers
    settings.erase("seed");
    const auto same = [&](const auto& group) { return group.first == settings; };
    auto group = std::find_if(found.begin(), found.end(), same);
    if (group == found.end()) {
      found.emplace_back(settings, std::vector<const FinishedRun*>());
      group = std::prev(found.end());
    }
    group->second.push_back(&run);
  }
  std::erase_if(found, [](const auto& group) { return group.second.size() < 2; });
  return found;
}

Json spread(const std::vector<const FinishedRun*>& runs, const char* where) {
  std::vector<double> values;
  for (const FinishedRun* run : runs) {
    const Json::json_pointer pointer(where);
    if (!run->result.contains(pointer) || !run->result[pointer].is_number()) return nullptr;
    values.push_back(run->result[pointer]);
  }
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {{"mean", mean}, {"std", std::sqrt(squares / static_cast<double>(values.size() - 1))}};
}

std::string shown(const std::string& name, const Json& spread) {
  const double mean = spread["mean"], deviation = spread["std"];
  if (name.ends_with("accuracy"))
    return fmt::format("{} {:.1f} % ± {:.1f}", name.substr(0, name.find('_')), 100 * mean,
                       100 * deviation);
  if (name == "epoch_seconds")
    return fmt::format("epoch {} ± {}", human_seconds(mean), human_seconds(deviation));
  return fmt::format("{} {:.4g} ± {:.2g}", name, mean, deviation);
}

}  // namespace

Json over_seeds(const std::vector<FinishedRun>& runs) {
  Json list = Json::array();
  for (const auto& [settings, same] : groups(runs)) {
    Json group{{"settings", settings}, {"runs", same.size()}};
    for (const auto& [name, where] : kNumbers)
      if (Json found = spread(same, where); !found.is_null()) group[name] = std::move(found);
    list.push_back(std::move(group));
  }
  return list;
}

std::string seeds_text(const std::vector<FinishedRun>& runs) {
  std::string text;
  for (const Json& group : over_seeds(runs)) {
    std::string words;
    for (const auto& [key, value] : group["settings"].items())
      words +=
          fmt::format("{}={}, ", key, value.is_string() ? value.get<std::string>() : value.dump());
    words += fmt::format("{} seeds:", group["runs"].get<int>());
    std::string separator = " ";
    for (const auto& [name, where] : kNumbers)
      if (group.contains(name) &&
          name != std::string_view("mean_epoch_seconds")) {  // the table has medians
        words += separator + shown(name, group[name]);
        separator = ", ";
      }
    text += "\n" + words + "\n";
  }
  return text;
}

}  // namespace orrery
