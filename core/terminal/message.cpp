#include "core/terminal/message.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <new>
#include <system_error>

namespace orrery {
namespace {

constexpr const char* kNoMemory =
    "the system grants no more memory (limits: ulimit -v, the control group, the machine); a "
    "smaller data set, a narrower model or fewer ranks and threads need less";

void (*last_call)() = nullptr;

/// Allocates nothing to say it. What is called last may: then this is called again, and ends at once.
void end_without_memory() {
  static std::atomic_flag told;
  thread_local bool ends = false;
  if (!told.test_and_set()) {
    ends = true;
    for (const char* part : {"orrery: error: ", kNoMemory, "\n"})
      if (::write(STDERR_FILENO, part, std::strlen(part)) < 0) break;  // nobody listens
    last_call();
    ::_exit(1);
  }
  if (ends) ::_exit(1);
  while (true) ::pause();  // another thread ends the process
}

}  // namespace

void end_when_memory_ends(void (*last)()) {
  last_call = last;
  std::set_new_handler(end_without_memory);
}

std::string message_of(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return kNoMemory;
  if (const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&error))
    return fmt::format("{}: {}", file->path1().string(), file->code().message());
  const auto* system = dynamic_cast<const std::system_error*>(&error);
  if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again)
    return "the system grants no more threads (limits: ulimit -u, the control group, and ulimit "
           "-v for their memory); fewer ranks need fewer";
  return error.what();
}

}  // namespace orrery
