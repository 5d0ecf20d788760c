#include "experiments/results/run_report.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/base/units.hpp"
#include "core/runtime/epoch_parts.hpp"
#include "core/terminal/terminal.hpp"
#include "experiments/config/version.hpp"
#include "experiments/predict/interval.hpp"
#include "experiments/predict/preloading.hpp"
#include "experiments/predict/servers/price.hpp"
#include "experiments/results/results.hpp"
#include "experiments/results/seed_groups.hpp"
#include "experiments/results/set_up.hpp"
#include "experiments/results/table.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

/// Whether the last epoch's loss, or a weight after it, is not finite.
bool diverged(const std::vector<EpochReport>& epochs) {
  return !epochs.empty() && epochs.back().divergence;
}

Json divergence_json(const EpochReport& report) {
  const Divergence& found = *report.divergence;
  const auto or_nothing = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
  return {{"loss", std::isnan(*report.loss)      ? "nan"
                   : std::isfinite(*report.loss) ? "finite"
                   : *report.loss > 0            ? "inf"
                                                 : "-inf"},
          {"of", found.of == Divergence::Of::weights ? "weights" : "gradients"},
          {"layer", or_nothing(found.layer)},
          {"largest", or_nothing(found.largest)},
          {"largest_in_layer", or_nothing(found.largest_in)}};
}

std::vector<int> servers_of(const Placement& placement, int ranks) {
  std::vector<int> list;
  for (int r = 0; r < ranks; ++r) list.push_back(placement.server_of(r));
  return list;
}

/// Bytes really received during the whole run, including evaluation, as the communicators counted
/// them.
Json received_json(const Outcome& outcome, const Placement& placement) {
  std::int64_t internal = 0, external = 0;
  for (std::size_t r = 0; r < outcome.ranks.size(); ++r) {
    const auto& from = outcome.ranks[r].received_from;
    for (std::size_t peer = 0; peer < from.size(); ++peer)
      (placement.same_server(static_cast<int>(r), static_cast<int>(peer)) ? internal : external) +=
          from[peer];
  }
  return {{"internal", internal}, {"external", external}};
}

/// Loads of each rank for its steps in the whole run, and the seconds of the rank that loaded
/// longest; null if nothing was run or replayed.
void add_loads(Json& result, const Outcome& outcome, const std::string& backend) {
  Json loads = Json::array();
  double longest = 0;
  for (const RankOutcome& rank : outcome.ranks) {
    loads.push_back(rank.loads);
    double seconds = 0;
    for (const EpochCost& epoch : rank.epochs) seconds += epoch.breakdown.load;
    longest = std::max(longest, seconds);
  }
  const bool known = !outcome.ranks.empty() && backend != "model";
  result["loads"] = known ? loads : Json(nullptr);
  result["load_seconds"] = known ? Json(longest) : Json(nullptr);
}

/// Feature rows of other ranks that the batches of all ranks needed in the whole run; null if there
/// were none.
Json cache_json(const Outcome& outcome) {
  std::int64_t foreign = 0, kept = 0;
  for (const RankOutcome& rank : outcome.ranks) {
    foreign += rank.foreign_rows;
    kept += rank.kept_rows;
  }
  if (foreign == 0) return nullptr;
  return {{"foreign_rows", foreign},
          {"kept_rows", kept},
          {"hit_rate", static_cast<double>(kept) / static_cast<double>(foreign)}};
}

Json breakdown_json(const Breakdown& b) {
  Json seconds;
  for (const EpochPart& part : kEpochParts) seconds[part.key] = b.*part.seconds;
  return seconds;
}

/// Names of the parts in pages and tables.
Json epoch_parts_json() {
  Json list = Json::array();
  for (const EpochPart& part : kEpochParts)
    list.push_back({{"key", part.key},
                    {"words", part.words},
                    {"communication", part.communication},
                    {"in_sum", part.in_sum}});
  return list;
}

Json breakdown_of_rank(const Measurement& measured) {
  Json list = Json::array();
  for (const EpochCost& rank : measured.ranks) list.push_back(breakdown_json(rank.breakdown));
  return list;
}

Json scores_json(const std::optional<LinkScores>& scores) {
  if (!scores) return nullptr;
  return {{"auc", scores->auc}, {"mrr", scores->mrr}, {"hits", scores->hits}};
}

/// How well held-out links are told from pairs that are none; null where no links are predicted.
Json links_json(const EpochReport& report) {
  if (!report.links) return nullptr;
  return {{"validation", scores_json(report.links->validation)},
          {"test", scores_json(report.links->test)}};
}

std::string percent(const Json& accuracy) {
  return accuracy.is_null() ? "-" : fmt::format("{:.1f} %", 100 * accuracy.get<double>());
}

bool interrupted(const FinishedRun& run) { return run.result["interrupted"].get<bool>(); }

bool any_interrupted(const std::vector<FinishedRun>& runs) {
  return std::any_of(runs.begin(), runs.end(), interrupted);
}

/// A run in a sentence: "spmm_1d", "cluster.ranks=2".
std::string in_words(const FinishedRun& run) {
  const auto& [key, value] = row_name(run);
  const bool clear =
      key == "strategy" || key == "strategy.type" || key == "case" || key == "setting";
  return clear ? value : key + "=" + value;
}

/// A run's first column: its numbers cover the epochs that were done.
std::string marked_name(const FinishedRun& run) {
  return row_name(run).second + (interrupted(run) ? " (interrupted)" : "");
}

/// A line for everything that is not as requested.
std::string notice(const std::vector<FinishedRun>& runs, const Unfinished& unfinished) {
  std::string lines;
  for (const FinishedRun& run : runs)
    if (interrupted(run))
      lines +=
          fmt::format("INTERRUPTED: {} after {} of {} epochs; its numbers cover only these\n",
                      in_words(run), run.result["epochs"].get<int>(), run.experiment.train.epochs);
  if (unfinished.missing > 0)
    lines += fmt::format("{}: {} of {} combinations were not run{}\n",
                         unfinished.failure.empty() ? "INTERRUPTED" : "INCOMPLETE",
                         unfinished.missing, runs.size() + unfinished.missing,
                         unfinished.failure.empty() ? "" : ", because one failed");
  return lines;
}

constexpr const char* kLegend =
    "epoch = sum of the columns to its right (median epoch; of the slowest ranks the one "
    "that works most). Communication counts only while no computation runs; the overlapped rest "
    "is in (hidden). internal, external: features between ranks of the same server or of different "
    "ones; gradients: averaging gradients or models; all three include waiting for ranks that come "
    "late; other: idle (hand-overs, cores busy with "
    "other ranks). moved: bytes received by all ranks; peak: memory of the largest rank; val, "
    "test: accuracy (links: AUC) at the best validation epoch.";

/// The interval of a simulated run; null for others.
Json interval_of(const FinishedRun& run) { return run.result.value("interval", Json()); }

/// Runs that the fastest of a table may be no faster than: those within what simulations may be off
/// by ("cannot tell"), and those that are as fast.
std::string cannot_tell_line(const std::vector<FinishedRun>& runs) {
  const FinishedRun* best = nullptr;
  for (const FinishedRun& run : runs)
    if (!run.result.contains("out_of_memory") && run.result.value("backend", "") == "sim" &&
        (best == nullptr || run.measured.epoch_seconds < best->measured.epoch_seconds))
      best = &run;
  if (best == nullptr || interval_of(*best).is_null()) return "";
  std::vector<std::string> near, equal;
  for (const FinishedRun& run : runs) {
    if (&run == best) continue;
    const auto verdict =
        compare_epochs(run.measured.epoch_seconds, errors_from(interval_of(run)),
                       best->measured.epoch_seconds, errors_from(interval_of(*best)));
    if (verdict == Verdict::cannot_tell) near.push_back(in_words(run));
    if (verdict == Verdict::as_fast) equal.push_back(in_words(run));
  }
  const std::string first = in_words(*best);
  std::string line = interval_words(interval_of(*best).value("measured", true));
  if (!equal.empty())
    line += fmt::format("; as fast as {}, within {:.0f} %: {}", first, 100 * kMargin,
                        fmt::join(equal, ", "));
  if (!near.empty()) line += fmt::format("; cannot tell {} from {}", first, fmt::join(near, ", "));
  return line + "\n";
}

/// A row for each run. Columns of parts that are zero everywhere are left out.
std::string table_of(const std::vector<FinishedRun>& runs, int width) {
  std::vector<std::string> header{row_name(runs.front()).first, "epoch"};
  std::vector<EpochPart> columns;
  for (const EpochPart& part : kEpochParts)
    if (std::any_of(runs.begin(), runs.end(),
                    [&](const FinishedRun& r) { return r.measured.breakdown.*part.seconds > 0; }))
      columns.push_back(part);
  for (const EpochPart& part : columns) header.push_back(part.header);
  header.insert(header.end(), {"moved/epoch", "peak/rank", "val", "test"});
  const bool priced = std::ranges::any_of(
      runs, [](const FinishedRun& run) { return run.result.contains("usd_per_epoch"); });
  if (priced) header.emplace_back("price of an epoch");
  Table table(header);
  for (const FinishedRun& run : runs) {
    const Measurement& m = run.measured;
    if (run.result.contains("out_of_memory")) {
      std::vector<std::string> row(header.size(), "-");
      row[0] = row_name(run).second;
      row[1] = "out of memory";
      table.add(row);
      continue;
    }
    std::vector<std::string> row{marked_name(run),
                                 with_interval(m.epoch_seconds, errors_from(interval_of(run)))};
    for (const EpochPart& part : columns) row.push_back(human_seconds(m.breakdown.*part.seconds));
    row.push_back(human_bytes(m.internal_bytes + m.external_bytes));
    row.push_back(human_bytes(*std::max_element(m.peak_bytes.begin(), m.peak_bytes.end())));
    row.push_back(percent(run.result["val_accuracy"]));
    row.push_back(percent(run.result["test_accuracy"]));
    if (priced)
      row.push_back(run.result.contains("usd_per_epoch") ? dollars(run.result["usd_per_epoch"])
                                                         : "-");
    table.add(row);
  }
  return table.text(width);
}

/// Busy seconds of the computing ops of the same epochs, the costliest kind first.
std::string computing_table(const std::vector<FinishedRun>& runs, int width) {
  std::map<std::string, double> total;
  for (const FinishedRun& run : runs)
    for (const auto& [kind, seconds] : run.measured.breakdown.compute_by_kind)
      total[kind] += seconds;
  std::vector<std::string> kinds;
  for (const auto& [kind, seconds] : total) kinds.push_back(kind);
  if (kinds.empty()) return "";
  std::sort(kinds.begin(), kinds.end(),
            [&](const std::string& a, const std::string& b) { return total[a] > total[b]; });
  std::vector<std::string> header{"compute, by operation"};
  header.insert(header.end(), kinds.begin(), kinds.end());
  Table table(header);
  for (const FinishedRun& run : runs) {
    const auto& seconds = run.measured.breakdown.compute_by_kind;
    std::vector<std::string> row{marked_name(run)};
    for (const std::string& kind : kinds)
      row.push_back(seconds.contains(kind) ? human_seconds(seconds.at(kind)) : "-");
    table.add(row);
  }
  return table.text(width);
}

bool sweeps_only_seeds(const std::vector<FinishedRun>& runs) {
  return runs.size() > 1 && std::all_of(runs.begin(), runs.end(), [](const FinishedRun& r) {
           return r.experiment.label.rfind("seed=", 0) == 0 &&
                  r.experiment.label.find(", ") == std::string::npos;
         });
}

/// What limits each run, a line for each. Of many runs the table says it.
std::string limits_text(const std::vector<FinishedRun>& runs) {
  constexpr std::size_t kMost = 8;
  if (runs.size() > kMost || sweeps_only_seeds(runs)) return "";
  std::string text;
  for (const FinishedRun& run : runs)
    if (const Json limit = run.result.value("limited_by", Json()); !limit.is_null())
      text +=
          fmt::format("\n{} is limited by {}", in_words(run), limit["sentence"].get<std::string>());
  return text.empty() ? text : text + "\n";
}

/// What each simulated run reads before its first epoch, a line for each that differs.
std::set<std::string> loading_lines(const std::vector<FinishedRun>& runs) {
  std::set<std::string> lines;
  for (const FinishedRun& run : runs)
    if (const Json loading = run.result.value("loading", Json()); !loading.is_null())
      lines.insert(fmt::format(
          "before the first epoch, and in none: {} over the storage of {}, {} in {} (simulated)",
          loading["reads"] == "parts" ? "each rank reads its parts"
                                      : "each server reads the data set",
          run.experiment.cluster->name, human_bytes(loading["bytes"].get<double>()),
          human_seconds(loading["seconds"].get<double>())));
  return lines;
}

/// Where a timeline is and what it leaves out; nothing if no run left one.
std::string timeline_line(const std::vector<FinishedRun>& runs) {
  const FinishedRun* left = nullptr;
  for (const FinishedRun& run : runs)
    if (run.result.value("timeline_ranks", Json()).is_number()) left = &run;
  if (left == nullptr) return "";
  const int kept = left->result["timeline_ranks"], ranks = left->experiment.ranks();
  const bool by_kind = left->experiment.backend == "sim" && ranks > kMostTracedRanks;
  return fmt::format(
      "  timeline.json of a run opens in ui.perfetto.dev: one row per rank and lane{}\n",
      kept < ranks
          ? fmt::format(" ({} of {} ranks: {} and the slowest, so that a "
                        "browser can open it)",
                        kept, ranks, by_kind ? "some of those that do alike" : "the first ones")
          : "");
}

/// "as threads", "simulated on dgx-a100": simulated times are called simulated.
std::string where(const FinishedRun& run) {
  const bool modelled = run.experiment.backend == "model";
  if (modelled && run.experiment.cluster)
    return "modelled by closed formulas on " + run.experiment.cluster->name;
  if (run.experiment.backend != "sim")
    return modelled ? "modelled by closed formulas" : "as " + run.experiment.backend;
  return "simulated on " + run.experiment.cluster->name;
}

}  // namespace

Json epoch_json(const EpochReport& report, double seconds) {
  const Accuracies scores = report.scores.value_or(Accuracies{});
  Json line{{"schema_version", kSchemaVersion},
            {"epoch", report.epoch},
            {"loss", or_null(report.loss)},
            {"train_accuracy", or_null(scores.train)},
            {"val_accuracy", or_null(scores.validation)},
            {"test_accuracy", or_null(scores.test)},
            {"seconds", seconds}};
  if (report.validation_loss) line["val_loss"] = *report.validation_loss;
  if (report.links) line["links"] = links_json(report);
  return line;
}

Json result_json(const Experiment& experiment, const DataFacts& data, const Placement& placement,
                 const Outcome& outcome, const Measurement& m) {
  const auto best = best_epoch(outcome.epochs, experiment.train.best_by);
  const Accuracies scores = best ? *best->scores : Accuracies{};
  Json kinds = Json::object();
  for (const auto& [kind, seconds] : m.breakdown.compute_by_kind) kinds[kind] = seconds;
  Json result{
      {"schema_version", kSchemaVersion},
      {"name", experiment.name},
      {"label", experiment.label},
      {"interrupted", outcome.interrupted},
      {"backend", experiment.backend},
      {"kernels", outcome.kernels},
      {"strategy", experiment.resolved["strategy"]["type"]},
      {"ranks", experiment.ranks()},
      {"servers", placement.servers()},
      {"server_of_rank", servers_of(placement, experiment.ranks())},
      {"epochs", outcome.epochs.size()},
      {"loss", outcome.epochs.empty() ? Json(nullptr) : or_null(outcome.epochs.back().loss)},
      {"stopped_early", !outcome.epochs.empty() && outcome.epochs.back().stops_early},
      {"diverged_at_epoch",
       diverged(outcome.epochs) ? Json(outcome.epochs.back().epoch) : Json(nullptr)},
      {"evaluated_on", evaluated_on(experiment.strategy).vertices},
      {"best_epoch", best ? Json(best->epoch) : Json(nullptr)},
      {"train_accuracy", or_null(scores.train)},
      {"val_accuracy", or_null(scores.validation)},
      {"test_accuracy", or_null(scores.test)},
      {"epoch_seconds", m.epoch_seconds},
      {"mean_epoch_seconds", m.mean_epoch_seconds},
      {"synchronise_seconds", m.synchronise_seconds},
      {"epoch_parts", epoch_parts_json()},
      {"breakdown", breakdown_json(m.breakdown)},
      {"breakdown_of_rank", breakdown_of_rank(m)},
      {"compute_by_kind", kinds},
      {"bytes", {{"internal", m.internal_bytes}, {"external", m.external_bytes}}},
      {"received_bytes", received_json(outcome, placement)},
      {"collectives", "flat"},
      {"exact_gradients", has_whole_gradients(experiment.strategy)},
      {"peak_bytes", m.peak_bytes},
      {"peak_by_class", m.peak_by_class},
      {"device_bytes", experiment.device_bytes ? Json(*experiment.device_bytes) : Json(nullptr)},
      {"dataset",
       {{"name", data.name},
        {"vertices", data.vertices},
        {"edges", data.edges},
        {"generated", data.generated},
        {"features", data.features_provenance},
        {"notes", data.notes}}},
      {"provenance", provenance()}};
  if (experiment.links) {
    result["links"] = best ? links_json(*best) : Json(nullptr);
    result["links_hits_at"] = experiment.links->hits;
  }
  if (diverged(outcome.epochs)) result["divergence"] = divergence_json(outcome.epochs.back());
  add_loads(result, outcome, experiment.backend);
  result["cache"] = cache_json(outcome);
  if (!experiment.parts_reason.empty())
    result["parts"] = {{"number", experiment.strategy.parts}, {"reason", experiment.parts_reason}};
  return result;
}

void require_result(const JsonReader& file, const std::string& under) {
  const auto key = [&](const std::string& name) { return under + name; };
  const Json& all = under.empty() ? file.json() : file.object(under.substr(0, under.size() - 1));
  for (const char* name : {"epoch_seconds", "val_accuracy", "test_accuracy"}) {
    if (!all.contains(name)) file.fail(key(name), "expected a number or null, found none");
    file.get<double>(key(name), 0);
  }
  if (!all.contains("diverged_at_epoch"))
    file.fail(key("diverged_at_epoch"), "expected a whole number or null, found none");
  file.get<int>(key("diverged_at_epoch"), 0);
  if (file.has(key("divergence"))) {
    for (const char* name : {"loss", "of"}) file.get<std::string>(key("divergence/") + name);
    for (const char* name : {"layer", "largest_in_layer"})
      file.get<int>(key("divergence/") + name, 0);
    file.get<double>(key("divergence/largest"), 0);
  }
  file.get<int>(key("epochs"));
  file.get<bool>(key("interrupted"));
  file.get<std::string>(key("strategy"));
  file.get<std::string>(key("out_dir"));
  if (file.has(key("preloading"))) {
    for (const char* name : {"vertices_ratio", "edges_ratio"})
      file.get<double>(key("preloading/") + name);
    for (const char* name : {"rows", "bytes", "essential_peak_bytes", "preloaded_peak_bytes"})
      file.get<std::int64_t>(key("preloading/") + name);
  }
  if (file.has(key("set_up")))
    for (const char* name : {"seconds", "partition_seconds", "structure_seconds", "device_seconds"})
      file.get<double>(key("set_up/") + name);
  if (!file.has(key("epoch_seconds"))) {  // it did not fit
    file.object(key("out_of_memory"));
    return;
  }
  for (const char* name : {"mean_epoch_seconds", "synchronise_seconds"})
    if (all.contains(name)) file.get<double>(key(name));
  for (const EpochPart& part : kEpochParts) file.get<double>(key("breakdown/") + part.key);
  for (const auto& [kind, seconds] : file.object(key("compute_by_kind")).items())
    if (!seconds.is_number())
      file.fail(key("compute_by_kind"),
                fmt::format("expected seconds of {}, found {}", kind, JsonReader::shown(seconds)));
  for (const char* name : {"bytes/internal", "bytes/external"}) file.get<double>(key(name));
  const std::int64_t peaks = std::ssize(file.counts(key("peak_bytes")));
  if (peaks == 0) file.fail(key("peak_bytes"), "expected one for each rank, found an empty list");
  if (const std::int64_t ranks = file.count(key("ranks"), peaks); ranks != peaks)
    file.fail(key("ranks"),
              fmt::format("expected {}, one for each of peak_bytes, found {}", peaks, ranks));
}

std::string divergence_line(const Json& result) {
  if (result["diverged_at_epoch"].is_null()) return {};
  const std::string label = result.value("label", "");
  const Json found = result.value("divergence", Json());
  const std::string loss = found.is_null() ? "not finite" : found["loss"].get<std::string>();
  std::string line = label.empty() ? "" : label + ": ";
  if (loss == "finite")
    line += "training diverged: the loss of the last epoch is finite, the weights after it are not";
  else
    line += fmt::format("training diverged and was stopped: the loss of epoch {} (from 0) is {}",
                        result["diverged_at_epoch"].get<int>(), loss);
  if (!found.is_null() && !found["layer"].is_null()) {
    line += fmt::format("; layer {} is the first with {} that are not finite",
                        found["layer"].get<int>(), found["of"].get<std::string>());
    line += found["largest"].is_null()
                ? ", and all layers have such numbers"
                : fmt::format(", and the largest of the finite ones is {:.3g}, in layer {}",
                              found["largest"].get<double>(), found["largest_in_layer"].get<int>());
  } else if (!found.is_null() && !found["largest"].is_null()) {
    line += fmt::format("; all {} are finite, and the largest is {:.3g}, in layer {}",
                        found["of"].get<std::string>(), found["largest"].get<double>(),
                        found["largest_in_layer"].get<int>());
  }
  return line + ". Try a smaller train.learning_rate, or smaller features (dataset.row_normalise)";
}

Measurement measurement_of(const Json& result) {
  Measurement m;
  if (result["epoch_seconds"].is_null()) return m;  // it did not fit
  m.epoch_seconds = result["epoch_seconds"];
  m.mean_epoch_seconds = result.value("mean_epoch_seconds", m.epoch_seconds);
  m.synchronise_seconds = result.value("synchronise_seconds", 0.0);
  for (const EpochPart& part : kEpochParts)
    m.breakdown.*part.seconds = result["breakdown"][part.key];
  for (const auto& [kind, seconds] : result["compute_by_kind"].items())
    m.breakdown.compute_by_kind[kind] = seconds;
  m.internal_bytes = result["bytes"]["internal"];
  m.external_bytes = result["bytes"]["external"];
  m.peak_bytes = result["peak_bytes"].get<std::vector<std::int64_t>>();
  return m;
}

std::pair<std::string, std::string> row_name(const FinishedRun& run) {
  const std::string& label = run.experiment.label;
  if (label.empty()) return {"strategy", run.result["strategy"]};
  const auto equals = label.find('=');
  if (label.find(", ") != std::string::npos) return {"setting", label};
  return {label.substr(0, equals), label.substr(equals + 1)};
}

FinishedRun does_not_fit(const Experiment& experiment, const DataFacts& data,
                         const OutOfMemory& error) {
  FinishedRun run{experiment, {}, {}};
  const std::int64_t device_bytes = error.space == "device" ? error.capacity : 0;
  run.measured.peak_bytes.assign(static_cast<std::size_t>(experiment.ranks()), device_bytes);
  run.result = result_json(experiment, data, experiment.placement(), {}, run.measured);
  for (const char* key :
       {"epoch_seconds", "breakdown", "bytes", "received_bytes", "peak_bytes", "kernels"})
    run.result[key] = nullptr;
  run.result["out_of_memory"] = {{"tensor", error.tensor},
                                 {"space", error.space},
                                 {"asked", error.asked},
                                 {"in_use", error.in_use},
                                 {"capacity", error.capacity}};
  return run;
}

Json sweep_json(const std::vector<FinishedRun>& runs, const std::string& folder,
                const Unfinished& unfinished) {
  Json out = runs.front().result;
  out["out_dir"] = folder;
  out["interrupted"] = unfinished.missing > 0 || any_interrupted(runs);
  out["missing"] = unfinished.missing;
  out["failure"] = unfinished.failure.empty() ? Json(nullptr) : Json(unfinished.failure);
  Json seeds = over_seeds(runs);
  if (sweeps_only_seeds(runs) && !seeds.empty() && seeds[0].contains("test_accuracy")) {
    out["mean_test_accuracy"] = seeds[0]["test_accuracy"]["mean"];
    out["std_test_accuracy"] = seeds[0]["test_accuracy"]["std"];
  }
  out["seeds"] = std::move(seeds);
  out["sweep"] = Json::array();
  for (const FinishedRun& run : runs) out["sweep"].push_back(run.result);
  return out;
}

void print_report(const std::vector<FinishedRun>& runs, const std::string& folder,
                  const Unfinished& unfinished, std::FILE* to) {
  const auto fits = std::find_if(runs.begin(), runs.end(), [](const FinishedRun& run) {
    return !run.result.contains("out_of_memory");
  });
  const FinishedRun& first = fits == runs.end() ? runs.front() : *fits;
  const int width = room_on(to);
  const auto say = [&](const std::string& text) { fmt::print(to, "{}", wrapped(text, width)); };
  const auto [fewest, most] =
      std::minmax_element(runs.begin(), runs.end(), [](const FinishedRun& a, const FinishedRun& b) {
        return a.experiment.ranks() < b.experiment.ranks();
      });
  const int from = fewest->experiment.ranks(), up_to = most->experiment.ranks();
  const std::string ranks =
      from == up_to ? fmt::format("{}", from) : fmt::format("{} to {}", from, up_to);
  if (const std::string lines = notice(runs, unfinished); !lines.empty()) say("\n" + lines);
  const int epochs = first.result["epochs"];
  say(fmt::format("\n{}: {} rank{} {}, {} layer{}, {} epoch{}\n\n", first.experiment.name, ranks,
                  up_to == 1 ? "" : "s", where(first), first.experiment.model.layers,
                  first.experiment.model.layers == 1 ? "" : "s", epochs, epochs == 1 ? "" : "s"));
  fmt::print(to, "{}\n", table_of(runs, width));
  fmt::print(to, "{}\n", wrapped(kLegend, paragraph_on(to)));
  say(cannot_tell_line(runs));
  if (const std::string kinds = computing_table(runs, width);
      !sweeps_only_seeds(runs) && !kinds.empty())
    fmt::print(to, "\n{}", kinds);
  say(limits_text(runs));
  if (const std::string seeds = seeds_text(runs); !seeds.empty()) say(seeds);
  for (const FinishedRun& run : runs)
    if (const auto why = inexactness(run.experiment.strategy))
      say(fmt::format("\n{}: gradients are inexact ({})\n", in_words(run), *why));
  std::set<std::string> evaluated;
  for (const FinishedRun& run : runs)
    if (const EvaluatedOn on = evaluated_on(run.experiment.strategy); !on.words.empty())
      evaluated.insert(on.words + on.vertices);
  for (const std::string& line : evaluated) say(fmt::format("\n{}\n", line));
  for (const FinishedRun& run : runs)
    if (const Json preloading = run.result.value("preloading", Json()); !preloading.is_null())
      say(fmt::format("\n{}: {}\n", in_words(run), preloading_line(preloading)));
  std::vector<Json> set_ups;
  for (const FinishedRun& run : runs)
    if (const auto set_up = run.result.find("set_up"); set_up != run.result.end())
      set_ups.push_back(*set_up);
  if (!set_ups.empty()) say(fmt::format("\n{}\n", set_up_line(set_ups)));
  for (const std::string& line : loading_lines(runs)) say(fmt::format("\n{}\n", line));
  fmt::print(to, "\nResults: {}\n", folder);
  say(timeline_line(runs));
}

}  // namespace orrery
