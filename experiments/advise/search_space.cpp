#include "experiments/advise/search_space.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <utility>
#include <variant>

#include "core/base/error.hpp"
#include "core/partition/methods/cut.hpp"
#include "core/strategy/config/strategy_info.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/config/place_ranks.hpp"
#include "experiments/predict/simulate.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kMostPlans = 20000;
/// Neighbours that are drawn in a layer where nobody says how many.
constexpr int kUsualFanout = 10;
/// Epochs between two averages of models.
constexpr int kUsualInterval = 10;
constexpr std::string_view kStrategies = "strategy.type";

bool is_searchable(std::string_view key) {
  return key.starts_with("strategy.") || key.starts_with("partition.") || key == "model.order" ||
         key == "train.bucket_bytes" || key == "cluster.servers" || key == "cluster.ranks" ||
         key == "cluster.gpus" || key == "cluster.ranks_per_server" ||
         key == "cluster.gpus_per_server";
}

Json value_of(const std::string& text) {
  Json value = Json::parse(text, nullptr, false);
  return value.is_discarded() ? Json(text) : value;
}

/// A file with other values for some of its keys.
class ChangedFile {
 public:
  ChangedFile(std::string file, std::vector<std::string> overrides)
      : file_(std::move(file)), overrides_(std::move(overrides)) {
    overrides_.emplace_back("backend=sim");
  }
  void set(const std::string& key, const Json& value) {
    overrides_.push_back(fmt::format("{}={}", key, value.dump()));
  }
  const std::vector<std::string>& overrides() const { return overrides_; }
  /// Errors    ConfigError
  Experiment load() const {
    auto experiments = load_experiments(file_, overrides_);
    if (experiments.size() != 1)
      throw ConfigError("sweep", "orrery advise varies settings itself: leave it out");
    return std::move(experiments.front());
  }
  /// The experiment, or why it is refused.
  std::variant<Experiment, ConfigError> try_load() const {
    try {
      return load();
    } catch (const ConfigError& error) {
      return error;
    }
  }

 private:
  std::string file_;
  std::vector<std::string> overrides_;
};

/// Another strategy than the file's, with the settings of the file that apply to it.
ChangedFile with_strategy(ChangedFile file, const Json& base, const std::string& type) {
  const Json given = base.value("strategy", Json::object());
  if (given.value("type", "full_graph") == type) return file;
  Json strategy{{"type", type}};
  for (const auto& [key, value] : given.items()) {
    if (key == "type") continue;
    Json more = strategy;
    more[key] = value;
    ChangedFile tried = file;
    tried.set("strategy", more);
    if (std::holds_alternative<Experiment>(tried.try_load())) strategy = std::move(more);
  }
  file.set("strategy", strategy);
  return file;
}

std::vector<Json> replications(int ranks) {
  std::vector<Json> values;
  for (int c = 2; c * c <= ranks; ++c)
    if (ranks % c == 0) values.emplace_back(c);
  return values;
}

std::vector<Json> depths(int layers) {
  std::vector<Json> values{nullptr};
  for (const int depth : {1, layers / 2, layers - 1})
    if (depth >= 1 && depth < layers && values.back() != Json(depth)) values.emplace_back(depth);
  return values;
}

/// Half of the ranks, half of these and so on, down to two; one where a strategy is to have it.
std::optional<Axis> fewer_ranks(const Experiment& experiment, bool down_to_one) {
  auto axis = half_of_the_ranks(experiment);
  if (!axis) return axis;
  int now = axis->values.back();
  while (now % 2 == 0) axis->values.emplace_back(now /= 2);
  if (now == 1 && !down_to_one) axis->values.pop_back();
  return axis;
}

/// The values that a strategy is tried with by default.
std::vector<Axis> default_axes(const std::string& type, const Experiment& experiment) {
  std::vector<Json> cuts{nullptr, "metis"};
  if (type == "vertex_cut")
    cuts = assigns_edges(experiment.partition.method) ? std::vector<Json>{nullptr}
                                                      : std::vector<Json>{"dbh", "hdrf"};
  std::vector<Axis> axes{{"model.order", {nullptr, "aggregate_first", "transform_first"}},
                         {"partition.method", std::move(cuts)},
                         {"train.bucket_bytes", {nullptr, "25 MB"}}};
  if (auto ranks = fewer_ranks(experiment, type == "full_graph")) axes.push_back(std::move(*ranks));
  if (type == "full_graph") {
    axes.push_back({"strategy.boundary_sampling", {nullptr, 0.1}});
    axes.push_back({"strategy.staleness", {nullptr, 1}});
  }
  if (type == "spmm_15d")
    axes.push_back({"strategy.replication", replications(experiment.ranks())});
  if (type == "shared_preloading") {
    axes.push_back({"strategy.depth", depths(experiment.model.layers)});
    axes.push_back({"strategy.batches", {nullptr, 2, 4}});
    if (experiment.placement().servers() > 1)  // one server holds all vertices
      axes.push_back({"strategy.sampling", {nullptr, {{"hops", 1}, {"fanout", 15}}}});
  }
  if (type == "model_averaging" && experiment.train.epochs >= kUsualInterval)
    axes.push_back({"strategy.interval", {nullptr, kUsualInterval}});
  if (type == "mini_batch") {
    if (experiment.strategy.type != "mini_batch")
      axes.push_back({"strategy.fanouts",
                      {Json(std::vector<int>(static_cast<std::size_t>(experiment.model.layers),
                                             kUsualFanout))}});
    axes.push_back({"strategy.batch", {nullptr, 250, 4000}});
  }
  return axes;
}

/// The values of an axis that differ from the file's own.
Axis without_repetition(const Axis& axis, const Experiment& experiment) {
  Axis left{axis.key, {}};
  const Json* now = &experiment.base;
  for (std::size_t begin = 0; now != nullptr && begin <= axis.key.size();) {
    const std::size_t end = std::min(axis.key.find('.', begin), axis.key.size());
    const std::string name = axis.key.substr(begin, end - begin);
    now = now->is_object() && now->contains(name) ? &(*now)[name] : nullptr;
    begin = end + 1;
  }
  for (const Json& value : axis.values)
    if (value.is_null() || now == nullptr || *now != value) left.values.push_back(value);
  return left;
}

/// Whether a strategy, or a model, has the key: some value of it alone is accepted, or refused
/// because of another key of the file.
bool has_key(const ChangedFile& file, const Axis& axis) {
  if (std::all_of(axis.values.begin(), axis.values.end(),
                  [](const Json& value) { return value.is_null(); }))
    return true;
  return std::any_of(axis.values.begin(), axis.values.end(), [&](const Json& value) {
    if (value.is_null()) return false;
    ChangedFile tried = file;
    tried.set(axis.key, value);
    const auto loaded = tried.try_load();
    const auto* error = std::get_if<ConfigError>(&loaded);
    return error == nullptr || error->path != axis.key;
  });
}

/// The values tried for a strategy: the defaults, or the requested values in their place. Settings
/// that this strategy does not have are left out.
std::vector<Axis> axes_of(const std::string& type, const ChangedFile& file,
                          const Experiment& experiment, const std::vector<Axis>& asked) {
  std::vector<Axis> axes;
  for (const Axis& axis : default_axes(type, experiment)) {
    const bool replaced = std::any_of(asked.begin(), asked.end(), [&](const Axis& other) {
      return other.key == axis.key ||
             (other.key.starts_with("cluster.") && axis.key.starts_with("cluster."));
    });
    Axis left = without_repetition(axis, experiment);
    if (!replaced && !left.values.empty() && has_key(file, left)) axes.push_back(std::move(left));
  }
  for (const Axis& axis : asked)
    if (axis.key != kStrategies && (!axis.key.starts_with("strategy.") || has_key(file, axis)))
      axes.push_back(axis);
  return axes;
}

/// Why a strategy is impossible with all settings that are tried.
std::optional<std::string> why_impossible(const ChangedFile& file, const std::vector<Axis>& axes) {
  const auto loaded = file.try_load();
  const auto* error = std::get_if<ConfigError>(&loaded);
  // Another value mends it if the file is read then, or if something else is wrong with it.
  const auto mends = [&](const Axis& axis, const Json& value) {
    if (value.is_null()) return false;
    ChangedFile tried = file;
    tried.set(axis.key, value);
    const auto read = tried.try_load();
    const auto* left = std::get_if<ConfigError>(&read);
    return left == nullptr || left->path != error->path;
  };
  const auto may_mend = [&](const Axis& axis) {
    return std::any_of(axis.values.begin(), axis.values.end(),
                       [&](const Json& value) { return mends(axis, value); });
  };
  if (error == nullptr || std::any_of(axes.begin(), axes.end(), may_mend)) return std::nullopt;
  return error->what();
}

/// Settings of which a plan has one at most: layers below a depth need the whole graph at once,
/// which co-batches and servers that hold samples do not have; rows are left out or stale.
constexpr std::array<std::array<std::string_view, 2>, 3> kExclusive{
    {{"strategy.depth", "strategy.batches"},
     {"strategy.depth", "strategy.sampling"},
     {"strategy.boundary_sampling", "strategy.staleness"}}};

/// Their values with which nothing is left out, stale or apart.
bool is_neutral(std::string_view key, const Json& value) {
  if (key == "strategy.boundary_sampling" || key == "strategy.batches") return value == 1;
  return key == "strategy.staleness" && value == 0;
}

bool names_exclusive_keys(const std::vector<Axis>& axes, const std::vector<const Json*>& values) {
  const auto named = [&](std::string_view key) {
    for (std::size_t a = 0; a < axes.size(); ++a)
      if (axes[a].key == key) return !values[a]->is_null() && !is_neutral(key, *values[a]);
    return false;
  };
  return std::any_of(kExclusive.begin(), kExclusive.end(),
                     [&](const auto& keys) { return named(keys[0]) && named(keys[1]); });
}

/// Whether it says how vertices are cut or gradients are summed.
bool is_no_computing(std::string_view key) {
  return key.starts_with("partition.") || key == "train.bucket_bytes";
}

/// Calls visit(values) for every combination of the axes' values.
template <class Visit>
void for_each_combination(const std::vector<Axis>& axes, const Visit& visit) {
  std::vector<std::size_t> at(axes.size(), 0);
  for (;;) {
    std::vector<const Json*> values;
    for (std::size_t a = 0; a < axes.size(); ++a) values.push_back(&axes[a].values[at[a]]);
    visit(values);
    std::size_t a = axes.size();
    while (a > 0 && ++at[a - 1] == axes[a - 1].values.size()) at[--a] = 0;
    if (a == 0) return;
  }
}

/// The backend that the file names, or null. Settings that only a simulation honours, and data that
/// nobody can train on, make it sim, whatever the file says.
Json backend_of(const std::string& file, const std::vector<std::string>& overrides) {
  try {
    const Experiment experiment = load_experiments(file, overrides).front();
    require_data(experiment);
    return experiment.base.contains("backend") ? experiment.base["backend"] : Json(nullptr);
  } catch (const ConfigError&) {
    return "sim";
  }
}

std::string shown(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void require_searchable(const Experiment& experiment) {
  refuse_sensitivity(experiment, "orrery advise");
  if (experiment.base.contains("inference"))
    throw ConfigError("inference",
                      "orrery advise searches for the fastest training: leave it out, or see "
                      "orrery infer --plan");
  if (!experiment.cluster)
    throw ConfigError("cluster.file",
                      "orrery advise simulates a cluster: name it, such as \"dgx-a100\", or "
                      "\"this-machine\" after orrery calibrate");
}

void require_few(double plans) {
  if (plans > kMostPlans)
    throw ConfigError("--search",
                      fmt::format("these are more than {} plans: name fewer values", kMostPlans));
}

std::vector<std::string> strategies(const std::vector<Axis>& asked) {
  std::vector<std::string> names;
  const auto found = std::find_if(asked.begin(), asked.end(),
                                  [](const Axis& axis) { return axis.key == kStrategies; });
  if (found == asked.end())
    for (const StrategyInfo* info : strategy_infos()) names.emplace_back(info->name);
  else
    for (const Json& value : found->values) {
      if (!value.is_string())
        throw ConfigError("--search strategy.type", "expected names, found " + value.dump());
      names.emplace_back(strategy_info(value.get<std::string>()).name);
    }
  return names;
}

/// A relative path beside the experiment file is wrong beside a copy elsewhere.
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
  keep("train", "weights");
}

}  // namespace

std::vector<std::string> with_any_strategy(const std::string& file,
                                           std::vector<std::string> overrides) {
  try {
    load_experiments(file, overrides);
  } catch (const ConfigError& error) {
    if (error.path == "strategy") overrides.emplace_back(R"(strategy={"type": "full_graph"})");
  }
  return overrides;
}

std::optional<Axis> half_of_the_ranks(const Experiment& experiment) {
  const Json cluster = experiment.base.value("cluster", Json::object());
  const bool cpus = has_only_cpus(*experiment.cluster);
  std::string key = cpus ? "ranks" : "gpus";
  int now = experiment.ranks();
  for (const char* other : {"gpus", "gpus_per_server", "ranks", "ranks_per_server"})
    if (cluster.contains(other)) {
      key = other;
      now = cluster[other];
    }
  if (now % 2 != 0) return std::nullopt;
  return Axis{"cluster." + key, {nullptr, now / 2}};
}

Axis parse_axis(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
    throw ConfigError("--search", fmt::format("expected KEY=VALUE,VALUE,..., found \"{}\"", text));
  Axis axis{text.substr(0, equals), {}};
  if (!is_searchable(axis.key))
    throw ConfigError(
        "--search", fmt::format("found {}, which changes what is computed: only strategy.*, "
                                "partition.*, model.order, train.bucket_bytes and numbers of "
                                "ranks, gpus and servers (cluster.ranks, cluster.gpus, "
                                "cluster.servers, cluster.ranks_per_server, "
                                "cluster.gpus_per_server) can be searched (--vary asks again with "
                                "other values of any other key)",
                                axis.key));
  for (std::size_t begin = equals + 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const Json value = value_of(text.substr(begin, end - begin));
    if (value.is_structured() || value.is_null() || value == "")
      throw ConfigError("--search " + axis.key,
                        fmt::format("expected numbers, words, true or false, found \"{}\"",
                                    text.substr(begin, end - begin)));
    if (std::find(axis.values.begin(), axis.values.end(), value) == axis.values.end())
      axis.values.push_back(value);
    begin = end + 1;
  }
  return axis;
}

SearchSpace search_space(const std::string& file, const std::vector<std::string>& overrides,
                         const std::vector<Axis>& asked) {
  for (const Axis& axis : asked) require_few(static_cast<double>(axis.values.size()));
  for (std::size_t a = 0; a < asked.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (asked[a].key == asked[b].key)
        throw ConfigError("--search " + asked[a].key, "is given twice: name all values in one");
  const auto with_strategy_of_file = with_any_strategy(file, overrides);
  const ChangedFile unchanged(file, with_strategy_of_file);
  const Experiment base = unchanged.load();
  require_searchable(base);
  SearchSpace space;
  space.file = file;
  space.backend = backend_of(file, with_strategy_of_file);
  space.base = base;
  std::set<std::string> used;
  double combinations = 0;
  for (const std::string& type : strategies(asked)) {
    const std::string name = fmt::format("{}={}", kStrategies, type);
    const ChangedFile of_type = with_strategy(unchanged, base.base, type);
    const auto axes = axes_of(type, of_type, base, asked);
    double of_this = 1;
    for (const Axis& axis : axes) {
      used.insert(axis.key);
      of_this *= static_cast<double>(axis.values.size());
    }
    combinations += of_this;
    if (combinations > kMostPlans)
      throw ConfigError("--search",
                        fmt::format("these are more than {} plans: name fewer values", kMostPlans));
    if (const auto why = why_impossible(of_type, axes)) {
      space.impossible.push_back({name, *why});
      continue;
    }
    for_each_combination(axes, [&](const std::vector<const Json*>& values) {
      if (names_exclusive_keys(axes, values)) return;
      ChangedFile changed = of_type;
      std::vector<std::string> words{name}, computing{name};
      int differing = 0;
      for (std::size_t a = 0; a < axes.size(); ++a) {
        if (*values[a] != axes[a].values.front()) ++differing;
        if (values[a]->is_null()) continue;
        changed.set(axes[a].key, *values[a]);
        words.push_back(fmt::format("{}={}", axes[a].key, shown(*values[a])));
        if (!is_no_computing(axes[a].key)) computing.push_back(words.back());
      }
      space.plans.push_back({fmt::format("{}", fmt::join(words, ", ")), changed.overrides(),
                             differing, fmt::format("{}", fmt::join(computing, ", "))});
    });
  }
  for (const Axis& axis : asked)
    if (axis.key != kStrategies && !used.contains(axis.key))
      throw ConfigError("--search " + axis.key, "no searched strategy takes these values");
  std::stable_sort(
      space.plans.begin(), space.plans.end(),
      [](const PlanSketch& a, const PlanSketch& b) { return a.differing < b.differing; });
  return space;
}

std::variant<Plan, ImpossiblePlan> SearchSpace::load(const PlanSketch& sketch) const {
  auto loaded = ChangedFile(file, sketch.overrides).try_load();
  if (const auto* error = std::get_if<ConfigError>(&loaded))
    return ImpossiblePlan{sketch.label, error->what()};
  auto& experiment = std::get<Experiment>(loaded);
  Json written = experiment.base;
  written.erase("backend");
  if (!backend.is_null()) written["backend"] = backend;
  keep_found(written, fs::path(file).parent_path());
  return Plan{std::move(experiment), std::move(written), sketch.label};
}

}  // namespace orrery
