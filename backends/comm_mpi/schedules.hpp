// The messages of collectives: broadcasts, sums in rank order, direct exchanges.
#pragma once

#include <cstdint>
#include <span>

#include "backends/comm_mpi/batch.hpp"

namespace orrery::mpi {

/// Bytes in memory; those of a sender are only read.
struct Part {
  void* data = nullptr;
  std::int64_t bytes = 0;
};

/// The parts of every rank ← those of group index `root`; this rank is group index `me`.
///
/// Cost      a tree if little is sent, else a chain in group order from the root, in chunks
void broadcast(Batch& batch, const Group& group, int me, int root, std::span<const Part> parts);

/// send[i] goes to group index i, receive[i] comes from there; a rank's own part is copied.
void exchange(Batch& batch, const Group& group, int me, std::span<const Part> send,
              std::span<const Part> receive);

/// The sum over ranks of x, elements cut into one slice per group index: slice i is [bounds[i],
/// bounds[i + 1]). `out` ← this rank's slice of the sum. If `spread` is given, the other slices of
/// the sum go there, each at its place (it may be x). Sums begin at zero and add in rank order, so
/// that every communicator gives the same bits.
///
/// Cost      two messages per pair and piece of 256 KiB; scratch of two pieces per peer, at most 32
///           MiB
template <class T>
void sum_slices(Batch& batch, const Group& group, int me, std::span<const std::int64_t> bounds,
                const T* x, T* out, T* spread);

}  // namespace orrery::mpi
