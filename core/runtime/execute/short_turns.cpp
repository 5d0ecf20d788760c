#include "core/runtime/execute/short_turns.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace orrery {

void ask_for_short_turns() {
  struct {  // the system's sched_attr, which the C library does not declare; policy 0: normal
    std::uint32_t size = 48, policy = 0;
    std::uint64_t flags = 0;
    std::int32_t nice = ::getpriority(PRIO_PROCESS, 0);  // stays
    std::uint32_t priority = 0;
    std::uint64_t turn_nanoseconds = 100'000, deadline = 0, period = 0;  // the shortest possible
  } wish;
  ::syscall(SYS_sched_setattr, 0, &wish, 0);
}

}  // namespace orrery
