#include "experiments/infer/plan_inference.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <exception>

#include "core/base/units.hpp"
#include "core/terminal/activity.hpp"
#include "core/terminal/tell.hpp"
#include "core/terminal/terminal.hpp"
#include "experiments/config/version.hpp"
#include "experiments/infer/choose_tiles.hpp"
#include "experiments/infer/inference_report.hpp"
#include "experiments/infer/layer_orders.hpp"
#include "experiments/infer/simulate_inference.hpp"
#include "experiments/infer/trained_weights.hpp"
#include "experiments/results/table.hpp"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

/// The seconds of the best ways on the cluster of the experiment, if that is to be simulated.
void simulate_best(std::vector<TileChoice>& choices, const InferenceProblem& asked,
                   const Experiment& experiment) {
  constexpr std::size_t kReplayed = 5;
  if (experiment.backend != "sim") return;
  for (std::size_t i = 0; i < std::min(kReplayed, choices.size()); ++i) {
    TileChoice& choice = choices[i];
    if (!choice.fits) return;
    const InferenceProblem problem = laid_out(asked, choice);
    const RankStages counted = count_stages(InferenceBody(problem), {});
    choice.seconds = total_seconds(simulate_stages(problem, experiment, counted, nullptr));
  }
}

Json choice_json(const TileChoice& choice, const InferenceProblem& asked) {
  const InferenceConfig& config = choice.config;
  Json one{{"rows", config.rows},
           {"columns", config.columns},
           {"gemm", name_of(config.gemm)},
           {"spmm", name_of(config.spmm)},
           {"sddmm", nullptr},
           {"order", order_json(orders_of(asked, config))},
           {"group_bytes", nullptr},
           {"preparation",
            asked.data->feature_files ? Json(name_of(config.preparation)) : Json(nullptr)},
           {"received_bytes", choice.received_bytes},
           {"file_bytes", choice.file_bytes},
           {"peak_bytes", choice.peak_bytes},
           {"fits", choice.fits}};
  if (config.group_bytes > 0) one["group_bytes"] = config.group_bytes;
  if (weighs_edges(asked.model)) one["sddmm"] = name_of(config.sddmm);
  return one;
}

std::string choices_text(const std::vector<TileChoice>& choices, const InferenceProblem& asked,
                         bool simulated) {
  const bool attention = weighs_edges(asked.model), files = asked.data->feature_files != nullptr;
  std::vector<std::string> header{
      "rows x columns", "gemm", attention ? "sddmm" : "order", "groups of", "received",
      "most held",      "fits"};
  if (!attention) header.insert(header.begin() + 2, "spmm");
  if (files) header.insert(header.end() - 3, {"features", "read"});
  if (simulated) header.push_back("simulated");
  Table table(header);
  for (const TileChoice& choice : choices) {
    std::vector<std::string> row{
        fmt::format("{} x {}", choice.config.rows, choice.config.columns),
        choice.config.columns == 1 ? "-" : name_of(choice.config.gemm),
        !attention                   ? order_text(order_json(orders_of(asked, choice.config)))
        : choice.config.columns == 1 ? "-"
                                     : name_of(choice.config.sddmm),
        choice.config.group_bytes > 0 ? human_bytes(choice.config.group_bytes) : "a part",
        human_bytes(choice.received_bytes),
        human_bytes(choice.peak_bytes),
        choice.fits ? "yes" : "no"};
    if (!attention) row.insert(row.begin() + 2, name_of(choice.config.spmm));
    if (files)
      row.insert(row.end() - 3,
                 {name_of(choice.config.preparation), human_bytes(choice.file_bytes)});
    if (simulated) row.push_back(choice.seconds ? human_seconds(*choice.seconds) : "-");
    table.add(row);
  }
  return table.text(room_on(stdout));
}

/// The lines for the file, and how much more the next best way receives.
std::string advice_on(const std::vector<TileChoice>& choices, const InferenceProblem& asked) {
  const bool attention = weighs_edges(asked.model), files = asked.data->feature_files != nullptr;
  const TileChoice& best = choices.front();
  if (!best.fits)
    return "none fits into the memory of a rank: more ranks, or a narrower model, need less";
  std::string keys = fmt::format("\"rows\": {}, \"columns\": {}, \"gemm\": \"{}\"",
                                 best.config.rows, best.config.columns, name_of(best.config.gemm));
  keys += attention ? fmt::format(", \"sddmm\": \"{}\"", name_of(best.config.sddmm))
                    : fmt::format(", \"spmm\": \"{}\"", name_of(best.config.spmm));
  if (!best.config.order.empty())
    keys += fmt::format(", \"order\": {}", order_json(best.config.order).dump());
  if (files) keys += fmt::format(", \"preparation\": \"{}\"", name_of(best.config.preparation));
  if (best.config.group_bytes > 0)
    keys += fmt::format(", \"group_bytes\": {}", best.config.group_bytes);
  std::string text = fmt::format("the fewest bytes: \"inference\": {{{}}}", keys);
  if (choices.size() > 1 && choices[1].fits && best.received_bytes > 0)
    text += fmt::format("; the next best, {} x {}{}, receives {:.1f} % more",
                        choices[1].config.rows, choices[1].config.columns,
                        choices[1].config.order == best.config.order
                            ? ""
                            : " in the order " + order_text(order_json(choices[1].config.order)),
                        100 * (choices[1].received_bytes / best.received_bytes - 1));
  return text;
}

/// The data, with as many result columns as the named weights say. If nothing says it, as many as a
/// hidden layer has: a layout can also be chosen before a model is trained.
std::shared_ptr<const InferenceData> planned_data(const Experiment& experiment) {
  auto data = load_inference(experiment, {}).data;
  if (data->classes > 0) return data;
  if (!experiment.weights.empty())
    return with_classes(data, experiment, read_weights(experiment, {}).get());
  auto supposed = std::make_shared<InferenceData>(*data);
  supposed->classes = experiment.model.hidden;
  tell(
      "{}: no labels and no inference.weights say how many columns come out: counted with {}, as "
      "model.hidden\n",
      data->name, supposed->classes);
  return supposed;
}

/// Edges times layers times the square of the ranks: counting every way of so many takes 0.2 to 0.3 s on
/// two idle cores, because each of up to `ranks` columns cuts the edges anew. More is for --plan.
constexpr std::int64_t kMostWork = 8'000'000;
constexpr int kMostRanks = 16;

/// Whether the ways can be counted here (a process of a job over MPI may have the rows of its part
/// alone), and soon.
bool counts_soon(const InferenceProblem& problem, std::int64_t ranks) {
  const InferenceData& data = *problem.data;
  if (ranks > kMostRanks) return false;
  if (data.statistics) return true;
  return data.edges <= kMostWork / problem.model.layers / (ranks * ranks) &&
         data.graph.rows.count == data.graph.vertices;
}

/// "2 x 2 with ids_then_rows, ring": tiles, and the products that they have.
std::string way_text(const Json& way) {
  std::string text = fmt::format("{} x {} with {}", way["rows"].get<int>(),
                                 way["columns"].get<int>(), way["spmm"].get<std::string>());
  if (way["columns"].get<int>() > 1)
    for (const char* key : {"gemm", "sddmm"})
      if (way[key].is_string()) text += ", " + way[key].get<std::string>();
  if (way["preparation"].is_string()) text += ", " + way["preparation"].get<std::string>();
  return text;
}

double all_bytes(const Json& way) {
  return way["received_bytes"].get<double>() + way["file_bytes"].get<double>();
}

}  // namespace

void print_inference_plan(const Experiment& experiment, bool json) {
  const InferenceProblem asked = inference_of(experiment, planned_data(experiment));
  std::vector<TileChoice> choices =
      choose_tiles(asked, experiment.ranks(), experiment.device_bytes);
  simulate_best(choices, asked, experiment);
  if (json) {
    Json result{{"schema_version", kSchemaVersion},
                {"name", experiment.name},
                {"ranks", experiment.ranks()},
                {"device_bytes", nullptr},
                {"choices", Json::array()}};
    if (experiment.device_bytes) result["device_bytes"] = *experiment.device_bytes;
    for (const TileChoice& choice : choices) {
      result["choices"].push_back(choice_json(choice, asked));
      result["choices"].back()["seconds"] = choice.seconds ? Json(*choice.seconds) : Json(nullptr);
    }
    fmt::print("{}\n", result.dump());
    return;
  }
  fmt::print("{}: {} ranks\n\n{}\n{}\n", experiment.name, experiment.ranks(),
             choices_text(choices, asked, experiment.backend == "sim"),
             wrapped(advice_on(choices, asked), paragraph_on(stdout)));
}

Json fewest_bytes(const Experiment& experiment, const InferenceProblem& ran,
                  const RankStages& counted) try {
  if (!counts_soon(ran, experiment.ranks())) return nullptr;
  const Activity counting("counting other ways to lay it out");
  // Groups as the file has them, not as they were made to fit.
  const InferenceProblem asked = inference_of(experiment, ran.data);
  Json best =
      choice_json(choose_tiles(asked, experiment.ranks(), experiment.device_bytes).front(), asked);
  best["this_run"] = {{"order", order_json(orders_of(ran, ran.config))},
                      {"received_bytes", received_bytes_of(counted)},
                      {"file_bytes", feature_file_bytes(ran)}};
  return best;
} catch (const std::exception&) {
  return nullptr;  // an inference does not fail because another way cannot be counted
}

std::string fewest_bytes_text(const Json& result) {
  const Json& best = result["fewest_bytes"];
  if (best.is_null()) return "";
  if (!best["fits"].get<bool>()) return "fewest bytes: no layout fits into the memory of a rank\n";
  const Json& run = best["this_run"];
  const double least = all_bytes(best), here = all_bytes(run);
  if (least == here)
    return fmt::format("fewest bytes: this run's {}, {}\n", way_text(result), human_bytes(here));
  const bool order = best["sddmm"].is_null() && best["order"] != run["order"];
  const auto text = [&](const Json& way, const Json& ordered, double bytes) {
    return way_text(way) + (order ? ", " + order_text(ordered["order"]) : "") + ", " +
           human_bytes(bytes);
  };
  return fmt::format("fewest bytes{}: {} (this run: {})\n",
                     least > here ? " that fit into a rank" : "", text(best, best, least),
                     text(result, run, here));
}

}  // namespace orrery
