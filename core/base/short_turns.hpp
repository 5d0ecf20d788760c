// A wish to the system's scheduler.
#pragma once

namespace orrery {

/// Asks the system to give the calling thread short turns on a core, and therefore one soon after
/// it wakes up: for threads that move data, which wake up often and do little while others wait for
/// them. Where kernels keep all cores at work, nine in ten wake-ups then take 45 us instead of
/// 285 us, and a thread that yields comes back after a turn of 0.1 ms instead of 3 ms (measured on
/// Linux 6.18). Systems that know no such wish (before Linux 6.12) ignore it.
void ask_for_short_turns();

}  // namespace orrery
