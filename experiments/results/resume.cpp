#include "experiments/results/resume.hpp"

#include <fmt/core.h>

#include <fstream>
#include <sstream>

#include "core/base/error.hpp"
#include "experiments/results/checkpoint.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string whole_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::optional<double> number(const Json& line, const char* key) {
  const Json& value = line.at(key);
  return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}

/// The inverse of epoch_json().
EpochReport report_of(const Json& line) {
  EpochReport report{line.at("epoch"), number(line, "loss"), std::nullopt};
  const Accuracies scores{number(line, "train_accuracy"), number(line, "val_accuracy"),
                          number(line, "test_accuracy")};
  if (scores.train || scores.validation || scores.test) report.scores = scores;
  return report;
}

}  // namespace

Earlier take_up(const ResultFolder& folder, const Json& resolved) {
  Earlier earlier;
  if (!fs::exists(folder.checkpoint())) return earlier;
  earlier.checkpoint = whole_file(folder.checkpoint());
  const int done =
      parse_checkpoint(earlier.checkpoint, folder.checkpoint().string(), resolved).epochs;
  if (done > resolved["train"]["epochs"])
    throw ConfigError("train.epochs", fmt::format("is {}, but the checkpoint has seen {} epochs",
                                                  resolved["train"]["epochs"].get<int>(), done));
  const fs::path log = folder.path() / "epochs.jsonl";
  std::ifstream in(log);
  std::string line, kept;
  while (static_cast<int>(earlier.epochs.size()) < done && std::getline(in, line)) {
    const Json parsed = Json::parse(line, nullptr, false);
    if (parsed.is_discarded() ||
        parsed.value("epoch", -1) != static_cast<int>(earlier.epochs.size()))
      break;
    try {
      earlier.seconds.push_back(parsed.at("seconds"));
      earlier.epochs.push_back(report_of(parsed));
    } catch (const Json::exception&) {
      break;  // no line of ours
    }
    kept += line + "\n";
  }
  if (static_cast<int>(earlier.epochs.size()) < done)
    throw DataError(log.string(), "",
                    fmt::format("holds {} of the {} epochs that the checkpoint has seen; start "
                                "anew without --resume",
                                earlier.epochs.size(), done));
  write_file(log, kept);
  return earlier;
}

bool is_complete(const fs::path& folder, const Json& resolved) {
  if (!fs::exists(folder / "result.json")) return false;
  const Json result = Json::parse(whole_file(folder / "result.json"), nullptr, false);
  const Json kept = Json::parse(whole_file(folder / "config.json"), nullptr, false);
  if (result.is_discarded() || kept.is_discarded() || result.value("interrupted", true))
    return false;
  require_same_experiment(kept, resolved, (folder / "config.json").string());
  const int done = result.value("epochs", 0), wanted = resolved["train"]["epochs"];
  if (done == wanted) return true;
  if (done > wanted)
    throw ConfigError("train.epochs", fmt::format("is {}, but {} holds a run of {} epochs", wanted,
                                                  folder.string(), done));
  if (!fs::exists(folder / "checkpoint.bin"))
    throw ConfigError("train.epochs",
                      fmt::format("is {}, but {} holds a complete run of {} epochs and no "
                                  "checkpoint to go on from",
                                  wanted, folder.string(), done));
  return false;
}

}  // namespace orrery
