#include <cstring>

#include "backends/comm_mpi/schedules.hpp"
#include "core/base/index.hpp"

namespace orrery::mpi {

void exchange(Batch& batch, const Group& group, int me, std::span<const Part> send,
              std::span<const Part> receive) {
  const auto& mine = send[at(me)];
  const auto& into = receive[at(me)];
  // Each rank begins with the peer after it, so that not all of them address the same one.
  for (int d = 1; d < group.size; ++d) {
    const int from = (me + group.size - d) % group.size;
    const Part& part = receive[at(from)];
    batch.receive(0, group.rank_of(from), part.data, part.bytes);
  }
  for (int d = 1; d < group.size; ++d) {
    const int to = (me + d) % group.size;
    const Part& part = send[at(to)];
    batch.send(0, group.rank_of(to), part.data, part.bytes);
  }
  if (into.bytes > 0) std::memmove(into.data, mine.data, static_cast<std::size_t>(into.bytes));
  batch.wait(0);
}

}  // namespace orrery::mpi
