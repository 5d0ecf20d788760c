// A clock that is set while a program runs: a library to preload (LD_PRELOAD). Only the time of day jumps,
// as when somebody sets it; clocks that count from the start of the machine go on. Environment:
//
//   CLOCK_JUMP      seconds by which readings are off
//   CLOCK_JUMPS_AT  from which reading on, from 1; 0: the first, the third and so on, forth and back
//   CLOCK_COUNT     a file to which each process adds a line with its number of readings when it exits
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace {

std::atomic<long> readings{0};

long number_of(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::atol(text);
}

/// Seconds to add to this reading.
long jump() {
  static const long seconds = number_of("CLOCK_JUMP"), at = number_of("CLOCK_JUMPS_AT");
  const long reading = ++readings;
  return (at == 0 ? reading % 2 == 1 : reading >= at) ? seconds : 0;
}

struct TellsCount {
  ~TellsCount() {
    const char* name = std::getenv("CLOCK_COUNT");
    std::FILE* out = name == nullptr ? nullptr : std::fopen(name, "a");
    if (out == nullptr) return;
    std::fprintf(out, "%ld\n", readings.load());
    std::fclose(out);
  }
} tells_count;

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// The C library's own names.
// NOLINTBEGIN
extern "C" {

int clock_gettime(clockid_t clock, timespec* out) noexcept {
  static const auto behind = next<int (*)(clockid_t, timespec*)>("clock_gettime");
  const int status = behind(clock, out);
  if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    out->tv_sec += jump();
  return status;
}

int gettimeofday(timeval* out, void* zone) noexcept {
  static const auto behind = next<int (*)(timeval*, void*)>("gettimeofday");
  const int status = behind(out, zone);
  if (status == 0) out->tv_sec += jump();
  return status;
}

time_t time(time_t* out) noexcept {
  static const auto behind = next<time_t (*)(time_t*)>("time");
  const time_t told = behind(nullptr) + jump();
  if (out != nullptr) *out = told;
  return told;
}

}  // extern "C"
// NOLINTEND
