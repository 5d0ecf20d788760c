#include "core/partition/kept/cut_report.hpp"

#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <mutex>

#include "core/base/units.hpp"
#include "core/terminal/tell.hpp"

namespace orrery {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLong = 1;  ///< seconds

/// The present planning of the process.
struct Planning {
  Clock::time_point begin = Clock::now();
  std::string method{};  ///< of the last cut that took long
  double seconds = 0;
  bool kept = false;
};

std::mutex changing;
Planning planning;

}  // namespace

void begin_planning() {
  const std::lock_guard lock(changing);
  planning = {};
}

void report_cut(const std::string& method, const MadeCut& made) {
  if (made.seconds <= kLong) return;
  {
    const std::lock_guard lock(changing);
    planning.method = method;
    planning.seconds = made.seconds;
    planning.kept = made.kept;
  }
  static std::atomic<bool> advised = false;
  if (made.kept)
    tell_note(fmt::format("cuts by {} are taken from ORRERY_CACHE", method));
  else if (folder_of_cuts().empty() && !are_cut_anew() && is_kept(method) &&
           !advised.exchange(true))
    tell_note(
        fmt::format("{} cut the graph in {}: with ORRERY_CACHE=FOLDER the next start takes "
                    "the cut from there",
                    method, human_seconds(made.seconds)));
}

std::string cut_line() {
  const std::lock_guard lock(changing);
  if (planning.method.empty()) return "";
  const std::string cut = human_seconds(planning.seconds);
  if (planning.kept)
    return fmt::format("cut by {} taken from ORRERY_CACHE, which saved {}\n", planning.method, cut);
  const double whole = std::chrono::duration<double>(Clock::now() - planning.begin).count();
  return fmt::format("cut by {} in {}, {} of planning\n", planning.method, cut,
                     human_percent(planning.seconds / whole));
}

}  // namespace orrery
