// What the ranks of a simulation do, as a graph that other simulators can replay: computation,
// messages, and what each of them waits for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/ops/tensor.hpp"
#include "sim/collectives/expansion.hpp"
#include "sim/replay/simulation.hpp"

namespace orrery::sim {

/// One thing that a rank does. It starts when all nodes in `after` have ended.
struct TraceNode {
  enum class Type : std::uint8_t { compute, send, receive, collective };
  Type type = Type::compute;
  Lane lane = Lane::compute;
  std::string name;        ///< of the operation: "spmm", "all_to_all"
  double seconds = 0;      ///< compute: alone on its device
  double flops = 0;        ///< compute
  std::int64_t bytes = 0;  ///< of the message; collective: see ExecutionTrace; compute: of memory
  int peer = -1;           ///< send, receive: the other rank
  int tag = -1;  ///< send, receive: a send and its receive share it, and nothing else does
  CollectiveKind collective = CollectiveKind::all_reduce;
  int group = -1;                    ///< collective: in ExecutionTrace::groups
  std::vector<std::uint32_t> after;  ///< numbers of nodes of the same rank, ascending, all smaller
  bool operator==(const TraceNode&) const = default;
};

/// The nodes of every rank. A node `collective` is one rank's part in a collective whose messages
/// are left to the reader. Its bytes are those of the operand (all_reduce, reduce_scatter) or of one
/// rank's slice (all_gather), as ASTRA-sim counts them.
struct ExecutionTrace {
  std::vector<std::vector<TraceNode>> ranks;
  std::vector<std::vector<int>> groups;  ///< ranks of each group that collectives name
  bool operator==(const ExecutionTrace&) const = default;
};

struct TraceOptions {
  EpochRange epochs{0, 1};         ///< epochs whose operations are kept
  bool whole_collectives = false;  ///< where all ranks have equal parts, keep them as one node
};

/// Turns priced programs into a trace. Lanes, the waits between them and what the host reads back
/// become dependencies. Collectives become the messages that the simulation would send; a message
/// that is passed on while it arrives becomes its chunks. A rank's pull or push of rows becomes a
/// request, a node "serve" of the owner, and an answer; also where a run reads the owner's memory
/// itself.
///
/// Left out   what is not the ranks' own: the time to issue operations, the sharing of devices,
///            cores and links, barriers of threads, the time to read files. Whoever replays the trace
///            brings these.
/// Units      seconds, bytes. Messages of fractions of a byte (slices) are rounded.
/// Errors     ProgramError (a deadlock), Error (a message that leaves in one of the epochs and arrives
///            in another; more than 2^31 messages), ConfigError (algorithms)
ExecutionTrace trace_of(const Simulation& simulation, const TraceOptions& options);

/// Sums of a trace.
struct TraceSums {
  std::int64_t nodes = 0, messages = 0, collectives = 0;
  std::int64_t message_bytes = 0;  ///< of all sends
  double most_seconds = 0;         ///< computation of the rank with most
};
TraceSums sums_of(const ExecutionTrace& trace);

}  // namespace orrery::sim
