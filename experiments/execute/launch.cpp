#include "experiments/execute/launch.hpp"

#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>

namespace orrery {
namespace {

/// The number in an environment variable, or -1.
int number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return -1;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  return *end == '\0' && value >= 0 && value < 1 << 30 ? static_cast<int>(value) : -1;
}

struct Variables {
  const char *rank, *size;
};
/// A shell inside a Slurm allocation also has SLURM_NTASKS; only a step has a valid rank.
constexpr Variables kStarters[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                   {"PMI_RANK", "PMI_SIZE"},
                                   {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};

}  // namespace

Launch launch_from_environment() {
  for (const Variables& v : kStarters) {
    const Launch launch{number_in(v.rank), number_in(v.size)};
    if (launch.rank >= 0 && launch.size > launch.rank) return launch;
  }
  return {};
}

double process_age_seconds() {
  std::ifstream stat("/proc/self/stat");
  std::string text;
  std::getline(stat, text);
  // The command's name, in brackets, may contain blanks: count after it. Start time is field 22.
  const auto behind = text.rfind(')');
  if (behind == std::string::npos) return 0;
  std::size_t at = behind + 2;
  for (int field = 3; field < 22 && at != std::string::npos; ++field) at = text.find(' ', at) + 1;
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const double started = std::atof(text.c_str() + at) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) - started;
}

}  // namespace orrery
