// Small clusters by hand.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "sim/collectives/expansion.hpp"
#include "sim/price/profile.hpp"

namespace orrery::sim::test {

inline int add_node(Cluster& c, const std::string& name, NodeKind kind, int server) {
  c.nodes.push_back({name, kind, server});
  const int node = static_cast<int>(c.nodes.size()) - 1;
  if (kind == NodeKind::kDevice) c.devices.push_back({node, "gpu", "gpu", 1, 1, 1});
  return node;
}

inline void join(Cluster& c, int a, int b, double rate, const std::string& type = "link",
                 int count = 1) {
  c.links.push_back({a, b, rate * count, 1e-6, Duplex::kFull, type, count});
}

/// Servers of devices on one switch at 100 GB/s each, every adapter of 10 GB/s beside a device of
/// its own (and nearest to it), all adapters on one network switch.
inline Cluster switched(int servers, int gpus, int nics = 1) {
  Cluster c{"switched", "", {}, {}, {}};
  const int net = add_node(c, "net", NodeKind::kNetworkSwitch, kNoServer);
  for (int s = 0; s < servers; ++s) {
    const std::string at = "s" + std::to_string(s) + "/";
    const int nvswitch = add_node(c, at + "nvswitch", NodeKind::kLocalSwitch, s);
    std::vector<int> pcie;
    for (int k = 0; k < nics; ++k) {
      pcie.push_back(add_node(c, at + "plx" + std::to_string(k), NodeKind::kLocalSwitch, s));
      const int nic = add_node(c, at + "nic" + std::to_string(k), NodeKind::kNic, s);
      join(c, pcie.back(), nic, 20e9, "pcie");
      join(c, nic, net, 10e9, "ib");
    }
    for (int g = 0; g < gpus; ++g) {
      const int gpu = add_node(c, at + "gpu" + std::to_string(g), NodeKind::kDevice, s);
      join(c, gpu, nvswitch, 100e9, "nvlink");
      join(c, gpu, pcie[static_cast<std::size_t>(g * nics / gpus)], 20e9, "pcie");
    }
  }
  return c;
}

/// NVLinks between the GPUs of a DGX-1: nvidia-smi topology matrix in NCCL issue 671.
inline constexpr std::array<std::array<int, 8>, 8> kDgx1{{{0, 1, 1, 2, 2, 0, 0, 0},
                                                          {1, 0, 2, 1, 0, 2, 0, 0},
                                                          {1, 2, 0, 2, 0, 0, 1, 0},
                                                          {2, 1, 2, 0, 0, 0, 0, 1},
                                                          {2, 0, 0, 0, 0, 1, 1, 2},
                                                          {0, 2, 0, 0, 1, 0, 2, 1},
                                                          {0, 0, 1, 0, 1, 2, 0, 2},
                                                          {0, 0, 0, 1, 2, 1, 2, 0}}};

/// DGX-1 servers: NVLinks of 25 GB/s, two GPUs and an adapter on each PCIe switch.
inline Cluster dgx1(int servers = 1) {
  Cluster c{"dgx1", "", {}, {}, {}};
  const int net = add_node(c, "net", NodeKind::kNetworkSwitch, kNoServer);
  for (int s = 0; s < servers; ++s) {
    const std::string at = "s" + std::to_string(s) + "/";
    const int host = add_node(c, at + "cpu", NodeKind::kHost, s);
    std::vector<int> gpus;
    for (int g = 0; g < 8; ++g)
      gpus.push_back(add_node(c, at + "gpu" + std::to_string(g), NodeKind::kDevice, s));
    for (std::size_t g = 0; g < 8; g += 2) {
      const int plx = add_node(c, at + "plx" + std::to_string(g / 2), NodeKind::kLocalSwitch, s);
      const int nic = add_node(c, at + "nic" + std::to_string(g / 2), NodeKind::kNic, s);
      for (const int end : {gpus[g], gpus[g + 1], nic, host}) join(c, end, plx, 12e9, "pcie");
      join(c, nic, net, 12.5e9, "ib");
    }
    for (std::size_t a = 0; a < 8; ++a)
      for (std::size_t b = a + 1; b < 8; ++b)
        if (kDgx1[a][b] > 0) join(c, gpus[a], gpus[b], 25e9, "nvlink2", kDgx1[a][b]);
  }
  return c;
}

inline GroupPlaces places_of(const Cluster& c, const std::vector<int>& devices) {
  GroupPlaces places{devices, {}};
  for (const int d : devices) places.server.push_back(c.server_of(d));
  return places;
}

inline GroupPlaces all_of(const Cluster& c) {
  std::vector<int> devices(c.devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i) devices[i] = static_cast<int>(i);
  return places_of(c, devices);
}

inline Library library(const std::string& name) {
  Library l;
  l.name = name;
  return l;
}

}  // namespace orrery::sim::test
