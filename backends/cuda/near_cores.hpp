// The cores beside a GPU: those of the NUMA node that its PCI bus hangs on.
#pragma once

#include <string>
#include <vector>

namespace orrery::cuda {

/// As the system tells in `devices`/BUS/local_cpulist, ascending; empty where it does not.
/// `bus_id`: "0000:3B:00.0".
std::vector<int> cores_near(const std::string& bus_id,
                            const std::string& devices = "/sys/bus/pci/devices");

/// Lets the calling thread, and those that it starts from here on, run on these cores alone, of
/// those that it may use: copies to a GPU then start from memory beside it, and libraries that
/// choose a network adapter by distance choose the GPU's. Where none is left, nothing changes.
void stay_on(const std::vector<int>& cores);

}  // namespace orrery::cuda
