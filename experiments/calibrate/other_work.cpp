#include "experiments/calibrate/other_work.hpp"

#include <fmt/core.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/base/parallel.hpp"

namespace orrery::calibrate {
namespace {

/// Less than this is what a system does by itself.
constexpr double kBusyCores = 0.25, kBusyLoad = 0.5;
/// The kernel counts in hundredths of a second: over less time than this they say little.
constexpr double kLeastSeconds = 0.3;

/// The load average of the last minute, without what our own last run has left in it: at most the
/// processes that are ready to run now, but for this one.
double load_of_others() {
  double load = 0;
  if (::getloadavg(&load, 1) != 1) return 0;
  std::ifstream in("/proc/loadavg");
  double one = 0, five = 0, fifteen = 0;
  int running = 1;
  in >> one >> five >> fifteen >> running;
  return std::min(load, static_cast<double>(std::max(0, running - 1)));
}

/// Seconds that the processors of this process were not idle, taken together; nothing where the
/// system does not tell.
std::optional<double> busy_seconds() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (::sched_getaffinity(0, sizeof mine, &mine) != 0) return std::nullopt;
  std::ifstream in("/proc/stat");
  double ticks = 0;
  int found = 0;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name.size() < 4 || !name.starts_with("cpu")) continue;
    const int number = std::atoi(name.c_str() + 3);
    if (number >= CPU_SETSIZE || !CPU_ISSET(number, &mine)) continue;
    double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, soft_irq = 0, steal = 0;
    if (!(words >> user >> nice >> system >> idle >> waiting >> irq >> soft_irq >> steal))
      return std::nullopt;
    ticks += user + nice + system + irq + soft_irq + steal;
    ++found;
  }
  if (found == 0) return std::nullopt;
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double own_seconds() {
  double sum = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    ::getrusage(who, &usage);
    for (const timeval& t : {usage.ru_utime, usage.ru_stime})
      sum += static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  }
  return sum;
}

}  // namespace

bool OtherWork::disturbs() const { return cores ? *cores > kBusyCores : load_before > kBusyLoad; }

std::string OtherWork::words(const std::string& what) const {
  return cores ? fmt::format(
                     "this machine was at work while {} measured: other programs kept "
                     "{:.1f} of its {} cores busy",
                     what, *cores, available_cores())
               : fmt::format("this machine was at work before {} measured: load average {:.1f}",
                             what, load_before);
}

WorkWatch::WorkWatch()
    : load_before_(load_of_others()),
      begin_(std::chrono::steady_clock::now()),
      busy_seconds_(busy_seconds()),
      own_seconds_(own_seconds()) {}

OtherWork WorkWatch::seen() const {
  OtherWork work{load_before_, std::nullopt};
  const double wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  const auto busy = busy_seconds();
  if (!busy || !busy_seconds_ || wall < kLeastSeconds) return work;
  const double others = (*busy - *busy_seconds_) - (own_seconds() - own_seconds_);
  work.cores = std::clamp(others / wall, 0.0, static_cast<double>(available_cores()));
  return work;
}

}  // namespace orrery::calibrate
