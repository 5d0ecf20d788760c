#include "experiments/infer/plan_inference.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/units.hpp"
#include "core/terminal/tell.hpp"
#include "core/terminal/terminal.hpp"
#include "experiments/config/version.hpp"
#include "experiments/infer/choose_tiles.hpp"
#include "experiments/infer/inference_report.hpp"
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

Json choice_json(const TileChoice& choice, bool attention, bool files) {
  Json one{{"rows", choice.config.rows},
           {"columns", choice.config.columns},
           {"gemm", name_of(choice.config.gemm)},
           {"sddmm", nullptr},
           {"order", name_of(choice.order)},
           {"group_bytes", nullptr},
           {"preparation", files ? Json(name_of(choice.config.preparation)) : Json(nullptr)},
           {"received_bytes", choice.received_bytes},
           {"file_bytes", choice.file_bytes},
           {"peak_bytes", choice.peak_bytes},
           {"fits", choice.fits},
           {"seconds", nullptr}};
  if (choice.config.group_bytes > 0) one["group_bytes"] = choice.config.group_bytes;
  if (choice.seconds) one["seconds"] = *choice.seconds;
  if (attention) one["sddmm"] = name_of(choice.config.sddmm);
  return one;
}

std::string choices_text(const std::vector<TileChoice>& choices, bool attention, bool files,
                         bool simulated) {
  std::vector<std::string> header{
      "rows x columns", "gemm", attention ? "sddmm" : "order", "groups of", "received",
      "most held",      "fits"};
  if (files) header.insert(header.end() - 3, {"features", "read"});
  if (simulated) header.push_back("simulated");
  Table table(header);
  for (const TileChoice& choice : choices) {
    std::vector<std::string> row{
        fmt::format("{} x {}", choice.config.rows, choice.config.columns),
        choice.config.columns == 1 ? "-" : name_of(choice.config.gemm),
        !attention                   ? name_of(choice.order)
        : choice.config.columns == 1 ? "-"
                                     : name_of(choice.config.sddmm),
        choice.config.group_bytes > 0 ? human_bytes(choice.config.group_bytes) : "a part",
        human_bytes(choice.received_bytes),
        human_bytes(choice.peak_bytes),
        choice.fits ? "yes" : "no"};
    if (files)
      row.insert(row.end() - 3,
                 {name_of(choice.config.preparation), human_bytes(choice.file_bytes)});
    if (simulated) row.push_back(choice.seconds ? human_seconds(*choice.seconds) : "-");
    table.add(row);
  }
  return table.text(room_on(stdout));
}

/// The lines for the file, and how much more the next best way receives.
std::string advice_on(const std::vector<TileChoice>& choices, bool attention, bool files) {
  const TileChoice& best = choices.front();
  if (!best.fits)
    return "none fits into the memory of a rank: more ranks, or a narrower model, need less";
  std::string keys = fmt::format("\"rows\": {}, \"columns\": {}, \"gemm\": \"{}\"",
                                 best.config.rows, best.config.columns, name_of(best.config.gemm));
  if (attention) keys += fmt::format(", \"sddmm\": \"{}\"", name_of(best.config.sddmm));
  if (files) keys += fmt::format(", \"preparation\": \"{}\"", name_of(best.config.preparation));
  if (best.config.group_bytes > 0)
    keys += fmt::format(", \"group_bytes\": {}", best.config.group_bytes);
  std::string text = fmt::format("the fewest bytes: \"inference\": {{{}}}", keys);
  if (!attention) text += fmt::format(", \"model\": {{\"order\": \"{}\"}}", name_of(best.order));
  if (choices.size() > 1 && choices[1].fits && best.received_bytes > 0)
    text += fmt::format("; the next best, {} x {}, receives {:.1f} % more", choices[1].config.rows,
                        choices[1].config.columns,
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

}  // namespace

void print_inference_plan(const Experiment& experiment, bool json) {
  const InferenceProblem asked = inference_of(experiment, planned_data(experiment));
  const bool attention = weighs_edges(experiment.model),
             files = asked.data->feature_files != nullptr;
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
    for (const TileChoice& choice : choices)
      result["choices"].push_back(choice_json(choice, attention, files));
    fmt::print("{}\n", result.dump());
    return;
  }
  fmt::print("{}: {} ranks\n\n{}\n{}\n", experiment.name, experiment.ranks(),
             choices_text(choices, attention, files, experiment.backend == "sim"),
             wrapped(advice_on(choices, attention, files), paragraph_on(stdout)));
}

}  // namespace orrery
