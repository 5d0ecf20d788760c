// Which server each rank runs on. This distinguishes internal from external communication.
#pragma once

#include <vector>

#include "core/base/index.hpp"
#include "core/ops/tensor.hpp"

namespace orrery {

/// Ranks on servers. Servers are numbered from 0 by their lowest rank.
class Placement {
 public:
  /// One server with all ranks, of any number.
  Placement() = default;
  /// `server_of[r]`: any label of rank r's server; equal labels mean the same server.
  explicit Placement(const std::vector<int>& server_of);
  /// Rank r on server r / ranks_per_server.
  static Placement uniform(int servers, int ranks_per_server);

  int servers() const { return servers_; }
  int server_of(int rank) const { return server_of_.empty() ? 0 : server_of_[at(rank)]; }
  /// Number of the rank among those of its server, from 0.
  int place_of(int rank) const { return place_of_.empty() ? rank : place_of_[at(rank)]; }
  bool same_server(int a, int b) const { return server_of(a) == server_of(b); }
  /// Whether the group's ranks lie on more than one server.
  bool crosses_servers(const Group& group) const;
  bool operator==(const Placement&) const = default;

 private:
  std::vector<int> server_of_, place_of_;
  int servers_ = 1;
};

}  // namespace orrery
