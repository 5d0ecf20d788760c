// Functions that the parts of the emulation and tests share.
#pragma once

#include <atomic>
#include <cstdint>

namespace orrery::emulation {

/// Whether this is memory of the device or pinned.
bool known(const void* p);
/// Whether the calling thread captures a stream, which forbids it to wait or to allocate.
bool captures();
/// Runs whatever is queued in any stream.
void run_all();

}  // namespace orrery::emulation

extern "C" {
/// 1: from now on, work of a stream runs only when something waits for it; 0: at once.
void orrery_emulate_lazily(int yes);
/// The n-th kernel launch from now fails; 0: none.
void orrery_emulate_failing_launch(int n);
}
