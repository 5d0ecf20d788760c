#include "experiments/results/results.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <fstream>
#include <optional>
#include <vector>

#include "core/base/child_process.hpp"
#include "core/base/error.hpp"
#include "core/base/parallel.hpp"
#include "experiments/config/installed.hpp"
#include "experiments/config/version.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& file, const char* action) {
  throw Error(fmt::format("{}: cannot be {}: {}", file.string(), action, std::strerror(errno)));
}

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown";
}

/// Revision of the sources that this program was built from: as noted at installation, else that of
/// the source tree, because the launcher rebuilds when it changes.
std::string revision() {
  if (std::ifstream noted(shipped_root() / "revision"); noted) {
    std::string revision;
    std::getline(noted, revision);
    return revision;
  }
  const auto git =
      run_program({"git", "-C", kSourceRoot, "describe", "--always", "--dirty"}, "/dev/null");
  if (!git || !git->succeeded() || git->output.empty()) return "unknown";
  return git->output.substr(0, git->output.find('\n'));
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

/// A number that distinguishes texts (FNV-1a).
std::uint32_t fingerprint(const std::string& text) {
  std::uint32_t hash = 2166136261U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

std::string utc(const char* format) {
  return fmt::format(fmt::runtime(std::string("{:") + format + "}"),
                     fmt::gmtime(std::time(nullptr)));
}

/// The lock that keeps other runs out while one writes. It stays, because it marks the folder as
/// one of results.
constexpr const char* kLock = ".lock";
/// Among several ranks, the one that creates this reports why the job ends.
constexpr const char* kClaim = ".failure";

/// Puts a whole file in its place in one step. True if it is there now, false if another one
/// already was, nothing if this file system has no files without a name or its disk is full.
std::optional<bool> put_first(const fs::path& file, const std::string& text) {
  const int nameless = ::open(file.parent_path().c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0644);
  if (nameless < 0) return std::nullopt;
  std::optional<bool> put;
  if (::write(nameless, text.data(), text.size()) == static_cast<ssize_t>(text.size())) {
    const std::string opened = fmt::format("/proc/self/fd/{}", nameless);
    if (::linkat(AT_FDCWD, opened.c_str(), AT_FDCWD, file.c_str(), AT_SYMLINK_FOLLOW) == 0)
      put = true;
    else if (errno == EEXIST)
      put = false;
  }
  ::close(nameless);
  return put;
}

/// What is written into the folder of a run.
constexpr const char* kFiles[] = {"result.json",  "sweep.json",     "timeline.json",
                                  "failure.json", "config.json",    kEpochLog,
                                  "epochs.csv",   "checkpoint.bin", "best.bin"};

/// Files that write_file() had not finished when their process was killed.
///
/// Requires  the lock is held
void remove_parts(const fs::path& folder) {
  std::error_code error;
  for (const char* name : kFiles) fs::remove(folder / (std::string(name) + ".part"), error);
}

}  // namespace

void remove_unfinished(const fs::path& folder) {
  const int lock = ::open((folder / kLock).c_str(), O_RDWR | O_CLOEXEC);
  if (lock < 0) return;
  if (::flock(lock, LOCK_EX | LOCK_NB) == 0) remove_parts(folder);
  ::close(lock);
}

void require_replaceable(const fs::path& folder, Existing existing) {
  if (!fs::exists(folder)) return;
  const auto holds = [&](const char* name) { return fs::exists(folder / name); };
  const auto refuse = [&](const std::string& why) {
    throw Error(fmt::format("{}: {}", folder.string(), why));
  };
  if (!fs::is_empty(folder) && !holds(kLock))
    refuse(fmt::format("holds files that no run wrote ({}); choose another --out",
                       fs::directory_iterator(folder)->path().filename().string()));
  remove_unfinished(folder);
  const bool result = holds("result.json") || holds("sweep.json"), left = holds("checkpoint.bin");
  if (existing == Existing::refuse && result)
    refuse("already holds a result; choose another --out or add --force");
  if (existing == Existing::refuse && left)
    refuse(
        "holds the checkpoint of an unfinished run; add --resume to continue it, or --force to "
        "start over");
  if (existing == Existing::resume && result && !left)
    refuse("holds a result and no checkpoint; add --force instead of --resume to start over");
}

ResultFolder::ResultFolder(fs::path folder, Existing existing) : path_(std::move(folder)) {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) throw Error(fmt::format("{}: cannot be created: {}", path_.string(), error.message()));
  require_replaceable(path_, existing);
  const fs::path lock = path_ / kLock;
  lock_ = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock_ < 0) fail(lock, "opened");
  int status = -1;
  do status = ::flock(lock_, LOCK_EX | LOCK_NB);
  while (status != 0 && errno == EINTR);
  if (status != 0) {
    const int why = errno;
    ::close(lock_);
    if (why == EWOULDBLOCK)
      throw Error(
          fmt::format("{}: another run is writing there; choose another --out", path_.string()));
    throw Error(fmt::format(
        "{}: cannot be locked against other runs: {}; choose an --out on another file system",
        path_.string(), std::strerror(why)));
  }
  // Nobody else writes here now: unfinished files of write_file() belong to a killed run.
  remove_parts(path_);
  // Files of an earlier start would describe another run.
  for (const char* name : {"result.json", "sweep.json", "timeline.json", "failure.json", kClaim})
    fs::remove(path_ / name, error);
  if (existing == Existing::resume && fs::exists(checkpoint())) return;
  for (const char* name : {kEpochLog, "epochs.csv", "config.json", "checkpoint.bin", "best.bin",
                           "accesses.npy", "access_batches.npy"})
    fs::remove(path_ / name, error);
}

ResultFolder::~ResultFolder() {
  ::close(lock_);  // the file stays: if it were removed, two runs could lock it
}

void ResultFolder::flush_epochs() const {
  if (fs::exists(path_ / kEpochLog)) flush_file(path_ / kEpochLog);
}

void ResultFolder::append(const std::string& name, const std::string& lines) const {
  append_to_file(path_ / name, lines, false);
}

bool claim_failure(const fs::path& folder, const nlohmann::ordered_json& failure) {
  const fs::path file = folder / "failure.json";
  const std::string text = failure.dump(2) + "\n";
  // mpirun kills a rank one second after it has asked it to end. A rank that has claimed the
  // message and is killed before its file is written would leave none. So, if possible, the file
  // itself is the claim.
  if (const auto first = put_first(file, text)) return *first;
  const int claimed =
      ::open((folder / kClaim).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (claimed < 0 && errno == EEXIST) return false;
  if (claimed >= 0) ::close(claimed);
  try {
    write_file(file, text);
  } catch (const Error&) {
    // A full disk must not suppress the message.
  }
  return true;
}

bool leave_failure(const fs::path& folder, const nlohmann::ordered_json& failure,
                   double since_seconds) {
  try {
    std::error_code error;
    const bool made = fs::create_directories(folder, error);
    const auto holds = [&](const char* name) { return fs::exists(folder / name); };
    if (!made && (!holds(kLock) || holds("result.json") || holds("sweep.json"))) return true;
    const fs::path file = folder / "failure.json";
    const auto age = [&] { return fs::file_time_type::clock::now() - fs::last_write_time(file); };
    if (fs::exists(file) && age() < std::chrono::duration<double>(since_seconds)) return false;
    append_to_file(folder / kLock, "", false);
    const std::string text = failure.dump(2) + "\n";
    fs::remove(file, error);  // of an earlier start
    // A process whose mpirun is gone may have some milliseconds left: too few to flush a file.
    if (const auto first = put_first(file, text)) return *first;
    write_file(file, text);
  } catch (const std::exception&) {
    // Only the message on standard error remains.
  }
  return true;
}

fs::path default_result_folder(const std::string& name) {
  const std::string base = fmt::format("results/{}-{}", as_file_name(name), utc("%Y%m%d-%H%M%S"));
  fs::path folder = base;
  for (int i = 2; fs::exists(folder); ++i) folder = fmt::format("{}-{}", base, i);
  return folder;
}

std::string as_file_name(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr(".-_=", c) != nullptr;
    if (plain)
      name += c;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  }
  const bool names_something =
      std::any_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) != 0; });
  if (!names_something) name = fmt::format("unnamed-{:08x}", fingerprint(text));
  return name.substr(0, 150);
}

nlohmann::ordered_json provenance() {
  return {{"version", kVersion},
          {"revision", revision()},
          {"compiler", kCompiler},
          {"host", host_name()},
          {"cpu", cpu_model()},
          {"cores", available_cores()},
          {"date", utc("%Y-%m-%dT%H:%M:%SZ")}};
}

}  // namespace orrery
