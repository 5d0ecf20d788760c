// The threads of a CUDA block as fibers of one operating-system thread, so that barriers and warp
// shuffles mean on a CPU what they mean on a GPU.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

namespace orrery::emulation {

struct Index3 {
  unsigned x = 0, y = 0, z = 0;
};

/// Where the running thread stands in its grid.
struct Place {
  Index3 grid_extent, block_extent, block, thread;
  unsigned linear = 0;  ///< the thread's number in its block
};
/// The place of the calling thread; set while run_grid() runs a kernel.
inline thread_local constinit const Place* current_place = nullptr;

/// Runs `body` once for every thread of every block, blocks one after another.
///
/// Errors    aborts the process, with a line on stderr, where a barrier is not reached by all that
///           it waits for: on a GPU that would hang or be undefined
void run_grid(Index3 grid, Index3 block, const std::function<void()>& body);

/// Waits for all threads of the block.
void block_barrier();

using WarpWords = std::array<std::uint64_t, 32>;
/// Waits for the lanes in `mask`, this one among them, and returns the word that each brought.
///
/// Errors    aborts where this lane is not in the mask, or a lane of it never comes
const WarpWords& warp_exchange(unsigned mask, std::uint64_t word);

}  // namespace orrery::emulation
