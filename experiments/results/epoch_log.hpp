// The log of a run's epochs, written while it goes on: epochs.jsonl, and other outputs that were
// requested.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/child_process.hpp"
#include "experiments/results/results.hpp"
#include "experiments/results/run_report.hpp"

namespace orrery {

/// Other forms of the log.
struct LogOptions {
  bool csv = false;  ///< epochs.csv: the same as a table
  /// Starts a program that takes the lines of the log from standard input and a folder as its last
  /// argument, tensorboard/ of the result (analysis/event_files.py); empty: none.
  std::vector<std::string> event_files{};
};

/// If the log cannot be written, training goes on for its result, and every epoch tries again to
/// write what is missing.
class EpochLog {
 public:
  /// `results`: null on processes that do not lead. If a run goes on, epochs.jsonl holds the epochs
  /// before.
  EpochLog(const ResultFolder* results, const LogOptions& options);
  void append(const EpochReport& report, double seconds);
  /// Why a log is not whole; empty where it is.
  const std::string& finish();

 private:
  struct File {
    std::string name, missing{};
  };
  void write();

  const ResultFolder* results_;
  std::vector<File> files_;
  std::unique_ptr<ChildProcess> events_;  ///< is given the lines; one that has ended stops nobody
  bool events_lost_ = false;
  std::string not_written_;
};

}  // namespace orrery
