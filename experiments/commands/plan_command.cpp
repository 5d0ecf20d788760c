#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/units.hpp"
#include "core/partition/kept/cut_report.hpp"
#include "core/strategy/train/record.hpp"
#include "core/terminal/activity.hpp"
#include "core/terminal/terminal.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/experiment_file.hpp"
#include "experiments/config/load_problem.hpp"
#include "experiments/config/version.hpp"
#include "experiments/predict/fit.hpp"
#include "experiments/predict/preloading.hpp"
#include "experiments/predict/prepared.hpp"
#include "experiments/predict/server_memory.hpp"
#include "experiments/predict/tiles.hpp"
#include "experiments/results/table.hpp"
#include "experiments/run/interruption.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

struct PlanOptions {
  std::string file;
  std::vector<std::string> overrides;
  bool json = false;
  int steps_of_rank = -1;
};

using Format = std::string (*)(double);
std::string as_count(double x) { return fmt::format("{:.0f}", x); }
std::string as_flop(double x) { return human_count(x); }
std::string as_bytes(double x) { return human_bytes(x); }

/// One section of the report under its title: a row per name, a column per rank (or their minimum,
/// mean and maximum if there are many), and the total.
class Section {
 public:
  Section(std::string title, std::size_t ranks) : title_(std::move(title)), ranks_(ranks) {}

  void add(const std::string& name, const std::function<double(std::size_t rank)>& value,
           Format format) {
    std::vector<double> values;
    for (std::size_t r = 0; r < ranks_; ++r) values.push_back(value(r));
    double total = 0;
    for (const double v : values) total += v;
    std::vector<double> shown = values;
    if (many())
      shown = {*std::min_element(values.begin(), values.end()), total / static_cast<double>(ranks_),
               *std::max_element(values.begin(), values.end())};
    std::vector<std::string> row{name};
    for (const double v : shown) row.push_back(format(v));
    row.push_back(format(total));
    rows_.push_back(std::move(row));
  }

  std::string text() const {
    std::vector<std::string> header{""};
    if (many())
      header.insert(header.end(), {"least", "mean", "most"});
    else
      for (std::size_t r = 0; r < ranks_; ++r) header.push_back(fmt::format("rank {}", r));
    header.push_back("total");
    Table table(header);
    for (const auto& row : rows_) table.add(row);
    return title_ + "\n" + table.text(room_on(stdout)) + "\n";
  }

 private:
  bool many() const { return ranks_ > 8; }
  std::string title_;
  std::size_t ranks_;
  std::vector<std::vector<std::string>> rows_;
};

/// Value of a key in a map, or zero.
template <class Map>
auto value_or_zero(const Map& map, const std::string& key) {
  const auto at = map.find(key);
  return at == map.end() ? typename Map::mapped_type{} : at->second;
}

std::set<std::string> kinds_of(const std::vector<Summary>& ranks) {
  std::set<std::string> names;
  for (const Summary& s : ranks)
    for (const auto& [name, kind] : s.epoch.by_kind) names.insert(name);
  return names;
}

std::string report(const std::vector<Summary>& ranks) {
  const auto kind = [&](std::size_t r, const std::string& name) {
    return value_or_zero(ranks[r].epoch.by_kind, name);
  };
  const int n = ranks.front().epochs;
  const std::string epochs = n == 1 ? "one epoch" : fmt::format("{} epochs", n);
  Section operations("operations of " + epochs, ranks.size());
  Section flops("FLOP of " + epochs, ranks.size());
  Section bytes("bytes of " + epochs + ", moved in memory or received", ranks.size());
  for (const std::string& name : kinds_of(ranks)) {
    operations.add(
        name, [&](std::size_t r) { return static_cast<double>(kind(r, name).count); }, as_count);
    flops.add(
        name, [&](std::size_t r) { return kind(r, name).flops; }, as_flop);
    bytes.add(
        name,
        [&](std::size_t r) {
          const auto k = kind(r, name);
          return k.internal + k.external > 0 ? k.internal + k.external : k.bytes;
        },
        as_bytes);
  }
  operations.add(
      "all", [&](std::size_t r) { return static_cast<double>(ranks[r].epoch.sum().count); },
      as_count);
  flops.add(
      "all", [&](std::size_t r) { return ranks[r].epoch.sum().flops; }, as_flop);

  Section links("received over links in " + epochs, ranks.size());
  links.add(
      "same server", [&](std::size_t r) { return ranks[r].epoch.sum().internal; }, as_bytes);
  links.add(
      "other servers", [&](std::size_t r) { return ranks[r].epoch.sum().external; }, as_bytes);

  std::set<std::string> classes;
  for (const Summary& s : ranks)
    for (const auto& [name, size] : s.peak_by_class) classes.insert(name);
  Section memory("device memory at its peak", ranks.size());
  for (const std::string& name : classes)
    memory.add(
        name,
        [&](std::size_t r) {
          return static_cast<double>(value_or_zero(ranks[r].peak_by_class, name));
        },
        as_bytes);
  memory.add(
      "all", [&](std::size_t r) { return static_cast<double>(ranks[r].peak_device_bytes); },
      as_bytes);
  return operations.text() + flops.text() + bytes.text() + links.text() + memory.text();
}

Json stage_json(const Totals& totals) {
  Json ops = Json::object(), flops = Json::object(), bytes = Json::object();
  for (const auto& [name, kind] : totals.by_kind) {
    ops[name] = kind.count;
    flops[name] = kind.flops;
    bytes[name] = kind.bytes;
  }
  const auto sum = totals.sum();
  return {{"ops", ops},
          {"flops", sum.flops},
          {"flops_by_kind", flops},
          {"bytes", {{"internal", sum.internal}, {"external", sum.external}}},
          {"bytes_by_kind", bytes}};
}

Json rank_json(const Summary& summary) {
  Json rank = stage_json(summary.epoch);
  rank["epochs"] = summary.epochs;
  rank["peak_bytes"] = summary.peak_device_bytes;
  rank["by_tensor_class"] = summary.peak_by_class;
  rank["setup"] = stage_json(summary.setup);
  rank["evaluation"] = stage_json(summary.evaluation);
  return rank;
}

Json size_json(const BatchSizes::Size& size) {
  return {{"mean", size.mean}, {"most", size.most}, {"bound", size.bound}};
}

/// The mean of numbers, beside the least, the most, and what the most is times the mean.
Json spread_json(const std::vector<std::int64_t>& numbers) {
  const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  const double mean =
      std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
  const Json imbalance = mean > 0 ? Json(static_cast<double>(*most) / mean) : Json(nullptr);
  return {{"least", *least}, {"mean", mean}, {"most", *most}, {"imbalance", imbalance}};
}

/// The tiles of A that all ranks multiply in an epoch; null unless the strategy is of the spmm
/// family and multiplies tiles as they are.
///
/// Source    MG-GCN Eq. 13 to 15: a tile has the rows and columns between two entries of the
///           partition vector
Json tiles_json(const PreparedExperiment& prepared, const Programs& programs) {
  if (!prepared.experiment.resolved["strategy"]["type"].get<std::string>().starts_with("spmm_"))
    return nullptr;
  std::vector<std::int64_t> rows, columns, entries, of_rank;
  for (const auto& program : programs) {
    std::int64_t sum = 0;
    for (const Tile& tile : tiles_of_epoch(*program)) {
      rows.push_back(tile.rows);
      columns.push_back(tile.columns);
      entries.push_back(tile.nonzeros);
      sum += tile.nonzeros;
    }
    of_rank.push_back(sum);
  }
  if (entries.empty()) return nullptr;
  return {{"tiles", entries.size()},
          {"rows", spread_json(rows)},
          {"columns", spread_json(columns)},
          {"nonzeros", spread_json(entries)},
          {"nonzeros_of_rank", spread_json(of_rank)}};
}

/// The same as readable text: a line for each quantity; nothing if it is null.
std::string tiles_text(const Json& tiles) {
  if (tiles.is_null()) return "";
  Table table({"", "least", "mean", "most", "most / mean"});
  const auto add = [&](const std::string& name, const Json& spread) {
    const Json& imbalance = spread["imbalance"];
    table.add({name, as_count(spread["least"].get<double>()),
               fmt::format("{:.1f}", spread["mean"].get<double>()),
               as_count(spread["most"].get<double>()),
               imbalance.is_null() ? "-" : fmt::format("{:.3f}", imbalance.get<double>())});
  };
  add("rows of a tile", tiles["rows"]);
  add("columns of a tile", tiles["columns"]);
  add("non-zeros of a tile", tiles["nonzeros"]);
  add("non-zeros of a rank", tiles["nonzeros_of_rank"]);
  return fmt::format("{} tiles of A that products of an epoch read\n{}\n",
                     tiles["tiles"].get<std::int64_t>(), table.text(room_on(stdout)));
}

/// What the host of the largest rank holds for batches that are being prepared.
Json in_flight_json(const BatchesAhead& host, std::int64_t pinned, const Json& pinned_bound) {
  return {{"batches", host.batches},
          {"host_bytes", {{"drawn", host.drawn}, {"bound", host.bound}}},
          {"pinned_bytes", {{"drawn", pinned}, {"bound", pinned_bound}}}};
}

/// For sampled training; null if there are no batches. While the rows of a cache move to a larger buffer
/// both are held, so then no bound of pinned memory is told.
Json batches_json(const PreparedExperiment& prepared, const Programs& programs,
                  const std::optional<BatchSizes>& sizes) {
  if (!sizes) return nullptr;
  const auto bound = bound_of_memory(prepared), likely = likely_memory(prepared);
  const auto bound_in = [&](Space space) { return bound ? Json((*bound)[at(space)]) : Json(); };
  Json vertices = Json::array(), edges = Json::array();
  for (const BatchSizes::Size& size : sizes->vertices) vertices.push_back(size_json(size));
  for (const BatchSizes::Size& size : sizes->edges) edges.push_back(size_json(size));
  return {{"steps", sizes->steps},
          {"drawn", sizes->batches},
          {"vertices", vertices},
          {"edges", edges},
          {"peak_bytes_bound", bound_in(Space::device)},
          {"peak_bytes_likely", likely ? Json((*likely)[at(Space::device)]) : Json()},
          {"foreign_rows", sizes->foreign},
          {"cached_rows", sizes->kept},
          {"foreign_edge_rows",
           sizes->foreign_edge_rows ? Json(*sizes->foreign_edge_rows) : Json(nullptr)},
          {"in_flight", in_flight_json(in_flight(*prepared.strategy, *sizes),
                                       peaks_of(programs)[at(Space::pinned_host)],
                                       sizes->kept > 0 ? Json() : bound_in(Space::pinned_host))}};
}

/// The same as readable text.
std::string in_flight_text(const Json& in_flight) {
  const auto bytes = [](const Json& of) {
    std::string drawn = human_bytes(of["drawn"].get<double>());
    if (of["bound"].is_null()) return drawn;
    return fmt::format("{} (none takes more than {})", drawn,
                       human_bytes(of["bound"].get<double>()));
  };
  return wrapped(fmt::format("at most {} batches of a rank at once (strategy.pipeline): {} of host "
                             "memory for their edges, {} of pinned memory for rows of features\n",
                             in_flight["batches"].get<int>(), bytes(in_flight["host_bytes"]),
                             bytes(in_flight["pinned_bytes"])),
                 room_on(stdout));
}

/// The same as readable text: a line for each level, from the seeds down; nothing if it is null.
std::string batches_text(const Json& batches) {
  if (batches.is_null()) return "";
  Table table({"", "vertices", "at most", "bound", "edges", "at most", "bound"});
  const std::size_t layers = batches["edges"].size();
  const auto add = [](std::vector<std::string>& row, const Json& size) {
    row.push_back(as_count(size["mean"].get<double>()));
    row.push_back(as_count(size["most"].get<double>()));
    row.push_back(as_count(size["bound"].get<double>()));
  };
  for (std::size_t level = layers + 1; level-- > 0;) {
    std::vector<std::string> row{level == layers ? "seeds"
                                 : level == 0    ? "features"
                                                 : fmt::format("layer {}", level)};
    add(row, batches["vertices"][level]);
    if (level > 0)
      add(row, batches["edges"][level - 1]);
    else
      row.insert(row.end(), 3, "");
    table.add(row);
  }
  const auto foreign = batches["foreign_rows"].get<double>(),
             cached = batches["cached_rows"].get<double>();
  const Json& of_edges = batches["foreign_edge_rows"];
  const std::string edge_rows =
      of_edges.is_null() ? ""
                         : fmt::format("rows of features of edges of other ranks: {:.0f} a batch\n",
                                       of_edges.get<double>());
  const auto drawn = batches["drawn"].get<std::int64_t>();
  return fmt::format(
      "{} batches of each rank in an epoch. Their sizes: {}what none exceeds\n{}"
      "rows of features of other ranks: {:.0f} a batch, of which the cache has {:.0f}\n{}{}\n",
      batches["steps"].get<int>(),
      drawn > 0 ? fmt::format("mean and most of {} drawn, and ", drawn) : "none is drawn: ",
      table.text(room_on(stdout)), foreign, cached, edge_rows,
      in_flight_text(batches["in_flight"]));
}

/// What the largest rank holds in each kind of host memory that it uses, and what it may hold.
Json host_memory_json(const PreparedExperiment& prepared, const Programs& programs) {
  const auto peaks = peaks_of(programs);
  const Capacities rooms = memory_capacities(prepared.experiment);
  Json spaces = Json::object();
  for (const Space space : {Space::host, Space::pinned_host, Space::server_host}) {
    if (peaks[at(space)] == 0) continue;
    const std::int64_t room = rooms.bytes[at(space)];
    spaces[std::string(name_of(space))] = {
        {"peak_bytes", peaks[at(space)]},
        {"room_bytes", room != kUnlimited ? Json(room) : Json(nullptr)}};
  }
  return spaces;
}

bool is_too_small(const Json& memory) {
  return !memory["room_bytes"].is_null() &&
         memory["peak_bytes"].get<std::int64_t>() > memory["room_bytes"].get<std::int64_t>();
}

/// The sum over the kinds and the ranks of the fullest server; null if nothing is known of it.
Json server_memory_json(const std::optional<ServerMemory>& memory) {
  if (!memory) return nullptr;
  return {{"server", memory->server},
          {"ranks", memory->ranks},
          {"peak_bytes", memory->bytes()},
          {"room_bytes", memory->room}};
}

/// The same as readable text: a line for each kind.
std::string host_memory_text(const Json& spaces) {
  std::string text;
  for (const auto& [name, memory] : spaces.items()) {
    text +=
        fmt::format("largest rank holds {} of {}", human_bytes(memory["peak_bytes"].get<double>()),
                    name == "host"          ? "host memory"
                    : name == "pinned_host" ? "pinned host memory"
                                            : "host memory that its server's ranks read");
    if (!memory["room_bytes"].is_null())
      text += fmt::format(": {} {}", is_too_small(memory) ? "does NOT fit into" : "fits into",
                          human_bytes(memory["room_bytes"].get<double>()));
    text += '\n';
  }
  return text;
}

/// The tensor that does not fit into a rank's memory; empty if all fit.
std::optional<OutOfMemory> what_does_not_fit(const PreparedExperiment& prepared) {
  try {
    const TrainingBody body = prepared.body();
    record_shared(body, epochs_to_record(body), memory_capacities(prepared.experiment));
  } catch (const OutOfMemory& error) {
    return error;
  }
  return std::nullopt;
}

/// Whether the largest rank fits, for the report and the result.
std::string judge_memory(const PreparedExperiment& prepared, std::int64_t largest,
                         const std::optional<ServerMemory>& server, Json& result) {
  const auto& room = prepared.experiment.device_bytes;
  std::string verdict = fmt::format("largest rank needs {} of device memory", human_bytes(largest));
  const Json bound = result["batches"].is_null() ? Json() : result["batches"]["peak_bytes_bound"];
  std::string others;  // batches than the drawn ones
  if (!bound.is_null()) {
    const auto most = bound.get<std::int64_t>();
    others = fmt::format("; other batches may need more, but at most {}", human_bytes(most));
    if (const Json& likely = result["batches"]["peak_bytes_likely"];
        !likely.is_null() && likely.get<std::int64_t>() < most)
      others += fmt::format(" (one in a billion needs more than {})",
                            human_bytes(likely.get<std::int64_t>()));
    if (room && largest <= *room)
      others += most <= *room ? ", which fits too" : ", which does not fit";
  }
  if (bound.is_null() && draws_anew(prepared)) others = "; other epochs may need more";
  if (!room) verdict += others + "; set cluster.device_bytes to see whether that fits";
  if (room)
    verdict += largest <= *room ? fmt::format(": fits into {}", human_bytes(*room)) + others
                                : fmt::format(": does NOT fit into {}", human_bytes(*room));
  verdict += '\n' + host_memory_text(result["host_memory"]);
  if (server) verdict += server_memory_line(*server) + '\n';
  if (result["fits"] != false) return verdict;
  if (const auto missing = what_does_not_fit(prepared)) {
    verdict += fmt::format("{}\n", missing->what());
    result["does_not_fit"] = missing->tensor;
  }
  return verdict;
}

Json plan_json(const PreparedExperiment& prepared, const Programs& programs,
               const std::vector<Summary>& ranks, const std::optional<BatchSizes>& sizes,
               const std::optional<ServerMemory>& server) {
  const Experiment& experiment = prepared.experiment;
  Json result{{"schema_version", kSchemaVersion},
              {"name", experiment.name},
              {"label", experiment.label},
              {"collectives", "flat"},
              {"ranks", Json::array()}};
  std::vector<std::int64_t> peaks;
  for (const Summary& s : ranks) {
    result["ranks"].push_back(rank_json(s));
    peaks.push_back(s.peak_device_bytes);
  }
  const Json found = fitted_numbers(experiment);
  result["fitted"] = found.empty() ? Json() : found;
  result["preloading"] = preloading_json(prepared, peaks);
  result["tiles"] = tiles_json(prepared, programs);
  result["batches"] = batches_json(prepared, programs, sizes);
  result["host_memory"] = host_memory_json(prepared, programs);
  result["server_memory"] = server_memory_json(server);
  result["fits"] = nullptr;
  if (experiment.device_bytes)
    result["fits"] = *std::max_element(peaks.begin(), peaks.end()) <= *experiment.device_bytes;
  for (const auto& [name, memory] : result["host_memory"].items())
    if (is_too_small(memory)) result["fits"] = false;
  if (server && !server->fits()) result["fits"] = false;
  result["upper_bound"] = prepared.problem->strategy.depends_on_values();
  return result;
}

void print_plan(const PreparedExperiment& prepared, const std::vector<Summary>& ranks,
                const Json& result, const std::string& verdict) {
  const Experiment& experiment = prepared.experiment;
  const Problem& problem = *prepared.problem;
  fmt::print("{}{}: {}, {} ranks, {} epochs\n\n", experiment.name,
             experiment.label.empty() ? "" : " with " + experiment.label,
             experiment.resolved["strategy"]["type"].get<std::string>(), problem.ranks(),
             problem.train.epochs);
  const char* most =
      result["upper_bound"].get<bool>()
          ? "a plan skips nothing, because strategy.skip_below depends on values: a run moves "
            "less\n"
          : "";
  std::string found;
  for (const std::string& note : fitted_notes(experiment)) found += note + '\n';
  const std::string preloading = preloading_line(result["preloading"]);
  fmt::print("{}{}{}{}", report(ranks), tiles_text(result["tiles"]),
             batches_text(result["batches"]),
             wrapped(fmt::format("{}{}{}{}{}\n", most, found, verdict, preloading,
                                 preloading.empty() ? "" : "\n"),
                     room_on(stdout)));
}

Json plan_one(const Experiment& asked, DatasetCache& datasets, const PlanOptions& options) {
  const PreparedExperiment prepared = prepare(asked, datasets.load(asked));
  const Programs programs = record_checked(prepared);
  const int ranks = prepared.problem->ranks();
  if (options.steps_of_rank >= ranks)
    throw ConfigError("--steps", fmt::format("rank {} of {} ranks", options.steps_of_rank, ranks));
  if (options.steps_of_rank >= 0 && !options.json)
    fmt::print("{}\n", to_string(*programs[at(options.steps_of_rank)]));

  const auto amounts = summaries(programs, prepared);
  std::int64_t largest = 0;
  for (const Summary& rank : amounts) largest = std::max(largest, rank.peak_device_bytes);
  const std::optional<BatchSizes> sizes = prepared.strategy->batch_sizes();
  const std::optional<ServerMemory> server = fullest_server(
      prepared.experiment, programs, sizes ? in_flight(*prepared.strategy, *sizes).drawn : 0);
  Json result = plan_json(prepared, programs, amounts, sizes, server);
  const std::string verdict = judge_memory(prepared, largest, server, result);
  if (!options.json) print_plan(prepared, amounts, result, verdict + cut_line());
  return result;
}

void run_plan(const PlanOptions& options) {
  tell_activities(true);
  end_on_signals();
  DatasetCache datasets;
  Json results = Json::array();
  for (const Experiment& experiment : load_experiments(options.file, options.overrides))
    results.push_back(plan_one(experiment, datasets, options));
  if (options.json) {
    Json out = results.front();
    if (results.size() > 1) out["sweep"] = results;
    fmt::print("{}\n", out.dump());
  }
}

}  // namespace

void add_plan_command(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* command = app.add_subcommand(
      "plan", "Count operations, FLOP, bytes and memory of an experiment, and say whether it fits");
  add_experiment_file(*command, options->file, options->overrides);
  command->add_option("--steps", options->steps_of_rank, "Also print every step of this rank")
      ->type_name("RANK");
  command->add_flag("--json", options->json,
                    "Print one JSON object as the last line of standard output");
  command->footer(
      "Example: orrery plan configs/quickstart.json --set cluster.device_bytes='\"16 MiB\"'");
  command->callback([options, &exit_code] {
    run_plan(*options);
    exit_code = 0;
  });
}

}  // namespace orrery
