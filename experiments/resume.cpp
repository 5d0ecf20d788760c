#include "experiments/resume.hpp"

#include <fmt/core.h>

#include <fstream>
#include <sstream>

#include "core/base/error.hpp"
#include "experiments/checkpoint.hpp"

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
  return line[key].is_null() ? std::nullopt : std::optional(line[key].get<double>());
}

/// The inverse of epoch_json().
EpochReport report_of(const Json& line) {
  EpochReport report{line["epoch"], number(line, "loss"), std::nullopt};
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
  const fs::path log = folder.path() / "epochs.jsonl";
  std::ifstream in(log);
  std::string line, kept;
  while (static_cast<int>(earlier.epochs.size()) < done && std::getline(in, line)) {
    const Json parsed = Json::parse(line, nullptr, false);
    if (parsed.is_discarded() ||
        parsed.value("epoch", -1) != static_cast<int>(earlier.epochs.size()))
      break;
    earlier.epochs.push_back(report_of(parsed));
    earlier.seconds.push_back(parsed["seconds"]);
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

bool is_complete(const fs::path& folder) {
  if (!fs::exists(folder / "result.json")) return false;
  const Json result = Json::parse(whole_file(folder / "result.json"), nullptr, false);
  return !result.is_discarded() && !result.value("interrupted", true);
}

}  // namespace orrery
