#include "experiments/starve/starve_report.hpp"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "core/base/units.hpp"
#include "core/terminal/terminal.hpp"
#include "experiments/config/version.hpp"
#include "experiments/results/table.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

std::string capacities_text(const StagesAhead& ahead) {
  return fmt::format("{}, {}, {}", ahead.sample, ahead.fetch, ahead.load);
}

std::string cache_text(const Fed& fed) {
  if (fed.cache_bytes == 0) return "none";
  return fmt::format("{}, {}", fed.cache_policy, human_bytes(fed.cache_bytes));
}

void print_stages(const StarveStudy& study) {
  const StageTimes& batch = study.now.batch;
  const StagesAhead& ahead = study.now.ahead;
  std::vector<std::string> header{"stage", "ahead", "a batch", "the trainer waits"};
  if (study.forecast) header.insert(header.end(), {"forecast a batch", "forecast waits"});
  Table table(header, 1);
  const std::array<std::string, kBatchStages> capacity{fmt::format("{}", ahead.sample),
                                                       fmt::format("{}", ahead.fetch),
                                                       fmt::format("{}", ahead.load), ""};
  for (std::size_t s = 0; s < kBatchStages; ++s) {
    std::vector<std::string> row{std::string(name_of(static_cast<BatchStage>(s))), capacity[s]};
    const auto add = [&](const StageTimes& times) {
      row.push_back(human_seconds(times.busy[s]));
      row.push_back(human_percent(times.waited[s] / times.seconds));
    };
    add(batch);
    if (study.forecast) add(study.forecast->batch);
    table.add(row);
  }
  fmt::print("{}", table.text(room_on(stdout)));
}

/// The stages in a sentence.
std::string verdict(const StarveStudy& study) {
  const StageTimes& batch = study.now.batch;
  const BatchStage limit = batch.limit();
  const std::string cores = fmt::format(
      "the stages before training keep {:.1f} cores of a server busy; trainers that never wait "
      "would need {:.1f}{}",
      study.cores_busy, study.cores_needed,
      study.cores > 0 ? fmt::format("; it has {}", study.cores) : "");
  if (limit == BatchStage::train)
    return fmt::format("training limits: the trainer waits {} of the time for batches; {}",
                       human_percent(study.now.waiting()), cores);
  return fmt::format(
      "{} limits: the trainer waits {} of the time for batches, {} for this stage; "
      "{}",
      name_of(limit), human_percent(study.now.waiting()),
      human_percent(batch.waited[static_cast<std::size_t>(limit)] / batch.seconds), cores);
}

/// How far the forecast is from the measurement.
std::string forecast_words(const StarveStudy& study) {
  const double points = *study.forecast_points();
  return fmt::format("forecast: the trainer waits {} of the time, {:.0f} points {} than measured\n",
                     human_percent(study.forecast->waiting()), std::abs(points),
                     points < 0 ? "less" : "more");
}

/// A row for settings, with what was simulated.
std::vector<std::string> tried_row(std::string settings, const Fed& fed) {
  if (!fed.does_not_fit.empty()) return {std::move(settings), "does not fit", "-", "-"};
  return {std::move(settings), human_seconds(fed.epoch_seconds), human_percent(fed.waiting()),
          std::string(name_of(fed.batch.limit()))};
}

/// What there is no room for, once each.
void print_misfits(const std::vector<Fed>& tried) {
  std::set<std::string> told;
  for (const Fed& fed : tried)
    if (!fed.does_not_fit.empty() && told.insert(fed.does_not_fit).second)
      fmt::print(
          "{}", wrapped(fmt::format("does not fit: {}\n", fed.does_not_fit), paragraph_on(stdout)));
}

void print_tried(const StarveStudy& study) {
  Table capacities({"sample, fetch, load ahead", "epoch", "waits", "limits"}, 1);
  for (const Fed& fed : study.capacities)
    capacities.add(tried_row(capacities_text(fed.ahead), fed));
  fmt::print("\nwith other capacities, simulated\n{}", capacities.text(room_on(stdout)));
  print_misfits(study.capacities);
  if (study.enough_capacity)
    fmt::print("{}",
               wrapped(fmt::format("enough: {} (no other is more than {:.0f} % faster)\n",
                                   capacities_text(study.capacities[*study.enough_capacity].ahead),
                                   100 * (kAsGood - 1)),
                       paragraph_on(stdout)));
  if (study.caches.empty()) return;
  Table caches({"cache of each rank", "epoch", "waits", "limits"}, 1);
  for (const Fed& fed : study.caches) caches.add(tried_row(cache_text(fed), fed));
  fmt::print("\nwith other caches, simulated\n{}", caches.text(room_on(stdout)));
  print_misfits(study.caches);
  if (study.enough_cache)
    fmt::print("enough: {} (as above)\n", cache_text(study.caches[*study.enough_cache]));
}

Json fed_json(const Fed& fed) {
  const bool fits = fed.does_not_fit.empty();
  const auto if_it_fits = [&](Json value) { return fits ? std::move(value) : Json(); };
  Json stages = Json::object();
  for (std::size_t s = 0; s < kBatchStages; ++s)
    stages[std::string(name_of(static_cast<BatchStage>(s)))] = {
        {"busy_seconds", fed.batch.busy[s]}, {"waited_seconds", fed.batch.waited[s]}};
  return {{"pipeline",
           {{"sample", fed.ahead.sample}, {"fetch", fed.ahead.fetch}, {"load", fed.ahead.load}}},
          {"cache",
           {{"policy", fed.cache_bytes > 0 ? Json(fed.cache_policy) : Json()},
            {"bytes", fed.cache_bytes}}},
          {"epoch_seconds", if_it_fits(fed.epoch_seconds)},
          {"batch_seconds", if_it_fits(fed.batch.seconds)},
          {"waiting_share", if_it_fits(fed.waiting())},
          {"limits", if_it_fits(name_of(fed.batch.limit()))},
          {"stages", if_it_fits(stages)},
          {"does_not_fit", fits ? Json() : Json(fed.does_not_fit)}};
}

Json list_json(const std::vector<Fed>& tried) {
  Json list = Json::array();
  for (const Fed& fed : tried) list.push_back(fed_json(fed));
  return list;
}

}  // namespace

void print_starving(const std::string& name, const StarveStudy& study) {
  fmt::print("{}: {} ranks, {} batches an epoch, {} an epoch, {}\n\n", name, study.ranks,
             study.batches, human_seconds(study.now.epoch_seconds),
             study.measured ? "measured" : "simulated");
  print_stages(study);
  fmt::print("{}", wrapped(verdict(study) + "\n", paragraph_on(stdout)));
  if (study.forecast) fmt::print("{}", wrapped(forecast_words(study), paragraph_on(stdout)));
  if (!study.not_measured.empty())
    fmt::print("simulated, because one process was started; to measure it: {}\n",
               study.not_measured);
  if (study.not_replayed.empty())
    print_tried(study);
  else
    fmt::print("nothing else was tried: {}\n", study.not_replayed);
}

Json starving_json(const std::string& name, const StarveStudy& study) {
  const auto enough = [](const std::optional<std::size_t>& which) {
    return which ? Json(*which) : Json();
  };
  const std::optional<double> points = study.forecast_points();
  return {{"schema_version", kSchemaVersion},
          {"name", name},
          {"ranks", study.ranks},
          {"batches", study.batches},
          {"measured", study.measured},
          {"now", fed_json(study.now)},
          {"forecast", study.forecast ? fed_json(*study.forecast) : Json()},
          {"forecast_points", points ? Json(*points) : Json()},
          {"not_measured", study.not_measured.empty() ? Json() : Json(study.not_measured)},
          {"cores",
           {{"busy", study.cores_busy},
            {"needed", study.cores_needed},
            {"there", study.cores > 0 ? Json(study.cores) : Json()}}},
          {"capacities", list_json(study.capacities)},
          {"enough_capacity", enough(study.enough_capacity)},
          {"caches", list_json(study.caches)},
          {"enough_cache", enough(study.enough_cache)},
          {"not_replayed", study.not_replayed.empty() ? Json() : Json(study.not_replayed)}};
}

}  // namespace orrery
