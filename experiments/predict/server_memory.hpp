// Host memory of a server: that of all its ranks, of every kind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/runtime/recording.hpp"
#include "experiments/config/experiment.hpp"

namespace orrery {

/// What the ranks of a server hold of its host memory: the sums over them of the most that each holds
/// of a kind, in bytes.
struct ServerMemory {
  int server = 0, ranks = 0;
  std::int64_t host = 0, pinned_host = 0, server_host = 0;
  std::int64_t room = 0;  ///< host memory of the server

  std::int64_t bytes() const { return host + pinned_host + server_host; }
  bool fits() const { return bytes() <= room; }
};

/// The server whose ranks hold most; the first of equal ones. Nothing if the experiment does not say
/// how much host memory a server has, or if no rank holds any.
///
/// Shapes    programs: one for each rank
std::optional<ServerMemory> fullest_server(const Experiment& experiment, const Programs& programs);

/// Whether they fit, as a line; if not, with what to do.
std::string server_memory_line(const ServerMemory& memory);

}  // namespace orrery
