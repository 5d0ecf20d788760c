// The cores beside a GPU: those of its PCI bus's NUMA node.
#pragma once

#include <sched.h>

#include <optional>
#include <string>
#include <vector>

namespace orrery::cuda {

/// Read from `devices`/BUS/local_cpulist of the system, ascending; empty if the system does not
/// tell. `bus_id`: "0000:3B:00.0".
std::vector<int> cores_near(const std::string& bus_id,
                            const std::string& devices = "/sys/bus/pci/devices");

/// While it lives, the thread that made it, and those that it starts, run only on these cores,
/// among those that it may use. Copies to a GPU then start from memory beside it, and libraries
/// that choose a network adapter by distance choose the GPU's. If none is left, nothing changes.
/// Made and ended by one thread.
class StayOn {
 public:
  explicit StayOn(const std::vector<int>& cores);
  ~StayOn();
  StayOn(const StayOn&) = delete;
  StayOn& operator=(const StayOn&) = delete;

 private:
  std::optional<cpu_set_t> before_;  ///< nothing where nothing was changed
};

}  // namespace orrery::cuda
