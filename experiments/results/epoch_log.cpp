#include "experiments/results/epoch_log.hpp"

#include <fmt/core.h>
#include <filesystem>
#include <fstream>

#include "core/base/error.hpp"
#include "core/terminal/tell.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kColumns[] = {"epoch",        "loss",          "train_accuracy",
                                    "val_accuracy", "test_accuracy", "seconds"};

std::string csv_header() {
  std::string header;
  for (const char* column : kColumns)
    header += fmt::format("{}{}", header.empty() ? "" : ",", column);
  return header + "\n";
}

std::string csv_row(const Json& epoch) {
  std::string row;
  for (const char* column : kColumns) {
    const Json& value = epoch[column];
    row += fmt::format("{}{}", row.empty() ? "" : ",", value.is_null() ? "" : value.dump());
  }
  return row + "\n";
}

/// The table of the epochs that the log holds already.
std::string csv_of(const fs::path& log) {
  std::string table = csv_header();
  std::ifstream in(log);
  for (std::string line; std::getline(in, line);) table += csv_row(Json::parse(line));
  return table;
}

}  // namespace

EpochLog::EpochLog(const ResultFolder* results, const LogOptions& options) : results_(results) {
  if (results == nullptr) return;
  files_.push_back({kEpochLog});
  const fs::path log = results->path() / kEpochLog;
  if (options.csv) {
    results->write("epochs.csv", csv_of(log));
    files_.push_back({"epochs.csv"});
  }
  if (options.event_files.empty()) return;
  std::vector<std::string> words = options.event_files;
  words.push_back((results->path() / "tensorboard").string());
  events_ = std::make_unique<ChildProcess>(words);
}

void EpochLog::append(const EpochReport& report, double seconds) {
  if (results_ == nullptr) return;
  const Json epoch = epoch_json(report, seconds);
  const std::string line = epoch.dump() + "\n";
  for (File& file : files_) file.missing += file.name == "epochs.csv" ? csv_row(epoch) : line;
  if (events_ && !events_lost_) events_lost_ = !write_all(events_->input(), line);
  const bool told = !not_written_.empty();
  write();
  if (!told && !not_written_.empty()) tell("\norrery: {}; going on without it\n", not_written_);
}

const std::string& EpochLog::finish() {
  write();
  if (!events_) return not_written_;
  events_->close_input();
  const bool whole = events_->wait() == 0 && !events_lost_;
  events_.reset();
  if (!whole && not_written_.empty())
    not_written_ = "the event files for TensorBoard are not whole (see above)";
  return not_written_;
}

void EpochLog::write() {
  try {
    for (File& file : files_) {
      if (file.missing.empty()) continue;
      results_->append(file.name, file.missing);
      file.missing.clear();
    }
    not_written_.clear();
  } catch (const Error& error) {
    not_written_ = error.what();
  }
}

}  // namespace orrery
