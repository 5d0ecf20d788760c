#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/base/whole_file.hpp"
#include "core/terminal/activity.hpp"
#include "core/terminal/tell.hpp"
#include "core/terminal/terminal.hpp"
#include "experiments/advise/advise.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/experiment_file.hpp"
#include "experiments/config/version.hpp"
#include "experiments/results/table.hpp"
#include "experiments/run/interruption.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Simulations of runs that calibration has not seen are off by so much on average
/// (docs/benchmarks.md): plans that are closer than that cannot be told apart.
constexpr double kUnsure = 0.07;
/// Reasons that are printed one by one; --json has all.
constexpr std::size_t kShownReasons = 6;

struct Options {
  std::string file, out;
  std::vector<std::string> overrides, search, vary;
  SearchLimits limits;
  bool json = false;
};

/// "shared_preloading, depth 2" for "strategy.type=shared_preloading, strategy.depth=2".
std::string short_label(const std::string& label) {
  std::string text;
  for (std::size_t begin = 0; begin < label.size();) {
    const std::size_t end = std::min(label.find(", ", begin), label.size());
    const std::string part = label.substr(begin, end - begin);
    const std::size_t equals = part.find('=');
    const std::string key = part.substr(0, equals), value = part.substr(equals + 1);
    if (!text.empty()) text += ", ";
    const std::string name = key == "partition.method" ? "cut by" : key.substr(key.rfind('.') + 1);
    text += key == "strategy.type" ? value : fmt::format("{} {}", name, value);
    begin = end + 2;
  }
  return text;
}

std::string slower(const RatedPlan& plan, const RatedPlan& best) {
  const double more = plan.epoch_seconds / best.epoch_seconds - 1;
  if (&plan == &best) return "";
  return fmt::format("{}{:.0f} %", more < kUnsure ? "cannot tell: +" : "+", 100 * more);
}

std::string memory_of(const RatedPlan& plan) {
  const auto& room = plan.plan.experiment.device_bytes;
  const std::string used = human_bytes(static_cast<double>(plan.peak_bytes));
  return room ? fmt::format("{} of {}", used, human_bytes(static_cast<double>(*room))) : used;
}

void print_plans(const std::string& title, const std::vector<RatedPlan>& plans) {
  if (plans.empty()) return;
  Table table({title, "epoch", "slower", "device memory", "inside servers", "between"});
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const RatedPlan& plan = plans[i];
    table.add({fmt::format("{}. {}", i + 1, short_label(plan.plan.label)),
               human_seconds(plan.epoch_seconds), slower(plan, plans.front()), memory_of(plan),
               human_bytes(plan.internal_bytes), human_bytes(plan.external_bytes)});
  }
  fmt::print("{}", table.text(room_on(stdout)));
  const int width = paragraph_on(stdout);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const RatedPlan& plan = plans[i];
    std::string words =
        fmt::format("{}. limited by {}", i + 1,
                    plan.limited_by.is_null() ? std::string("nothing that is known")
                                              : plan.limited_by["sentence"].get<std::string>());
    if (plan.difference) words += "; " + *plan.difference;
    if (!plan.alike.empty())
      words += fmt::format(
          "; as fast within 1 %: {}{}", short_label(plan.alike.front()),
          plan.alike.size() > 1 ? fmt::format(" and {} more", plan.alike.size() - 1) : "");
    fmt::print("{}\n", wrapped(words, width));
  }
  fmt::print("\n");
}

void print_reasons(const std::string& title, const std::vector<ImpossiblePlan>& plans) {
  if (plans.empty()) return;
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const ImpossiblePlan& plan : plans) by_reason[plan.reason].push_back(plan.label);
  fmt::print("{}\n", title);
  std::size_t shown = 0;
  for (const auto& [reason, labels] : by_reason) {
    if (shown++ == kShownReasons) {
      fmt::print("  ... and {} other reasons (--json has all)\n", by_reason.size() - kShownReasons);
      break;
    }
    fmt::print(
        "{}\n",
        wrapped(fmt::format("  {}{}: {}", short_label(labels.front()),
                            labels.size() > 1 ? fmt::format(" and {} more", labels.size() - 1) : "",
                            reason),
                paragraph_on(stdout)));
  }
  fmt::print("\n");
}

/// What a variation of the file makes of the answer.
struct Variation {
  std::string setting;  ///< "KEY=VALUE"; empty: the file as it is
  Advice advice;
  std::string failed{};  ///< why there is no answer

  const RatedPlan* best() const { return advice.exact.empty() ? nullptr : &advice.exact.front(); }
};

void print_variations(const std::vector<Variation>& variations) {
  if (variations.size() < 2) return;
  Table table({"what if", "fastest plan", "epoch", "than as it is"}, 2);
  const RatedPlan* as_is = variations.front().best();
  std::string failures;
  for (const Variation& variation : variations) {
    const std::string name = variation.setting.empty() ? "as it is" : variation.setting;
    const RatedPlan* best = variation.best();
    if (best != nullptr)
      table.add(
          {name, short_label(best->plan.label), human_seconds(best->epoch_seconds),
           as_is == nullptr || best == as_is
               ? ""
               : fmt::format("{:+.0f} %", 100 * (best->epoch_seconds / as_is->epoch_seconds - 1))});
    else
      failures +=
          wrapped(fmt::format("{}: {}", name,
                              variation.failed.empty() ? "no plan is possible" : variation.failed),
                  paragraph_on(stdout)) +
          "\n";
  }
  fmt::print("{}{}\n", table.text(room_on(stdout)), failures);
}

void print(const Experiment& base, const std::vector<Variation>& variations) {
  const Advice& advice = variations.front().advice;
  std::string counts = fmt::format(
      "{} on {}, {} ranks: {} plans. {} were replayed, {} compute longer than the fastest plans "
      "take in all, {} need too much memory, {} are not possible",
      base.name, base.cluster->name, base.ranks(), advice.plans, advice.replayed, advice.ruled_out,
      advice.too_large.size(), advice.impossible.size());
  if (advice.not_tried > 0)
    counts += fmt::format("; {} were not tried, because time was up (--seconds)", advice.not_tried);
  const int width = paragraph_on(stdout);
  fmt::print("{}.\n\n", wrapped(counts, width));
  print_plans("learn what whole-graph training learns", advice.exact);
  print_plans("learn something else", advice.others);
  print_reasons("need too much memory:", advice.too_large);
  print_reasons("not possible:", advice.impossible);
  print_variations(variations);
  fmt::print(
      "{}\n",
      wrapped(fmt::format("All times are simulated: the mean of an epoch on its slowest rank. "
                          "They have no interval yet; simulations of runs that calibration "
                          "has not seen are off by {:.0f} % on average, so plans closer than "
                          "that cannot be told apart.",
                          100 * kUnsure),
              width));
}

Json to_json(const RatedPlan& plan) {
  const auto& room = plan.plan.experiment.device_bytes;
  return {{"plan", plan.plan.label},
          {"epoch_seconds", plan.epoch_seconds},
          {"limited_by", plan.limited_by},
          {"peak_bytes", plan.peak_bytes},
          {"device_bytes", room ? Json(*room) : Json(nullptr)},
          {"bytes", {{"internal", plan.internal_bytes}, {"external", plan.external_bytes}}},
          {"difference", plan.difference ? Json(*plan.difference) : Json(nullptr)},
          {"alike", plan.alike}};
}

Json to_json(const Variation& variation) {
  const Advice& advice = variation.advice;
  Json best = Json::array(), refused = Json::array();
  for (const auto* plans : {&advice.exact, &advice.others})
    for (const RatedPlan& plan : *plans) best.push_back(to_json(plan));
  for (const auto* plans : {&advice.too_large, &advice.impossible})
    for (const ImpossiblePlan& plan : *plans)
      refused.push_back({{"plan", plan.label},
                         {"too_large", plans == &advice.too_large},
                         {"reason", plan.reason}});
  return {{"setting", variation.setting.empty() ? Json(nullptr) : Json(variation.setting)},
          {"failed", variation.failed.empty() ? Json(nullptr) : Json(variation.failed)},
          {"plans", advice.plans},
          {"replayed", advice.replayed},
          {"ruled_out", advice.ruled_out},
          {"not_tried", advice.not_tried},
          {"best", best},
          {"refused", refused}};
}

/// A relative path that lies beside the experiment file does not lie beside a copy elsewhere.
void keep_found(Json& file, const fs::path& folder) {
  const auto keep = [&](const char* room, const char* key) {
    if (!file.contains(room) || !file[room].is_object() || !file[room].contains(key)) return;
    Json& value = file[room][key];
    if (!value.is_string()) return;
    const fs::path path = value.get<std::string>();
    if (path.is_relative() && !fs::exists(path) && fs::exists(folder / path))
      value = fs::absolute(folder / path).lexically_normal().string();
  };
  for (const char* key : {"path", "parts", "degree_file"}) keep("dataset", key);
  keep("cluster", "file");
  keep("partition", "file");
  keep("simulation", "profile");
}

/// Every answer as an experiment file: best-1.json, ..., other-1.json, ...
void write_files(const Options& options, const Advice& advice) {
  const auto write = [&](const std::string& name, const RatedPlan& plan) {
    Json file = plan.plan.file;
    keep_found(file, fs::path(options.file).parent_path());
    write_file(fs::path(options.out) / name, file.dump(2) + "\n");
  };
  fs::create_directories(options.out);
  for (std::size_t i = 0; i < advice.exact.size(); ++i)
    write(fmt::format("best-{}.json", i + 1), advice.exact[i]);
  for (std::size_t i = 0; i < advice.others.size(); ++i)
    write(fmt::format("other-{}.json", i + 1), advice.others[i]);
  tell("wrote {} experiment files into {}\n", advice.exact.size() + advice.others.size(),
       options.out);
}

/// The settings of --vary, one by one.
std::vector<std::string> settings_of(const std::vector<std::string>& vary,
                                     const std::vector<Axis>& searched) {
  std::vector<std::string> settings;
  for (const std::string& text : vary) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
      throw ConfigError("--vary", fmt::format("expected KEY=VALUE,VALUE,..., found \"{}\"", text));
    const std::string key = text.substr(0, equals);
    for (const Axis& axis : searched)
      if (axis.key == key)
        throw ConfigError("--vary " + key, "is already searched: leave one of the two out");
    for (const std::string_view own : {"strategy", "sweep", "backend", "inference"})
      if (key == own || key.starts_with(std::string(own) + "."))
        throw ConfigError("--vary " + key, own == "strategy"
                                               ? "strategies are searched, not varied: use "
                                                 "--search"
                                               : "cannot be varied by orrery advise");
    for (std::size_t begin = equals + 1; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      if (end == begin) throw ConfigError("--vary " + key, "found an empty value");
      settings.push_back(key + "=" + text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return settings;
}

void require_sensible(const Options& options) {
  if (options.file == "-")
    throw ConfigError("FILE", "is read once for each plan: name a file instead of standard input");
  if (options.limits.best < 1) throw ConfigError("--best", "expected at least 1");
  if (!(options.limits.seconds > 0)) throw ConfigError("--seconds", "expected more than 0");
  if (options.out.empty() || !fs::exists(options.out)) return;
  if (!fs::is_directory(options.out) || !fs::is_empty(options.out))
    throw ConfigError("--out", options.out + " exists already: name a new or an empty folder");
}

void run_advise(const Options& options) {
  require_sensible(options);
  std::vector<Axis> axes;
  for (const std::string& text : options.search) axes.push_back(parse_axis(text));
  std::vector<std::string> settings = settings_of(options.vary, axes);
  settings.insert(settings.begin(), "");
  tell_activities(true);
  end_on_signals();
  Simulator simulator;
  DatasetCache datasets;
  SearchLimits limits = options.limits;
  limits.seconds /= static_cast<double>(settings.size());
  std::vector<Variation> variations;
  Experiment base;
  Activity activity("listing plans");
  for (const std::string& setting : settings) {
    std::vector<std::string> overrides = options.overrides;
    if (!setting.empty()) overrides.push_back(setting);
    Variation variation{setting, {}};
    try {
      SearchSpace space = search_space(options.file, overrides, axes);
      const std::size_t all = space.plans.size();
      if (setting.empty()) base = space.base;
      variation.advice = advise(std::move(space), datasets, simulator, limits, [&](std::size_t n) {
        const std::string where = setting.empty() ? "" : fmt::format(" with {}", setting);
        activity.update({fmt::format("plan {} of {}{}", n + 1, all, where),
                         fmt::format("plan {} of {}", n + 1, all)});
      });
    } catch (const Error& error) {
      if (setting.empty()) throw;  // the file itself
      variation.failed = error.what();
    }
    variations.push_back(std::move(variation));
  }
  const Advice& answer = variations.front().advice;
  if (answer.exact.empty() && answer.others.empty()) {
    const auto& reasons = answer.too_large.empty() ? answer.impossible : answer.too_large;
    throw Error(fmt::format("none of {} plans is possible; the first, {}: {}", answer.plans,
                            reasons.empty() ? "" : reasons.front().label,
                            reasons.empty() ? "" : reasons.front().reason));
  }
  if (!options.json) print(base, variations);
  if (!options.out.empty()) write_files(options, answer);
  if (!options.json) return;
  Json answers = Json::array();
  for (const Variation& variation : variations) answers.push_back(to_json(variation));
  const Json told{{"schema_version", kSchemaVersion},
                  {"name", base.name},
                  {"cluster", base.cluster->name},
                  {"ranks", base.ranks()},
                  {"simulated", true},
                  {"answers", answers}};
  fmt::print("{}\n", told.dump());
}

}  // namespace

void add_advise_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "advise", "Find the fastest plan that fits: strategies, orders, cuts, depths, ranks");
  add_experiment_file(*command, options->file, options->overrides);
  command
      ->add_option("--search", options->search,
                   "Values to try instead of the usual ones, for a key of strategy or partition, "
                   "or for model.order, train.bucket_bytes, cluster.ranks, cluster.gpus or "
                   "cluster.servers; may be given several times")
      ->type_name("KEY=V1,V2")
      ->allow_extra_args(false);
  command
      ->add_option("--vary", options->vary,
                   "Search again with other values of any other key, and say what changes; may "
                   "be given several times")
      ->type_name("KEY=V1,V2")
      ->allow_extra_args(false);
  command->add_option("--best", options->limits.best, "Number of plans to report")
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--seconds", options->limits.seconds,
                   "Seconds after which no further plan is "
                   "tried")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--out", options->out, "Write each answer as an experiment file into DIR")
      ->type_name("DIR");
  command->add_flag("--json", options->json,
                    "Print one JSON object as the last line of standard output");
  command->footer(
      "Examples: orrery advise FILE --set cluster.file=dgx-a100 --out plans\n"
      "          orrery advise FILE --search cluster.gpus=2,4,8 --vary model.layers=2,3,8");
  command->callback([options, &exit_code] {
    run_advise(*options);
    exit_code = 0;
  });
}

}  // namespace orrery
