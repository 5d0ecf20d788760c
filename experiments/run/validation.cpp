#include "experiments/run/validation.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/runtime/epoch_parts.hpp"
#include "experiments/config/version.hpp"
#include "experiments/execute/median.hpp"
#include "experiments/results/table.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

struct ClassName {
  const char* name;
  double ClassSeconds::*seconds;
};
constexpr ClassName kClasses[] = {{"spmm", &ClassSeconds::spmm},
                                  {"gemm", &ClassSeconds::gemm},
                                  {"other compute", &ClassSeconds::other_compute},
                                  {"communication", &ClassSeconds::communication},
                                  {"other", &ClassSeconds::other}};

/// Ranks from 1; equal values get their mean rank.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<double> ranks;
  for (const double v : values) {
    const auto below = std::count_if(values.begin(), values.end(), [&](double x) { return x < v; });
    const auto equal = std::count(values.begin(), values.end(), v);
    ranks.push_back(static_cast<double>(below) + (static_cast<double>(equal) + 1) / 2);
  }
  return ranks;
}

/// The label without the strategy.
std::string without_strategy(const std::string& label) {
  std::string rest;
  for (std::size_t begin = 0; begin < label.size();) {
    const std::size_t end = std::min(label.find(", ", begin), label.size());
    const std::string item = label.substr(begin, end - begin);
    if (item.rfind("strategy", 0) != 0) rest += item + ", ";
    begin = end + 2;
  }
  return rest;
}

std::vector<double> column(const std::vector<ValidationRow>& rows, double ValidationRow::*value) {
  std::vector<double> list;
  for (const ValidationRow& row : rows) list.push_back(row.*value);
  return list;
}

std::size_t winner(const std::vector<double>& seconds) {
  return static_cast<std::size_t>(std::min_element(seconds.begin(), seconds.end()) -
                                  seconds.begin());
}

struct Errors {
  std::size_t rows = 0;
  double mean = 0, most = 0, mean_signed = 0;
};
Errors errors_of(const std::vector<ValidationRow>& rows,
                 const std::function<bool(const ValidationRow&)>& counts) {
  Errors e;
  for (const ValidationRow& row : rows) {
    if (!counts(row)) continue;
    ++e.rows;
    e.mean += std::abs(row.error());
    e.mean_signed += row.error();
    e.most = std::max(e.most, std::abs(row.error()));
  }
  if (e.rows > 0) {
    e.mean /= static_cast<double>(e.rows);
    e.mean_signed /= static_cast<double>(e.rows);
  }
  return e;
}
Json errors_json(const Errors& e) {
  if (e.rows == 0)
    return {{"rows", 0},
            {"mean_abs_error", nullptr},
            {"max_abs_error", nullptr},
            {"mean_error", nullptr}};
  return {{"rows", e.rows},
          {"mean_abs_error", e.mean},
          {"max_abs_error", e.most},
          {"mean_error", e.mean_signed}};
}

struct RowClass {
  const char *name, *text;
  bool (*counts)(const ValidationRow&);
};
constexpr RowClass kRowClasses[] = {
    {"enough_cores", "with enough cores", [](const ValidationRow& r) { return !r.oversubscribed; }},
    {"oversubscribed", "with more ranks than cores",
     [](const ValidationRow& r) { return r.oversubscribed; }},
    {"held_out", "with enough cores, not seen by calibration",
     [](const ValidationRow& r) { return !r.oversubscribed && !r.used_by_calibration; }},
    {"agreeing", "with enough cores, whose repeats agree",
     [](const ValidationRow& r) { return !r.oversubscribed && r.agrees(); }}};

/// How many of the rows that were repeated agree.
struct Agreement {
  std::size_t rows = 0, agree = 0;
  double share() const { return static_cast<double>(agree) / static_cast<double>(rows); }
  bool enough() const { return share() >= kEnoughAgree; }
};
Agreement agreement_of(const std::vector<ValidationRow>& rows) {
  Agreement found;
  for (const ValidationRow& row : rows) {
    found.rows += row.spread() ? 1 : 0;
    found.agree += row.agrees() ? 1 : 0;
  }
  return found;
}
Json agreement_json(const Agreement& found) {
  if (found.rows == 0) return nullptr;
  return {{"rows", found.rows}, {"agree", found.agree}, {"enough", found.enough()}};
}

/// How many measured times lie within their intervals.
struct Coverage {
  std::size_t rows = 0, covered = 0;
  std::optional<double> median_half_width;
};
Coverage coverage_of(const std::vector<ValidationRow>& rows,
                     const std::function<bool(const ValidationRow&)>& counts) {
  Coverage c;
  std::vector<double> widths;
  for (const ValidationRow& row : rows) {
    if (!row.errors || !counts(row)) continue;
    ++c.rows;
    c.covered += row.covered() ? 1 : 0;
    widths.push_back(half_width(*row.errors));
  }
  if (widths.empty()) return c;
  c.median_half_width = median(std::move(widths));
  return c;
}
Json coverage_json(const Coverage& c) {
  return {{"rows", c.rows},
          {"covered", c.covered},
          {"median_half_width", or_null(c.median_half_width)}};
}

struct Strategies {
  std::size_t groups = 0, right = 0;
  /// In which some strategy cannot be told from the simulated winner; else, is as fast.
  std::size_t cannot_tell = 0, as_fast = 0;
  std::optional<double> correlation;
};
Strategies compare_strategies(const std::vector<ValidationRow>& rows) {
  Strategies s;
  double sum = 0;
  int counted = 0;
  for (const auto& group : strategy_groups(rows)) {
    const auto real = column(group, &ValidationRow::real_seconds),
               simulated = column(group, &ValidationRow::simulated_seconds);
    ++s.groups;
    const std::size_t first = winner(simulated);
    if (winner(real) == first) ++s.right;
    const auto some_are = [&](Verdict verdict) {
      return std::any_of(group.begin(), group.end(), [&](const ValidationRow& row) {
        return &row != &group[first] &&
               compare_epochs(row.simulated_seconds, row.errors, simulated[first],
                              group[first].errors) == verdict;
      });
    };
    if (some_are(Verdict::cannot_tell))
      ++s.cannot_tell;
    else if (some_are(Verdict::as_fast))
      ++s.as_fast;
    if (const auto r = rank_correlation(real, simulated)) {
      sum += *r;
      ++counted;
    }
  }
  if (counted > 0) s.correlation = sum / counted;
  return s;
}

/// The speed-up of a strategy over the first one of its group.
struct SpeedUp {
  std::string setting;
  double real = 1, simulated = 1;
  double error() const { return simulated / real - 1; }
};
std::vector<SpeedUp> speed_ups(const std::vector<ValidationRow>& rows) {
  std::vector<SpeedUp> list;
  for (const auto& group : strategy_groups(rows)) {
    const ValidationRow& first = group.front();
    for (std::size_t i = 1; i < group.size(); ++i)
      list.push_back({group[i].setting(), first.real_seconds / group[i].real_seconds,
                      first.simulated_seconds / group[i].simulated_seconds});
  }
  return list;
}

/// A class that real runs hardly have has no relative error.
Json class_json(const ValidationRow& row, const ClassName& c) {
  const double real = row.real.*c.seconds, simulated = row.simulated.*c.seconds;
  return {{"real_seconds", real},
          {"simulated_seconds", simulated},
          {"error", real > 0 ? Json(simulated / real - 1) : Json(nullptr)},
          {"error_of_epoch", (simulated - real) / row.real_seconds}};
}

std::string signed_percent(double share) { return fmt::format("{:+.1f} %", 100 * share); }

}  // namespace

ClassSeconds class_seconds(const Json& result) {
  const Json& parts = result["breakdown"];
  const Json& kinds = result["compute_by_kind"];
  ClassSeconds c;
  c.spmm = kinds.value("spmm", 0.0);
  c.gemm = kinds.value("gemm", 0.0);
  c.other_compute = parts["compute"].get<double>() - c.spmm - c.gemm;
  for (const EpochPart& part : kEpochParts)
    if (part.in_sum && part.seconds != &Breakdown::compute)
      (part.communication ? c.communication : c.other) += parts[part.key].get<double>();
  return c;
}

std::vector<StageSeconds> stages_of(const Json& real, const Json& simulated) {
  std::vector<StageSeconds> list;
  for (const Json& stage : simulated["stages"]) {
    if (stage["name"] == "features") continue;
    const auto same =
        std::find_if(real["stages"].begin(), real["stages"].end(),
                     [&](const Json& other) { return other["name"] == stage["name"]; });
    if (same == real["stages"].end())
      throw Error(
          fmt::format("the real inference has no stage \"{}\"", stage["name"].get<std::string>()));
    list.push_back(
        {stage["name"], (*same)["seconds"].get<double>(), stage["seconds"].get<double>()});
  }
  return list;
}

std::optional<double> ValidationRow::classes_off() const {
  if (!stages.empty()) return std::nullopt;
  double off = 0;
  for (const ClassName& c : kClasses) off += std::abs(simulated.*c.seconds - real.*c.seconds);
  return off / real_seconds;
}

std::optional<double> ValidationRow::spread() const {
  if (repeats.size() < 2) return std::nullopt;
  const auto [least, most] = std::minmax_element(repeats.begin(), repeats.end());
  return *most / *least - 1;
}

bool ValidationRow::covered() const {
  return errors && std::abs(std::log(real_seconds / simulated_seconds)) <= half_width(*errors);
}

std::string ValidationRow::setting() const {
  return fmt::format("{} {}{}{}", file, backend, label.empty() ? "" : ", ", label);
}

std::optional<double> rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < 2 || a.size() != b.size()) return std::nullopt;
  const auto x = ranks_of(a), y = ranks_of(b);
  const double mean = (static_cast<double>(a.size()) + 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  if (xx == 0 || yy == 0) return std::nullopt;
  return xy / std::sqrt(xx * yy);
}

std::vector<std::vector<ValidationRow>> strategy_groups(const std::vector<ValidationRow>& rows) {
  std::vector<std::pair<std::string, std::vector<ValidationRow>>> groups;
  for (const ValidationRow& row : rows) {
    if (row.label.find("strategy") == std::string::npos) continue;
    const std::string key = row.file + "\n" + without_strategy(row.label);
    const auto at = std::find_if(groups.begin(), groups.end(),
                                 [&](const auto& group) { return group.first == key; });
    (at == groups.end() ? groups.emplace_back(key, std::vector<ValidationRow>{}) : *at)
        .second.push_back(row);
  }
  std::vector<std::vector<ValidationRow>> list;
  for (auto& [key, group] : groups)
    if (group.size() > 1) list.push_back(std::move(group));
  return list;
}

Json validation_json(const std::vector<ValidationRow>& rows) {
  Json list = Json::array();
  for (const ValidationRow& row : rows) {
    Json classes = Json::object(), stages = Json::array();
    for (const StageSeconds& stage : row.stages)
      stages.push_back({{"name", stage.name},
                        {"real_seconds", stage.real},
                        {"simulated_seconds", stage.simulated},
                        {"error", or_null(stage.error())}});
    if (row.stages.empty())
      for (const ClassName& c : kClasses) classes[c.name] = class_json(row, c);
    list.push_back({{"setting", row.setting()},
                    {"file", row.file},
                    {"label", row.label},
                    {"backend", row.backend},
                    {"ranks", row.ranks},
                    {"oversubscribed", row.oversubscribed},
                    {"used_by_calibration", row.used_by_calibration},
                    {"load_before", row.load_before},
                    {"other_work_cores", or_null(row.other_work_cores)},
                    {"disturbed", row.disturbed},
                    {"real_seconds", row.real_seconds},
                    {"simulated_seconds", row.simulated_seconds},
                    {"repeat_seconds", row.repeats},
                    {"spread", or_null(row.spread())},
                    {"classes_off", or_null(row.classes_off())},
                    {"model_seconds", or_null(row.model_seconds)},
                    {"error", row.error()},
                    {"model_error", or_null(row.model_error())},
                    {"half_width", row.errors ? Json(half_width(*row.errors)) : Json(nullptr)},
                    {"covered", row.errors ? Json(row.covered()) : Json(nullptr)},
                    {"classes", row.stages.empty() ? classes : Json(nullptr)},
                    {"stages", row.stages.empty() ? Json(nullptr) : stages}});
  }
  const Errors all = errors_of(rows, [](const ValidationRow&) { return true; });
  Json by_class = Json::object();
  for (const RowClass& c : kRowClasses) by_class[c.name] = errors_json(errors_of(rows, c.counts));
  Json intervals{
      {"all", coverage_json(coverage_of(rows, [](const ValidationRow&) { return true; }))}};
  for (const RowClass& c : kRowClasses)
    intervals[c.name] = coverage_json(coverage_of(rows, c.counts));
  const Strategies strategies = compare_strategies(rows);
  Json faster = Json::array();
  for (const SpeedUp& s : speed_ups(rows))
    faster.push_back({{"setting", s.setting},
                      {"real", s.real},
                      {"simulated", s.simulated},
                      {"error", s.error()}});
  return {{"schema_version", kSchemaVersion},
          {"rows", list},
          {"speedups", faster},
          {"mean_abs_error", all.mean},
          {"max_abs_error", all.most},
          {"by_class", by_class},
          {"intervals", intervals},
          {"repeats", agreement_json(agreement_of(rows))},
          {"rank_correlation", or_null(strategies.correlation)},
          {"winner",
           {{"groups", strategies.groups},
            {"right", strategies.right},
            {"cannot_tell", strategies.cannot_tell},
            {"as_fast", strategies.as_fast}}}};
}

std::string validation_text(const std::vector<ValidationRow>& rows, int width) {
  Table table({"setting", "real", "simulated", "error", "classes off", "model", "error"});
  std::vector<std::string> header{"real > simulated seconds by class"};
  for (const ClassName& c : kClasses) header.insert(header.end(), {c.name, ""});
  Table classes(header);
  Table stages({"stages of inferences", "real", "simulated", "error"});
  const bool trainings = std::any_of(rows.begin(), rows.end(),
                                     [](const ValidationRow& row) { return row.stages.empty(); });
  bool inferences = false;
  for (const ValidationRow& row : rows) {
    const char* mark = row.disturbed ? " (*)" : "";
    const bool apart = row.spread() && !row.agrees();
    table.add({row.setting(),
               human_seconds(row.real_seconds) +
                   (apart ? fmt::format(" (runs {:.0f} % apart)", 100 * *row.spread()) : ""),
               with_interval(row.simulated_seconds, row.errors),
               signed_percent(row.error()) + (row.errors && !row.covered() ? " out" : "") + mark,
               row.classes_off() ? fmt::format("{:.0f} %", 100 * *row.classes_off()) : "-",
               row.model_seconds ? human_seconds(*row.model_seconds) : "-",
               row.model_seconds ? signed_percent(*row.model_error()) + mark : "-"});
    for (const StageSeconds& stage : row.stages)
      stages.add({row.setting() + ": " + stage.name, human_seconds(stage.real),
                  human_seconds(stage.simulated),
                  stage.error() ? signed_percent(*stage.error()) : "-"});
    inferences = inferences || !row.stages.empty();
    if (!row.stages.empty()) continue;
    std::vector<std::string> cells{row.setting()};
    for (const ClassName& c : kClasses)
      cells.insert(cells.end(), {human_seconds(row.real.*c.seconds) + " >",
                                 human_seconds(row.simulated.*c.seconds)});
    classes.add(cells);
  }
  std::string text = table.text(width) + "\n";
  if (trainings) text += classes.text(width) + "\n";
  if (inferences) text += stages.text(width) + "\n";
  Table faster({"speed-up over the file's first strategy", "real", "simulated", "error"});
  for (const SpeedUp& s : speed_ups(rows))
    faster.add({s.setting, fmt::format("{:.2f}", s.real), fmt::format("{:.2f}", s.simulated),
                signed_percent(s.error())});
  if (!speed_ups(rows).empty()) text += faster.text(width) + "\n";
  for (const RowClass& c : kRowClasses) {
    const Errors e = errors_of(rows, c.counts);
    if (e.rows > 0)
      text += fmt::format("{} {}: mean absolute error {:.1f} %, worst {:.1f} %, mean {}\n", e.rows,
                          c.text, 100 * e.mean, 100 * e.most, signed_percent(e.mean_signed));
  }
  for (const RowClass& c : kRowClasses) {
    const Coverage found = coverage_of(rows, c.counts);
    if (found.rows > 0)
      text += fmt::format(
          "intervals {}: hold the real epoch of {} of {} ({:.0f} %, meant are {:.0f} %), median "
          "± {:.1f} %\n",
          c.text, found.covered, found.rows,
          100.0 * static_cast<double>(found.covered) / static_cast<double>(found.rows),
          100 * kIntervalShare, 100 * *found.median_half_width);
  }
  if (const Agreement found = agreement_of(rows); found.rows > 0)
    text += fmt::format(
        "repeats agree within {:.0f} % in {} of {} rows ({:.0f} %){}\n", 100 * kAgreement,
        found.agree, found.rows, 100 * found.share(),
        found.enough()
            ? ""
            : fmt::format(": fewer than {:.0f} %, so the machine was too unsteady for the errors "
                          "to say much about the simulation",
                          100 * kEnoughAgree));
  const auto busy =
      std::count_if(rows.begin(), rows.end(), [](const ValidationRow& r) { return r.disturbed; });
  if (busy > 0)
    text += fmt::format(
        "in {} of {} rows, marked (*), other programs were at work during the real run: its "
        "times are too long, and the errors say little about the simulation\n",
        busy, rows.size());
  const Strategies strategies = compare_strategies(rows);
  if (strategies.groups > 0)
    text += fmt::format(
        "strategies: the simulated winner is the real one in {} of {} comparisons, cannot be told "
        "from another in {}, and is as fast as another within {:.0f} % in {}{}\n",
        strategies.right, strategies.groups, strategies.cannot_tell, 100 * kMargin,
        strategies.as_fast,
        strategies.correlation ? fmt::format(", rank correlation {:.2f}", *strategies.correlation)
                               : "");
  return text;
}

}  // namespace orrery
