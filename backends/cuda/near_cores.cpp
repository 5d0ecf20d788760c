#include "backends/cuda/near_cores.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>

namespace orrery::cuda {

std::vector<int> cores_near(const std::string& bus_id, const std::string& devices) {
  std::string folder = bus_id;  // CUDA writes capital letters, the system small ones
  std::transform(folder.begin(), folder.end(), folder.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::ifstream file(devices + "/" + folder + "/local_cpulist");
  std::vector<int> cores;
  for (std::string range; std::getline(file, range, ',');) {  // "0-15,32-47"
    std::istringstream text(range);
    int first = 0;
    if (!(text >> first)) return {};
    int last = first;
    if (text.peek() == '-' && !(text.ignore() >> last)) return {};
    for (int core = first; core <= last; ++core) cores.push_back(core);
  }
  return cores;
}

StayOn::StayOn(const std::vector<int>& cores) {
  cpu_set_t allowed, wanted;
  CPU_ZERO(&wanted);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;  // more cores than a set has
  for (const int core : cores)
    if (core < CPU_SETSIZE && CPU_ISSET(core, &allowed)) CPU_SET(core, &wanted);
  if (CPU_COUNT(&wanted) == 0 || ::sched_setaffinity(0, sizeof wanted, &wanted) != 0) return;
  before_ = allowed;
}

StayOn::~StayOn() {
  if (before_) ::sched_setaffinity(0, sizeof *before_, &*before_);
}

}  // namespace orrery::cuda
