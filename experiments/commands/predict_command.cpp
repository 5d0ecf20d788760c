#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/json_reader.hpp"
#include "core/base/parallel.hpp"
#include "core/base/whole_file.hpp"
#include "core/graph/data_facts.hpp"
#include "core/graph/files/bytes_of.hpp"
#include "core/graph/files/folder_in_progress.hpp"
#include "core/graph/files/npy.hpp"
#include "core/terminal/activity.hpp"
#include "core/terminal/tell.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/commands/experiment_file.hpp"
#include "experiments/config/version.hpp"
#include "experiments/results/table.hpp"
#include "experiments/run/interruption.hpp"
#include "experiments/score/predictions.hpp"
#include "experiments/score/scores.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct PredictOptions {
  std::string run, weights, out;
  std::vector<std::string> overrides;
  int ranks = 1;
  bool force = false, json = false, quiet = false;
};

Json config_of(const fs::path& run) {
  const fs::path file = run / "config.json";
  if (std::error_code error; !fs::exists(file, error))
    throw Error(
        fmt::format("{} cannot be read: name the folder of a run, which has it", file.string()));
  const JsonReader config(bytes_of(file), file.string());
  for (const char* key : {"dataset", "model", "train"}) config.object(key);
  static_cast<void>(config.get<std::string>("name"));
  return config.json();
}

void write_matrix(const fs::path& file, const std::vector<float>& values, std::int64_t rows,
                  std::int64_t columns) {
  auto out = NpyWriter::create<float>(file, {rows, columns});
  out.append<float>(values);
  out.close();
}

void write_predictions(const fs::path& file, const Predicted& predicted, bool multilabel) {
  if (multilabel) {
    std::vector<std::uint8_t> said;
    for (const float logit : predicted.logits) said.push_back(logit > 0 ? 1 : 0);
    const std::int64_t rows = std::ssize(said) / std::max<std::int64_t>(1, predicted.classes);
    auto out = NpyWriter::create<std::uint8_t>(file, {rows, predicted.classes});
    out.append<std::uint8_t>(said);
    return out.close();
  }
  const auto classes = predicted_classes(predicted);
  auto out = NpyWriter::create<std::int32_t>(file, {std::ssize(classes)});
  out.append<std::int32_t>(classes);
  out.close();
}

std::string not_only_predictions(const fs::path& folder) {
  if (!fs::exists(folder / "scores.json")) return "it holds no predictions (scores.json)";
  return more_than(folder, [](const std::string& name) {
    return name == "logits.npy" || name == "predictions.npy" || name == "embeddings.npy" ||
           name == "scores.json";
  });
}

void print_scores(const Json& scores) {
  Table table({"split", "vertices", "accuracy", "macro F1", "AUC"});
  const auto share = [](const Json& value, bool percent) {
    if (value.is_null()) return std::string("-");
    return percent ? fmt::format("{:.2f} %", 100 * value.get<double>())
                   : fmt::format("{:.4f}", value.get<double>());
  };
  for (const auto& [split, of] : scores.items())
    table.add({split, of["vertices"].dump(), share(of["accuracy"], true),
               share(of["macro_f1"], false), share(of["auc"], false)});
  fmt::print("{}", table.text(room_on(stdout)));
}

void predict_command(const PredictOptions& options) {
  const Json resolved = config_of(options.run);
  const Experiment experiment = forward_experiment(resolved, options.ranks, options.overrides);
  const ModelCheckpoint kept = read_model(options.weights.empty() ? options.run : options.weights,
                                          experiment.resolved, "--weights");
  const fs::path out =
      options.out.empty() ? fs::path(options.run) / "predictions" : fs::path(options.out);
  FolderInProgress folder(out, options.force, not_only_predictions);
  DatasetCache datasets;
  Experiment in_given_order = experiment;  // rows are those of the vertices' own numbers
  in_given_order.dataset.reorder = "none";
  const ProblemData data = datasets.load(in_given_order);
  require_same_relations(
      kept, data.data->typed ? data.data->typed->texts() : std::vector<std::string>(), "--weights");
  const DataFacts facts = data.facts();
  require_same_widths(kept, {facts.features, facts.classes}, "--weights");
  Predicted predicted;
  {
    const Activity predicting("predicting");
    predicted = predict(experiment, data, kept.checkpoint);
  }
  const Dataset& set = *data.data;
  const std::int64_t n = set.vertices();
  {
    const Activity writing("writing " + out.string());
    write_matrix(folder.path() / "logits.npy", predicted.logits, n, predicted.classes);
    write_predictions(folder.path() / "predictions.npy", predicted, set.labels.multilabel);
    write_matrix(folder.path() / "embeddings.npy", predicted.embeddings, n, predicted.width);
  }
  Json told{{"schema_version", kSchemaVersion},
            {"run", options.run},
            {"out_dir", out.string()},
            {"epochs", kept.checkpoint.epochs},
            {"dataset", set.name},
            {"vertices", n},
            {"classes", predicted.classes},
            {"embedding_width", predicted.width}};
  told["scores"] = scores_json(predicted.logits, set.labels, set.split);
  write_file(folder.path() / "scores.json", told.dump(2) + "\n");
  folder.commit();
  if (options.json) return fmt::print("{}\n", told.dump());
  if (options.quiet) return;
  fmt::print("{}: the weights after {} epochs, on {} vertices of {}\n\n", options.run,
             kept.checkpoint.epochs, n, set.name);
  print_scores(told["scores"]);
  fmt::print(
      "\nlogits.npy [{0}, {1}], predictions.npy, embeddings.npy [{0}, {2}] and scores.json are in "
      "{3}\n",
      n, predicted.classes, predicted.width, out.string());
}

}  // namespace

void add_predict_command(CLI::App& app) {
  auto options = std::make_shared<PredictOptions>();
  CLI::App* command = app.add_subcommand(
      "predict", "Write the predictions of a run's kept weights for every vertex, and score them");
  command
      ->add_option("RUN", options->run,
                   "The folder of a run with train.keep_best or train.checkpoint_every")
      ->required();
  command
      ->add_option("--weights", options->weights,
                   "Use this checkpoint, or that of this folder (default: best.bin of RUN, else "
                   "its checkpoint.bin)")
      ->type_name("FILE");
  add_overrides(*command, options->overrides);
  command
      ->add_option("--ranks", options->ranks,
                   "Compute on this many threads, each a rank; the predictions stay the same")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--out", options->out, "Write into this folder (default: RUN/predictions)")
      ->type_name("DIR");
  command->add_flag("--force", options->force, "Replace predictions that are there");
  command->add_flag("--json", options->json,
                    "Print one JSON object as the last line of standard output");
  command->add_flag("--quiet", options->quiet, "Print only errors, and with --json the object");
  command->footer("Example: orrery predict results/mine --out predicted");
  command->callback([options] {
    const ThreadPool pool(available_cores());
    tell_activities(!options->quiet);
    end_on_signals();
    predict_command(*options);
  });
}

}  // namespace orrery
