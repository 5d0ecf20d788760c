#include "experiments/results/limits.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/runtime/epoch_parts.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNearCapacity = 0.9, kUnequal = 1.1;
constexpr double kTied = 0.98;  // of the busiest link's use
constexpr double kIdle = 0.2;   // links that are used less while ranks communicate limit nothing

std::string costliest_kind(const Json& result) {
  const Json& kinds = result["compute_by_kind"];
  double total = 0, most = -1;
  std::string name;
  for (const auto& [kind, seconds] : kinds.items()) {
    total += seconds.get<double>();
    if (seconds > most) {
      most = seconds;
      name = kind;
    }
  }
  return total > 0 ? fmt::format("; {} is {} of it", name, human_percent(most / total)) : "";
}

/// The words for a part that limits a run.
std::string words_of(const EpochPart& part) {
  const bool waits = part.seconds == &Breakdown::other;
  return std::string(part.words) + (waits ? " (for the host, hand-overs or other ranks)" : "");
}

/// `share`: of the epoch that is exposed communication.
std::string busiest_link(const Json& result, double share) {
  const Json links = result.value("links", Json::array());
  if (!links.is_array()) return "";  // a real run's are those that were predicted
  const Json* busiest = nullptr;
  for (const Json& link : links)
    if (busiest == nullptr || link["utilisation"] > (*busiest)["utilisation"]) busiest = &link;
  if (busiest == nullptr) return "";
  const double most = (*busiest)["utilisation"];
  const auto alike = std::count_if(links.begin(), links.end(), [&](const Json& link) {
    return link["utilisation"].get<double>() >= kTied * most;
  });
  return fmt::format(
      "; busiest link {} at {}{}{}", (*busiest)["name"].get<std::string>(), human_percent(most),
      alike > 1 ? fmt::format(", {} more alike", alike - 1) : "",
      most < kIdle * share ? ": latencies and waiting for other ranks, not bandwidth" : "");
}

std::string beside(const Json& result) {
  std::string notes;
  double sum = 0, most = 0;
  const Json ranks = result.value("breakdown_of_rank", Json::array());
  for (const Json& rank : ranks) {
    sum += rank["compute"].get<double>();
    most = std::max(most, rank["compute"].get<double>());
  }
  const double mean = sum / static_cast<double>(std::max<std::size_t>(1, ranks.size()));
  if (mean > 0 && most / mean > kUnequal)
    notes += fmt::format("; the busiest rank computes {:.2f} times the mean", most / mean);
  if (result.contains("device_bytes") && result["device_bytes"].is_number()) {
    double peak = 0;
    for (const Json& bytes : result["peak_bytes"]) peak = std::max(peak, bytes.get<double>());
    const double full = peak / result["device_bytes"].get<double>();
    if (full > kNearCapacity) notes += fmt::format("; memory is {} full", human_percent(full));
    const Json bound = result.value("peak_bytes_bound", Json());
    if (bound.is_number() && bound > result["device_bytes"])
      notes += fmt::format("; other batches may need up to {}, which does not fit",
                           human_bytes(bound.get<double>()));
  }
  return notes;
}

}  // namespace

Json limited_by(const Json& result) {
  if (result.contains("out_of_memory")) {
    const Json& short_of = result["out_of_memory"];
    return {{"part", "memory"},
            {"share", 1.0},
            {"sentence", short_of.value("space", "device") + " memory: no room for " +
                             short_of["tensor"].get<std::string>()}};
  }
  const Json& parts = result["breakdown"];
  if (!parts.is_object()) return nullptr;
  double total = 0, communication = 0, largest = 0;
  const EpochPart* part = nullptr;
  std::vector<std::string> kinds;
  for (const EpochPart& p : kEpochParts)
    if (p.in_sum) total += parts[p.key].get<double>();
  if (total <= 0) return nullptr;
  for (const EpochPart& p : kEpochParts) {
    if (!p.in_sum) continue;
    const double seconds = parts[p.key];
    if (p.communication) {
      communication += seconds;
      if (seconds > 0)
        kinds.push_back(fmt::format("{} {}", p.words, human_percent(seconds / total)));
    } else if (seconds > largest) {
      largest = seconds;
      part = &p;
    }
  }
  if (communication > largest)
    return {{"part", "communication"},
            {"share", communication / total},
            {"sentence", fmt::format("exposed communication, {} of the epoch ({}){}{}",
                                     human_percent(communication / total), fmt::join(kinds, ", "),
                                     busiest_link(result, communication / total), beside(result))}};
  const bool computes = part->seconds == &Breakdown::compute;
  return {{"part", part->key},
          {"share", largest / total},
          {"sentence",
           fmt::format("{}, {} of the epoch{}{}", words_of(*part), human_percent(largest / total),
                       computes ? costliest_kind(result) : "", beside(result))}};
}

}  // namespace orrery
