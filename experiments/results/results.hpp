// Result folders: files appear whole or not at all, and logs grow by whole lines.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/whole_file.hpp"

namespace orrery {

/// The treatment of an existing result in a folder.
enum class Existing : std::uint8_t {
  refuse,
  overwrite,
  resume  ///< continue from a checkpoint; without one as overwrite
};

/// Refuses a folder in which a start would destroy something that it cannot make again. Removes
/// only files that a killed run had begun to write.
///
/// Errors    Error: it holds files that no run wrote, or a result or a checkpoint that may not be
///           replaced
void require_replaceable(const std::filesystem::path& folder, Existing existing);

/// Removes what a killed run had begun to write, and nothing while a run writes there: a run may be
/// killed after its result was written and before its timeline was.
void remove_unfinished(const std::filesystem::path& folder);

inline constexpr const char* kEpochLog = "epochs.jsonl";  ///< in the folder of a run

/// The folder of one run.
class ResultFolder {
 public:
  /// Creates the folder (and its parents) and keeps other runs out of it while this object lives.
  ///
  /// Errors    Error if it cannot be written, another run is writing it, it holds files that no run
  ///           wrote, or it already holds a result or a checkpoint that may not be replaced
  ResultFolder(std::filesystem::path folder, Existing existing);
  ~ResultFolder();
  ResultFolder(const ResultFolder&) = delete;
  ResultFolder& operator=(const ResultFolder&) = delete;

  void write(const std::string& name, const std::string& text) const {
    write_file(path_ / name, text);
  }
  /// Appends whole lines to a log of the folder.
  void append(const std::string& name, const std::string& lines) const;
  /// Has the log of epochs on the disk, if there is one: what is written after that may count on it.
  void flush_epochs() const;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path checkpoint() const { return path_ / "checkpoint.bin"; }
  /// The weights of the best validation accuracy (train.keep_best).
  std::filesystem::path best() const { return path_ / "best.bin"; }

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

/// Puts failure.json into the folder of a run, for one of several processes; returns whether this
/// one may report why the run ends.
bool claim_failure(const std::filesystem::path& folder, const nlohmann::ordered_json& failure);

/// Puts failure.json where a run that has not begun would have put its result: into a folder of
/// results without one, or a new folder. False if the job, which began `since_seconds` ago, has
/// already left one there.
bool leave_failure(const std::filesystem::path& folder, const nlohmann::ordered_json& failure,
                   double since_seconds);

/// "results/<name>-20260131-120000": a new folder, named by the time (UTC).
std::filesystem::path default_result_folder(const std::string& name);

/// A text for one path component: letters, digits, '.', '-', '_' and '=' stay.
std::string as_file_name(const std::string& text);

/// Where and with what a result was made: version, revision, compiler, host, CPU, cores, date
/// (UTC).
nlohmann::ordered_json provenance();

}  // namespace orrery
