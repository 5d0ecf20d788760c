#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/base/whole_file.hpp"
#include "core/graph/files/folder_in_progress.hpp"
#include "core/terminal/activity.hpp"
#include "core/terminal/tell.hpp"
#include "core/terminal/terminal.hpp"
#include "experiments/advise/advise.hpp"
#include "experiments/advise/measure_plans.hpp"
#include "experiments/advise/on_this_machine.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/experiment_file.hpp"
#include "experiments/config/version.hpp"
#include "experiments/predict/servers/price.hpp"
#include "experiments/results/table.hpp"
#include "experiments/run/interruption.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Reasons that are printed one by one; --json has all.
constexpr std::size_t kShownReasons = 6;
/// The questions that are always asked: about a link, about more memory, about the ranks.
constexpr int kUsualQuestions = 3;
constexpr std::int64_t kMoreBytes = std::int64_t{16} << 30;
constexpr std::string_view kMemory = "cluster.device_bytes";

struct AdviseOptions {
  std::string file, out;
  std::vector<std::string> overrides, search, vary;
  SearchLimits limits;
  bool what_if = true;
  bool measure = false;
  bool json = false;
};

/// What is counted: its number comes first.
const std::map<std::string, std::string> kCounted{
    {"gpus", "GPUs"}, {"ranks", "ranks"}, {"servers", "servers"}};

/// "shared_preloading, depth 2, 4 GPUs" for "strategy.type=shared_preloading, strategy.depth=2, ...".
std::string short_label(const std::string& label) {
  std::string text;
  for (std::size_t begin = 0; begin < label.size();) {
    const std::size_t end = std::min(label.find(", ", begin), label.size());
    const std::string part = label.substr(begin, end - begin);
    const std::size_t equals = part.find('=');
    const std::string key = part.substr(0, equals), value = part.substr(equals + 1);
    if (!text.empty()) text += ", ";
    const std::string name = key == "partition.method" ? "cut by" : key.substr(key.rfind('.') + 1);
    const auto counted = kCounted.find(name);
    if (key == "strategy.type")
      text += value;
    else if (counted != kCounted.end())
      text += fmt::format("{} {}", value, counted->second);
    else
      text += fmt::format("{} {}", name, value);
    begin = end + 2;
  }
  return text;
}

/// "+12 %", "as fast: +2 %" or "cannot tell: +12 %".
std::string slower(const RatedPlan& plan, const RatedPlan& best) {
  if (&plan == &best) return "";
  return fmt::format("{}{:+.0f} %", verdict_words(compare_plans(plan, best)),
                     100 * more_than(plan, best));
}

std::string memory_of(const RatedPlan& plan) {
  const auto& room = plan.plan.experiment.device_bytes;
  const std::string used = human_bytes(static_cast<double>(plan.peak_bytes));
  return room ? fmt::format("{} of {}", used, human_bytes(static_cast<double>(*room))) : used;
}

void print_plans(const std::string& title, const std::vector<RatedPlan>& plans) {
  if (plans.empty()) return;
  const bool priced = plans.front().usd_per_epoch.has_value();
  const bool measured = plans.front().measured_seconds.has_value();
  std::vector<std::string> header{
      title,    measured ? "simulated" : "epoch", "slower", "device memory", "inside servers",
      "between"};
  if (measured) header.insert(header.begin() + 2, "measured");
  if (priced) header.emplace_back("price of an epoch");
  Table table(header);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const RatedPlan& plan = plans[i];
    std::vector<std::string> row{fmt::format("{}. {}", i + 1, short_label(plan.plan.label)),
                                 with_interval(plan.epoch_seconds, plan.errors),
                                 slower(plan, plans.front()),
                                 memory_of(plan),
                                 human_bytes(plan.internal_bytes),
                                 human_bytes(plan.external_bytes)};
    if (measured)
      row.insert(row.begin() + 2,
                 plan.measured_seconds ? human_seconds(*plan.measured_seconds) : "-");
    if (priced) row.push_back(dollars(plan.usd_per_epoch.value_or(0)));
    table.add(row);
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
    if (!plan.not_measured.empty()) words += "; could not be measured: " + plan.not_measured;
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

/// A question about the file with one setting changed.
struct Question {
  std::string setting{};  ///< "KEY=VALUE"; empty: the file as it is
  std::string words{};    ///< of a question that was not asked for: "ib-qdr twice as fast"
  /// What is searched instead of the setting, which the file keeps.
  std::optional<Axis> searched{};
  std::string name() const {
    return setting.empty() ? "as it is" : words.empty() ? setting : words;
  }
  std::string key() const { return setting.substr(0, setting.find('=')); }
};

/// The settings of a plan's label, in any order, without the one that a question is about.
std::set<std::string> settings_without(const std::string& label, const std::string& key) {
  std::set<std::string> settings;
  for (std::size_t begin = 0; begin < label.size();) {
    const std::size_t end = std::min(label.find(", ", begin), label.size());
    const std::string setting = label.substr(begin, end - begin);
    if (key.empty() || !setting.starts_with(key + "=")) settings.insert(setting);
    begin = end + 2;
  }
  return settings;
}

/// The answer for a variation of the file.
struct Variation {
  Question question;
  Advice advice;
  std::string failed{};  ///< why there is no answer

  const RatedPlan* best() const { return advice.exact.empty() ? nullptr : &advice.exact.front(); }
};

/// Whether the plan that leads is that of the file as it is, apart from what the question is about.
bool is_same(const Variation& variation, const RatedPlan& as_is) {
  const RatedPlan& best = *variation.best();
  const auto settings = [&](const std::string& label) {
    return settings_without(label, variation.question.key());
  };
  const auto leads = settings(best.plan.label), led = settings(as_is.plan.label);
  const auto is_among = [&](const auto& plan, const std::vector<std::string>& alike) {
    return std::any_of(alike.begin(), alike.end(),
                       [&](const std::string& label) { return settings(label) == plan; });
  };
  return leads == led || is_among(leads, as_is.alike) || is_among(led, best.alike);
}

/// Whether another plan leads than as it is, what that one takes here, and whether the two can be
/// told apart.
std::string change(const Variation& variation, const RatedPlan& as_is) {
  const RatedPlan& best = *variation.best();
  const auto& kept = variation.advice.kept;
  std::string words = "the same plan";
  if (!is_same(variation, as_is))
    words = !kept ? "another plan: that one is not possible"
                  : fmt::format("{}another plan: that one takes {:+.0f} %",
                                verdict_words(compare_plans(*kept, best)),
                                100 * more_than(*kept, best));
  if (variation.advice.not_tried > 0)
    words += fmt::format("; {} plans were not tried", variation.advice.not_tried);
  return words;
}

void print_variations(const std::vector<Variation>& variations) {
  if (variations.size() < 2) return;
  Table table({"what if", "fastest plan", "epoch", "than as it is", ""}, 2);
  const RatedPlan* as_is = variations.front().best();
  std::string failures;
  for (const Variation& variation : variations) {
    const std::string name = variation.question.name();
    const RatedPlan* best = variation.best();
    if (best != nullptr && as_is != nullptr)
      table.add(
          {name, short_label(best->plan.label), with_interval(best->epoch_seconds, best->errors),
           best == as_is
               ? ""
               : fmt::format("{:+.0f} %", 100 * (best->epoch_seconds / as_is->epoch_seconds - 1)),
           best == as_is ? "" : change(variation, *as_is)});
    else
      failures +=
          wrapped(fmt::format("{}: {}", name,
                              variation.failed.empty() ? "no plan is possible" : variation.failed),
                  paragraph_on(stdout)) +
          "\n";
  }
  fmt::print("{}{}\n", table.text(room_on(stdout)), failures);
}

/// What ran for real, and what order comes from that; empty where nobody asked.
std::string measuring_words(const Advice& advice) {
  if (!advice.measuring) return "";
  const Measuring& done = *advice.measuring;
  if (done.plans == 0) return "Nothing was measured: each other plan is slower by its replay. ";
  const std::string fewer =
      done.in_all_turns == done.plans
          ? ""
          : fmt::format(" ({} of them, {:.0f} % behind after {} turns, ran no more)",
                        done.plans - done.in_all_turns, 100 * kFar, kFirstTurns);
  return fmt::format(
      "Measured on this machine: {} plan{}, {} runs of {} epochs each, compared turn by turn{}. "
      "The order of these is the measured one, that of the plans below is simulated. {}",
      done.plans, done.plans == 1 ? "" : "s", done.turns, done.epochs, fewer,
      done.other_work.empty() ? "" : fmt::format("Note: {}. ", done.other_work));
}

void print(const Experiment& base, const std::vector<Variation>& variations) {
  const Advice& advice = variations.front().advice;
  std::string counts = fmt::format(
      "{} on {}, {} ranks: {} plans. Closed forms ({} a second) rule out {}, {} compute longer "
      "than "
      "the fastest plans take in all, {} were replayed, {} need too much memory, {} are not "
      "possible",
      base.name, base.cluster->name, base.ranks(), advice.plans,
      human_count(static_cast<double>(advice.plans) / std::max(1e-6, advice.bounding_seconds)),
      advice.ruled_out_by_counts, advice.ruled_out, advice.replayed, advice.too_large.size(),
      advice.impossible.size());
  if (advice.not_tried > 0)
    counts += fmt::format("; {} were not tried, because time was up (--seconds)", advice.not_tried);
  const int width = paragraph_on(stdout);
  fmt::print("{}.\n\n", wrapped(counts, width));
  print_plans("learn what whole-graph training learns", advice.exact);
  print_plans("learn something else", advice.others);
  print_reasons("need too much memory:", advice.too_large);
  print_reasons("not possible:", advice.impossible);
  print_variations(variations);
  const RatedPlan* first = !advice.exact.empty()    ? &advice.exact.front()
                           : !advice.others.empty() ? &advice.others.front()
                                                    : nullptr;
  const std::string intervals =
      first == nullptr || first->errors
          ? fmt::format(
                "{}. Of two plans, errors that "
                "both share are left out: \"as fast\" says that their times differ by at most "
                "{:.0f} %, whatever prices are off by; \"cannot tell\" that either may be faster, "
                "by more.",
                interval_words(first == nullptr || price_errors(first->plan.experiment).measured),
                100 * kMargin)
          : std::string(
                "They have no interval: the device profile does not say how far its prices "
                "are off (orrery calibrate measures it).");
  const bool measured = first != nullptr && first->measured_seconds;
  fmt::print(
      "{}\n",
      wrapped(
          fmt::format("{}All {}times are simulated: the mean of an epoch on its slowest rank. {}",
                      measuring_words(advice), measured ? "other " : "", intervals),
          width));
}

/// `best`: the fastest of its kind.
Json to_json(const RatedPlan& plan, const RatedPlan& best) {
  const auto& room = plan.plan.experiment.device_bytes;
  const auto verdict = &plan == &best ? std::nullopt : compare_plans(plan, best);
  return {
      {"plan", plan.plan.label},
      {"epoch_seconds", plan.epoch_seconds},
      {"interval",
       interval_json(plan.epoch_seconds, plan.errors, price_errors(plan.plan.experiment).measured)},
      {"measured_seconds", plan.measured_seconds ? Json(*plan.measured_seconds) : Json(nullptr)},
      {"not_measured", plan.not_measured.empty() ? Json(nullptr) : Json(plan.not_measured)},
      {"verdict", verdict_json(verdict)},
      {"cannot_tell", verdict ? Json(verdict == Verdict::cannot_tell) : Json(nullptr)},
      {"limited_by", plan.limited_by},
      {"peak_bytes", plan.peak_bytes},
      {"device_bytes", room ? Json(*room) : Json(nullptr)},
      {"bytes", {{"internal", plan.internal_bytes}, {"external", plan.external_bytes}}},
      {"usd_per_epoch", plan.usd_per_epoch ? Json(*plan.usd_per_epoch) : Json(nullptr)},
      {"difference", plan.difference ? Json(*plan.difference) : Json(nullptr)},
      {"alike", plan.alike}};
}

Json measuring_json(const std::optional<Measuring>& done) {
  if (!done) return nullptr;
  return {{"plans", done->plans},
          {"turns", done->turns},
          {"in_all_turns", done->in_all_turns},
          {"epochs", done->epochs},
          {"other_work", done->other_work.empty() ? Json(nullptr) : Json(done->other_work)}};
}

/// `as_is`: the fastest plan of the file as it is; null: there is none.
Json to_json(const Variation& variation, const RatedPlan* as_is) {
  const Advice& advice = variation.advice;
  const RatedPlan* leads = variation.best();
  const bool compared = leads != nullptr && as_is != nullptr && leads != as_is;
  Json best = Json::array(), refused = Json::array();
  for (const auto* plans : {&advice.exact, &advice.others})
    for (const RatedPlan& plan : *plans) best.push_back(to_json(plan, plans->front()));
  for (const auto* plans : {&advice.too_large, &advice.impossible})
    for (const ImpossiblePlan& plan : *plans)
      refused.push_back({{"plan", plan.label},
                         {"too_large", plans == &advice.too_large},
                         {"reason", plan.reason}});
  const auto or_null = [](const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
  };
  return {{"setting", or_null(variation.question.setting)},
          {"what_if", or_null(variation.question.words)},
          {"failed", variation.failed.empty() ? Json(nullptr) : Json(variation.failed)},
          {"same_plan", compared ? Json(is_same(variation, *as_is)) : Json(nullptr)},
          {"plan_as_is", compared && advice.kept ? to_json(*advice.kept, *leads) : Json(nullptr)},
          {"plans", advice.plans},
          {"bounding_seconds", advice.bounding_seconds},
          {"ruled_out_by_counts", advice.ruled_out_by_counts},
          {"replayed", advice.replayed},
          {"ruled_out", advice.ruled_out},
          {"not_tried", advice.not_tried},
          {"measuring", measuring_json(advice.measuring)},
          {"best", best},
          {"refused", refused}};
}

Json to_json(const Experiment& base, const std::vector<Variation>& variations) {
  Json answers = Json::array();
  const RatedPlan* as_is = variations.front().best();
  const std::optional<Measuring>& measured = variations.front().advice.measuring;
  for (const Variation& variation : variations) answers.push_back(to_json(variation, as_is));
  return {{"schema_version", kSchemaVersion},
          {"name", base.name},
          {"cluster", base.cluster->name},
          {"ranks", base.ranks()},
          {"simulated", !measured || measured->plans == 0},
          {"answers", answers}};
}

/// Every answer as an experiment file: best-1.json, ..., other-1.json, ...; and all that was said as
/// advice.json, of which orrery report makes a page; all of them or none.
void write_files(const AdviseOptions& options, const Advice& advice, const Json& told) {
  FolderInProgress folder(options.out, true,
                          [](const fs::path&) { return std::string("it is not empty"); });
  const auto write = [&](const std::string& name, const RatedPlan& plan) {
    write_file(folder.path() / name, plan.plan.file.dump(2) + "\n");
  };
  for (std::size_t i = 0; i < advice.exact.size(); ++i)
    write(fmt::format("best-{}.json", i + 1), advice.exact[i]);
  for (std::size_t i = 0; i < advice.others.size(); ++i)
    write(fmt::format("other-{}.json", i + 1), advice.others[i]);
  write_file(folder.path() / "advice.json", told.dump(1) + "\n");
  folder.commit();
  tell("wrote {} experiment files and advice.json into {}\n",
       advice.exact.size() + advice.others.size(), options.out);
}

/// The settings of --vary, one by one.
std::vector<Question> questions_of(const std::vector<std::string>& vary,
                                   const std::vector<Axis>& searched) {
  std::vector<Question> questions;
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
      questions.push_back({key + "=" + text.substr(begin, end - begin)});
      begin = end + 1;
    }
  }
  return questions;
}

/// Refuses a key of which no value is possible, such as one that does not exist, before anything is
/// searched.
void require_possible(const AdviseOptions& options, const std::vector<Axis>& searched,
                      const std::vector<Question>& asked) {
  if (asked.empty()) return;
  search_space(options.file, options.overrides, searched);  // what is wrong with the file itself
  // By key; nothing where a value is possible.
  std::map<std::string, std::optional<ConfigError>> refused;
  for (const Question& question : asked) {
    const std::string key = question.key();
    std::vector<std::string> overrides = options.overrides;
    overrides.push_back(question.setting);
    try {
      search_space(options.file, overrides, searched);
      refused[key] = std::nullopt;
    } catch (const ConfigError& error) {
      refused.try_emplace(key, error);
    }
  }
  for (auto& [key, error] : refused)
    if (error) {
      error->add_context("--vary " + key);
      throw *error;
    }
}

/// What may change the order: the busiest link of the best plan that uses links, memory, ranks.
std::vector<Question> usual_questions(const Experiment& base, const Advice& answer,
                                      const std::vector<Axis>& searched) {
  std::vector<Question> questions;
  if (const std::string& type = answer.busiest_link; !type.empty()) {
    const Json cluster = base.base.value("cluster", Json::object());
    const double now = cluster.value("link_factors", Json::object()).value(type, 1.0);
    questions.push_back(
        {fmt::format("cluster.link_factors.{}={}", type, 2 * now), type + " twice as fast"});
  }
  if (base.device_bytes)
    questions.push_back(
        {fmt::format("{}={}", kMemory, *base.device_bytes + kMoreBytes),
         fmt::format("{} more memory a device", human_bytes(static_cast<double>(kMoreBytes)))});
  const bool ranks_are_searched =
      std::any_of(searched.begin(), searched.end(),
                  [](const Axis& axis) { return axis.key.starts_with("cluster."); });
  if (const auto half = half_of_the_ranks(base); half && !ranks_are_searched)
    questions.push_back({fmt::format("{}={}", half->key, half->values.back().dump()),
                         "half of the ranks", Axis{half->key, {half->values.back()}}});
  return questions;
}

void require_sensible(const AdviseOptions& options) {
  if (options.file == "-")
    throw ConfigError("FILE", "is read once for each plan: name a file instead of standard input");
  if (options.limits.best < 1) throw ConfigError("--best", "expected at least 1");
  if (!(options.limits.seconds > 0)) throw ConfigError("--seconds", "expected more than 0");
  if (options.out.empty() || !fs::exists(options.out)) return;
  if (!fs::is_directory(options.out) || !fs::is_empty(options.out))
    throw ConfigError("--out", options.out + " exists already: name a new or an empty folder");
}

/// Asks the question of the file again and again, with one setting changed.
class Adviser {
 public:
  Adviser(const AdviseOptions& options, std::vector<Axis> searched)
      : options_(options), searched_(std::move(searched)) {}

  /// Errors    ConfigError where the file as it is cannot be searched
  void ask(const Question& question, double seconds, std::size_t best) {
    std::vector<std::string> overrides = options_.overrides;
    const std::string& setting = question.setting;
    std::vector<Axis> searched = searched_;
    if (question.searched)
      searched.push_back(*question.searched);
    else if (!setting.empty())
      overrides.push_back(setting);
    Variation variation{question, {}};
    SearchLimits limits{best, seconds};
    if (const RatedPlan* as_is = variations_.empty() ? nullptr : variations_.front().best())
      limits.keep = [plan = settings_without(as_is->plan.label, question.key()),
                     key = question.key()](const std::string& label) {
        return settings_without(label, key) == plan;
      };
    try {
      SearchSpace space = search_space(options_.file, overrides, searched);
      const std::size_t all = space.plans.size();
      if (setting.empty()) base_ = space.base;
      variation.advice = advise(std::move(space), datasets_, simulator_, limits,
                                [&](std::size_t n) { tell_progress(question, n, all); });
    } catch (const SimulatorFailed&) {
      throw;
    } catch (const Error& error) {
      if (setting.empty()) throw;  // the file itself
      variation.failed = error.what();
    }
    variations_.push_back(std::move(variation));
  }

  /// Runs the plans of the first answer that its replays do not find slower than the fastest, and keeps
  /// `best` plans of each kind besides.
  void measure(OnThisMachine& machine, std::size_t best) {
    Advice& first = variations_.front().advice;
    for (auto* plans : {&first.exact, &first.others})
      for (RatedPlan& plan : *plans) plan.plan.file = machine.real_file(std::move(plan.plan.file));
    std::vector<RatedPlan>& plans = first.exact.empty() ? first.others : first.exact;
    first.measuring = measure_plans(
        plans, [&](const Plan& plan, int epochs) { return machine.run(plan, epochs); },
        [&](int run, int of) {
          activity_.update({fmt::format("measuring: run {} of {}", run + 1, of)});
        });
    first.measuring->other_work = machine.disturbance();
    const auto shown = [&](const RatedPlan& plan) {
      return plan.measured_seconds || !plan.not_measured.empty();
    };
    for (auto* kept : {&first.exact, &first.others})
      while (kept->size() > best && !shown(kept->back())) kept->pop_back();
  }

  /// Answers a question that changes nothing for the plans of the first answer, all of which were
  /// tried, without searching again.
  void ask_nothing(const Question& question) {
    Variation variation{question, {}};
    variation.advice.plans = answer().plans;
    variation.advice.impossible = answer().impossible;
    if (!answer().exact.empty())
      variation.advice.exact = {answer().exact.front()},
      variation.advice.kept = answer().exact.front();
    variations_.push_back(std::move(variation));
  }

  const Experiment& base() const { return base_; }
  const std::vector<Variation>& variations() const { return variations_; }
  const Advice& answer() const { return variations_.front().advice; }

 private:
  void tell_progress(const Question& question, std::size_t n, std::size_t all) {
    const std::string where =
        question.setting.empty() ? "" : fmt::format(" with {}", question.name());
    activity_.update({fmt::format("plan {} of {}{}", n + 1, all, where),
                      fmt::format("plan {} of {}", n + 1, all)});
  }

  const AdviseOptions& options_;
  std::vector<Axis> searched_;
  Simulator simulator_;
  DatasetCache datasets_;
  Activity activity_{"listing plans"};
  Experiment base_;
  std::vector<Variation> variations_;
};

/// Why no plan is possible: the reason of most of those that need too much memory or, without any,
/// of most others.
std::string why_none(const Advice& answer) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const auto& [label, reason] :
       answer.too_large.empty() ? answer.impossible : answer.too_large)
    by_reason[reason].push_back(label);
  const auto most = std::max_element(
      by_reason.begin(), by_reason.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  return most == by_reason.end()
             ? "no plan is possible"
             : fmt::format("none of {} plans is possible; {} of them, such as {}: {}", answer.plans,
                           most->second.size(), most->second.front(), most->first);
}

void run_advise(AdviseOptions options) {
  require_sensible(options);
  std::vector<Axis> axes;
  for (const std::string& text : options.search) axes.push_back(parse_axis(text));
  const std::vector<Question> asked = questions_of(options.vary, axes);
  tell_activities(true);
  end_on_signals();
  std::optional<OnThisMachine> machine;
  if (options.measure) {
    machine.emplace(options.file, options.overrides);
    options.overrides = machine->overrides();
  }
  require_possible(options, axes, asked);
  Adviser adviser(options, axes);
  // Half of the time is for the file as it is, unless there are few other questions.
  const double others = static_cast<double>(asked.size() + (options.what_if ? kUsualQuestions : 0));
  const double of_first = others == 0 ? 1 : std::max(0.5, 1 / (1 + others));
  const double of_others = others == 0 ? 0 : (1 - of_first) / others;
  const std::size_t best = options.limits.best;
  adviser.ask({}, options.limits.seconds * of_first,
              machine ? std::max(best, kMostMeasured) : best);
  const Advice& answer = adviser.answer();
  if (answer.exact.empty() && answer.others.empty()) throw Error(why_none(answer));
  if (machine) adviser.measure(*machine, best);
  for (const Question& question : asked)
    adviser.ask(question, options.limits.seconds * of_others, best);
  if (options.what_if)
    for (const Question& question : usual_questions(adviser.base(), adviser.answer(), axes)) {
      const bool all_have_room =
          adviser.answer().too_large.empty() && adviser.answer().not_tried == 0;
      if (question.key() == kMemory && all_have_room)
        adviser.ask_nothing(question);
      else
        adviser.ask(question, options.limits.seconds * of_others, 1);
    }
  if (!options.json) print(adviser.base(), adviser.variations());
  const Json told = to_json(adviser.base(), adviser.variations());
  if (!options.out.empty()) write_files(options, adviser.answer(), told);
  if (options.json) fmt::print("{}\n", told.dump());
}

}  // namespace

void add_advise_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<AdviseOptions>();
  CLI::App* command = app.add_subcommand(
      "advise", "Find the fastest plan that fits: strategies, orders, cuts, depths, ranks");
  add_experiment_file(*command, options->file, options->overrides);
  command
      ->add_option("--search", options->search,
                   "Values to try instead of the usual ones, for a key of strategy or partition, "
                   "or for model.order, train.bucket_bytes, or cluster's ranks, gpus, servers, "
                   "ranks_per_server or gpus_per_server; may be given several times")
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
      ->add_option(
          "--seconds", options->limits.seconds,
          "Seconds after which no further plan is tried; the answer says how many are left")
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option(
          "--out", options->out,
          "Write each answer as an experiment file, and advice.json for orrery report, into DIR")
      ->type_name("DIR");
  command->add_flag("!--no-what-if", options->what_if,
                    "Do not ask again with the busiest link twice as fast, 16 GiB more memory and "
                    "half of the ranks");
  command->add_flag(
      "--measure", options->measure,
      fmt::format(
          "Run the plans that replays do not find slower than the fastest for real, on this "
          "machine, and name the fastest measured one: at most {} plans, up to {} runs each of {} "
          "to {} epochs; needs orrery calibrate, backend threads or mpi, and no cluster.file of "
          "another "
          "machine",
          kMostMeasured, kTurns, kFewestEpochs, kMostEpochs));
  command->add_flag("--json", options->json,
                    "Print one JSON object as the last line of standard output");
  command->footer(
      "Examples: orrery advise FILE --set cluster.file=dgx-a100 --out plans\n"
      "          orrery advise FILE --search cluster.gpus=2,4,8 --vary model.layers=2,3,8\n"
      "          orrery advise FILE --measure");
  command->callback([options, &exit_code] {
    run_advise(*options);
    exit_code = 0;
  });
}

}  // namespace orrery
