#include "experiments/results/resume.hpp"

#include <fmt/core.h>

#include <fstream>

#include "core/base/error.hpp"
#include "core/base/json_reader.hpp"
#include "core/graph/files/bytes_of.hpp"
#include "experiments/results/checkpoint.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// A number, or null; one of both must be there.
std::optional<double> number(const JsonReader& line, const char* key) {
  if (!line.json().contains(key)) line.fail(key, "expected a number or null, found none");
  return line.has(key) ? std::optional(line.get<double>(key)) : std::nullopt;
}

/// The scores of a split of held-out links.
std::optional<LinkScores> link_scores_of(const JsonReader& line, const std::string& split) {
  const std::string under = "links/" + split;
  if (!line.has(under)) return std::nullopt;
  return LinkScores{line.get<double>(under + "/auc"), line.get<double>(under + "/mrr"),
                    line.get<std::vector<double>>(under + "/hits")};
}

/// The inverse of epoch_json().
EpochReport report_of(const JsonReader& line, int epoch) {
  if (const std::int64_t found = line.count("epoch"); found != epoch)
    line.fail("epoch", fmt::format("expected {}, found {}", epoch, found));
  EpochReport report{epoch, number(line, "loss"), std::nullopt};
  const Accuracies scores{number(line, "train_accuracy"), number(line, "val_accuracy"),
                          number(line, "test_accuracy")};
  if (scores.train || scores.validation || scores.test) report.scores = scores;
  if (line.has("val_loss")) report.validation_loss = line.get<double>("val_loss");
  if (line.has("links"))
    report.links = {link_scores_of(line, "validation"), link_scores_of(line, "test")};
  return report;
}

}  // namespace

Earlier take_up(const ResultFolder& folder, const Json& resolved, const std::string& fingerprint) {
  Earlier earlier;
  if (!fs::exists(folder.checkpoint())) return earlier;
  earlier.checkpoint = bytes_of(folder.checkpoint());
  const int done =
      parse_checkpoint(earlier.checkpoint, folder.checkpoint().string(), resolved, fingerprint)
          .epochs;
  if (done > resolved["train"]["epochs"])
    throw ConfigError("train.epochs", fmt::format("is {}, but the checkpoint has seen {} epochs",
                                                  resolved["train"]["epochs"].get<int>(), done));
  const fs::path log = folder.path() / kEpochLog;
  std::ifstream in(log);
  std::string line, kept;
  for (int epoch = 0; epoch < done && std::getline(in, line); ++epoch) {
    const JsonReader parsed(line, log.string(), fmt::format("line {}", epoch + 1));
    earlier.epochs.push_back(report_of(parsed, epoch));
    earlier.seconds.push_back(parsed.get<double>("seconds"));
    kept += line + "\n";
  }
  if (static_cast<int>(earlier.epochs.size()) < done)
    throw DataError(log.string(), "",
                    fmt::format("holds {} of the {} epochs that the checkpoint has seen; start "
                                "over without --resume",
                                earlier.epochs.size(), done));
  write_file(log, kept);
  return earlier;
}

bool is_complete(const fs::path& folder, const Json& resolved) {
  if (!fs::exists(folder / "result.json")) return false;
  const fs::path kept_file = folder / "config.json", result_file = folder / "result.json";
  if (!fs::exists(kept_file)) return false;
  const JsonReader result(bytes_of(result_file), result_file.string());
  const JsonReader kept(bytes_of(kept_file), kept_file.string());
  if (result.get<bool>("interrupted")) return false;
  require_same_experiment(kept, resolved, kept_file.string());
  if (result.has("diverged_at_epoch"))
    throw Error(
        fmt::format("{}: training diverged in epoch {}, and would again; give another "
                    "train.learning_rate, and --force in place of --resume",
                    folder.string(), result.get<int>("diverged_at_epoch")));
  const std::int64_t done = result.count("epochs");
  const std::int64_t wanted = resolved["train"]["epochs"].get<std::int64_t>();
  if (done == wanted) return true;
  // Its patience has run out; with another one it goes on.
  if (done < wanted && result.get<bool>("stopped_early", false) &&
      kept.get<int>("train/patience", 0) == resolved["train"].value("patience", 0))
    return true;
  if (done > wanted)
    throw ConfigError("train.epochs", fmt::format("is {}, but {} holds a run of {} epochs", wanted,
                                                  folder.string(), done));
  if (!fs::exists(folder / "checkpoint.bin"))
    throw ConfigError("train.epochs",
                      fmt::format("is {}, but {} holds a complete run of {} epochs and no "
                                  "checkpoint to continue from",
                                  wanted, folder.string(), done));
  return false;
}

}  // namespace orrery
