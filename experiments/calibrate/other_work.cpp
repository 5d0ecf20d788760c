#include "experiments/calibrate/other_work.hpp"

#include <fmt/core.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <tuple>

#include "core/base/error.hpp"
#include "core/terminal/tell.hpp"

namespace orrery::calibrate {
namespace {

/// The system itself does less than this.
constexpr double kBusyCores = 0.25, kBusyLoad = 0.5;
/// The kernel counts in hundredths of a second: differences over less time than this say little.
constexpr double kLeastSeconds = 0.3;

/// Tells machines apart that were started at one time from one image.
std::string machine_name() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string name;
  std::getline(in, name);
  return name;
}

/// Seconds that each processor of this process was busy since the machine started; none if the
/// system does not say.
std::map<int, double> busy_seconds() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (::sched_getaffinity(0, sizeof mine, &mine) != 0) return {};
  std::ifstream in("/proc/stat");
  std::map<int, double> busy;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name.size() < 4 || !name.starts_with("cpu")) continue;
    const int number = std::atoi(name.c_str() + 3);
    if (number >= CPU_SETSIZE || !CPU_ISSET(number, &mine)) continue;
    double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, soft_irq = 0, steal = 0;
    if (!(words >> user >> nice >> system >> idle >> waiting >> irq >> soft_irq >> steal))
      return {};
    busy[number] = (user + nice + system + irq + soft_irq + steal) /
                   static_cast<double>(::sysconf(_SC_CLK_TCK));
  }
  return busy;
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

/// The readings of the processes of one machine, as one.
struct MachineReading {
  double load = 0, running = 0, seconds = 0, own_seconds = 0;
  std::map<int, double> busy_seconds;
  bool told = true;  ///< by all of them
  int processes = 0;

  void add(const WorkReading& reading) {
    load = std::max(load, reading.load);
    running = std::max(running, reading.running);
    seconds = std::max(seconds, reading.seconds);
    own_seconds += reading.own_seconds;
    for (const auto& [processor, busy] : reading.busy_seconds)
      busy_seconds[processor] = std::max(busy_seconds[processor], busy);
    told = told && !reading.busy_seconds.empty();
    ++processes;
  }

  OtherWork of_others() const {
    OtherWork work;
    // A job's last run is still in the average, so others are at most the processes that are ready
    // to run now.
    work.load_before = std::min(load, std::max(0.0, running - processes));
    work.of_cores = static_cast<int>(busy_seconds.size());
    if (!told || seconds <= 0) return work;
    double busy = 0;
    for (const auto& [processor, its] : busy_seconds) busy += its;
    work.cores =
        std::clamp((busy - own_seconds) / seconds, 0.0, static_cast<double>(work.of_cores));
    return work;
  }
};

}  // namespace

bool OtherWork::disturbs() const { return cores ? *cores > kBusyCores : load_before > kBusyLoad; }

std::string OtherWork::words(const std::string& what) const {
  const char* where = of_several ? "a machine of the job" : "this machine";
  return cores ? fmt::format(
                     "{} was at work while {} measured: other programs kept {:.1f} of its {} cores "
                     "busy",
                     where, what, *cores, of_cores)
               : fmt::format("{} was at work before {} measured: load average {:.1f}", where, what,
                             load_before);
}

nlohmann::ordered_json other_work_json(const OtherWork& work) {
  nlohmann::ordered_json json{
      {"load_before", work.load_before}, {"cores", nullptr}, {"note", nullptr}};
  if (work.cores) json["cores"] = *work.cores;
  if (work.disturbs()) json["note"] = work.words("it was");
  return json;
}

std::string to_text(const WorkReading& reading) {
  return nlohmann::json{reading.machine, reading.load,        reading.running,
                        reading.seconds, reading.own_seconds, reading.busy_seconds}
      .dump();
}

WorkReading reading_from_text(const std::string& text) {
  const auto json = nlohmann::json::parse(text);
  WorkReading reading{json[0], json[1], json[2], json[3], json[4], {}};
  for (const auto& pair : json[5]) reading.busy_seconds[pair[0]] = pair[1];
  return reading;
}

OtherWork work_of_others(const std::vector<WorkReading>& job) {
  std::map<std::string, MachineReading> machines;
  for (const WorkReading& reading : job) machines[reading.machine].add(reading);
  std::optional<OtherWork> most;
  for (const auto& [name, machine] : machines) {
    const OtherWork work = machine.of_others();
    const auto weight = [](const OtherWork& w) {
      return std::tuple(w.disturbs(), w.cores.value_or(w.load_before));
    };
    if (!most || weight(work) > weight(*most)) most = work;
  }
  most->of_several = machines.size() > 1;
  return *most;
}

WorkWatch::WorkWatch() {
  begin_.machine = machine_name();
  std::ifstream in("/proc/loadavg");
  double five = 0, fifteen = 0;
  in >> begin_.load >> five >> fifteen >> begin_.running;
  begin_.own_seconds = own_seconds();
  begin_.busy_seconds = busy_seconds();
  since_ = std::chrono::steady_clock::now();
}

WorkReading WorkWatch::reading() const {
  WorkReading now = begin_;
  now.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - since_).count();
  now.own_seconds = own_seconds() - begin_.own_seconds;
  now.busy_seconds.clear();
  if (now.seconds < kLeastSeconds) return now;
  for (const auto& [processor, busy] : busy_seconds())
    if (const auto before = begin_.busy_seconds.find(processor);
        before != begin_.busy_seconds.end())
      now.busy_seconds[processor] = busy - before->second;
  return now;
}

OtherWork look_for_a_second() {
  const WorkWatch watch;
  std::this_thread::sleep_for(std::chrono::seconds(1));
  return watch.seen();
}

namespace {

std::string busy_now(const OtherWork& work) {
  return work.cores
             ? fmt::format("other programs keep {:.1f} of {} cores busy", *work.cores,
                           work.of_cores)
             : fmt::format("other programs are at work: load average {:.1f}", work.load_before);
}

}  // namespace

void wait_for_quiet(int looks, const std::function<OtherWork()>& look) {
  OtherWork seen;
  for (int i = 0; i < looks; ++i) {
    seen = look();
    if (!seen.disturbs()) return;
    if (i == 0) tell("{}; waiting up to {} s for them to end\n", busy_now(seen), looks);
  }
  throw Error(
      fmt::format("{}; times would be too long. Stop the other programs, or add --busy-ok "
                  "to measure all the same",
                  busy_now(seen)));
}

}  // namespace orrery::calibrate
