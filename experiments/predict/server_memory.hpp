// Host memory of a server: that of all its ranks, of every kind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/error.hpp"
#include "core/runtime/recording.hpp"
#include "core/strategy/strategy.hpp"
#include "experiments/config/experiment.hpp"

namespace orrery {

/// Batches of a rank that are prepared ahead, and the host memory that the largest rank takes for them beside
/// what its program counts.
struct BatchesAhead {
  int batches = 0;
  std::int64_t drawn = 0, bound = 0;  ///< bytes of the largest that were drawn, and of any
};

/// Nothing if there are no batches. It draws some.
std::optional<BatchesAhead> in_flight(const Strategy& strategy);
BatchesAhead in_flight(const Strategy& strategy, const BatchSizes& sizes);

/// What the ranks of a server hold of its host memory: the sums over them of the most that each holds
/// of a kind, in bytes.
struct ServerMemory {
  int server = 0, ranks = 0;
  std::int64_t host = 0, pinned_host = 0, server_host = 0;
  std::int64_t in_flight = 0;  ///< batches that are prepared ahead
  std::int64_t room = 0;       ///< host memory of the server

  std::int64_t bytes() const { return host + pinned_host + server_host + in_flight; }
  bool fits() const { return bytes() <= room; }
};

/// The server whose ranks hold most, each with `in_flight` bytes of batches; the first of equal ones.
/// Nothing if the experiment does not say how much host memory a server has, or if no rank holds any.
///
/// Shapes    programs: one for each rank
std::optional<ServerMemory> fullest_server(const Experiment& experiment, const Programs& programs,
                                           std::int64_t in_flight);

/// The ranks of a server hold more host memory together than it has: server_memory_line() says so.
class ServerTooSmall : public OutOfMemory {
 public:
  explicit ServerTooSmall(const ServerMemory& memory);
  const char* what() const noexcept override { return line_.c_str(); }

 private:
  std::string line_;
};

/// Whether they fit, as a line; if not, with what to do.
std::string server_memory_line(const ServerMemory& memory);

}  // namespace orrery
