#include "core/inference/input/storage_rate.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>

#include "core/base/error.hpp"

namespace orrery {
namespace {

using Clock = std::chrono::steady_clock;  // the same in all processes of a machine
using Nanoseconds = std::atomic<std::int64_t>;

static_assert(Nanoseconds::is_always_lock_free, "processes share it");

[[noreturn]] void refuse(const std::string& why) { throw ConfigError("ORRERY_STORAGE", why); }

/// The number in a file, which all who have it open share.
Nanoseconds* shared_number(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) refuse(fmt::format("{} cannot be opened: {}", path, std::strerror(errno)));
  void* memory = MAP_FAILED;
  if (::ftruncate(file, sizeof(Nanoseconds)) == 0)  // what is new is 0
    memory = ::mmap(nullptr, sizeof(Nanoseconds), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const int error = errno;
  ::close(file);
  if (memory == MAP_FAILED)
    refuse(fmt::format("{} cannot be shared: {}", path, std::strerror(error)));
  return static_cast<Nanoseconds*>(memory);
}

}  // namespace

struct StorageRate::Limit {
  double bytes_per_second;
  Nanoseconds* free_at;  ///< by the clock
};

StorageRate::StorageRate(const std::string& limits) {
  std::stringstream list(limits);
  for (std::string one; std::getline(list, one, ',');) {
    const auto at = one.find('@');
    double rate = 0;
    const auto [end, error] =
        std::from_chars(one.data(), one.data() + std::min(at, one.size()), rate);
    if (at == std::string::npos || at + 1 == one.size() || error != std::errc{} ||
        end != one.data() + at || !(rate > 0) || !std::isfinite(rate))
      refuse(fmt::format(
          "found \"{}\", expected RATE@FILE, with a rate above 0 in bytes per second", one));
    limits_.push_back({rate, shared_number(one.substr(at + 1))});
  }
  if (limits_.empty()) refuse("is empty: unset it, or name RATE@FILE");
}

StorageRate::~StorageRate() {
  for (const Limit& limit : limits_) ::munmap(limit.free_at, sizeof(Nanoseconds));
}

void StorageRate::pass(std::int64_t bytes) const {
  if (bytes <= 0) return;
  std::int64_t until = 0;
  for (const Limit& limit : limits_) {
    const std::int64_t now = std::chrono::nanoseconds(Clock::now().time_since_epoch()).count(),
                       takes =
                           std::llround(1e9 * static_cast<double>(bytes) / limit.bytes_per_second);
    std::int64_t free_at = limit.free_at->load(), ends = 0;
    do ends = std::max(free_at, now) + takes;
    while (!limit.free_at->compare_exchange_weak(free_at, ends));
    until = std::max(until, ends);
  }
  std::this_thread::sleep_until(Clock::time_point(std::chrono::nanoseconds(until)));
}

const StorageRate* StorageRate::of_environment() {
  static const std::unique_ptr<const StorageRate> rate = [] {
    const char* limits = std::getenv("ORRERY_STORAGE");
    return limits == nullptr ? nullptr : std::make_unique<const StorageRate>(limits);
  }();
  return rate.get();
}

void pass_storage(std::int64_t bytes) {
  if (const StorageRate* rate = StorageRate::of_environment()) rate->pass(bytes);
}

}  // namespace orrery
