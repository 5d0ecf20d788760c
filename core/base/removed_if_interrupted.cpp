#include "core/base/removed_if_interrupted.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <new>
#include <system_error>
#include <thread>

namespace orrery {
namespace {

namespace fs = std::filesystem;

/// What is removed, and the lowest folder above it that stays.
struct Removal {
  fs::path path, stays;
};

struct Registry {
  std::mutex mutex;
  std::map<const RemovedIfInterrupted*, Removal> all;
};

/// Lives as long as the process. It takes no memory from the heap: if that were refused, whoever is
/// told of it would ask for the registry again, which is just being made.
Registry& registry() {
  alignas(Registry) static std::byte room[sizeof(Registry)];
  static Registry& one = *new (room) Registry;
  return one;
}

fs::path lowest_existing(const fs::path& path) {
  std::error_code ignored;
  fs::path folder = path.parent_path();
  while (!folder.empty() && folder != folder.parent_path() && !fs::exists(folder, ignored))
    folder = folder.parent_path();
  return folder;
}

void remove(const Removal& removal) {
  std::error_code error;
  // Another process may create a file in the folder between its emptying and its removal.
  for (int attempt = 0; attempt < 50; ++attempt) {
    fs::remove_all(removal.path, error);
    if (!error) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  for (fs::path folder = removal.path.parent_path(); folder != removal.stays && !folder.empty();
       folder = folder.parent_path())
    if (!fs::remove(folder, error)) return;  // it holds something else
}

}  // namespace

RemovedIfInterrupted::RemovedIfInterrupted(const fs::path& path) {
  std::error_code ignored;
  const fs::path whole = fs::absolute(path, ignored).lexically_normal();
  const std::lock_guard lock(registry().mutex);
  registry().all[this] = {whole, lowest_existing(whole)};
}

RemovedIfInterrupted::~RemovedIfInterrupted() {
  const std::lock_guard lock(registry().mutex);
  registry().all.erase(this);
}

std::unique_lock<std::mutex> RemovedIfInterrupted::finishing() {
  return std::unique_lock(registry().mutex);
}

void remove_unfinished() {
  registry().mutex.lock();  // for good
  for (const auto& [unfinished, removal] : registry().all) remove(removal);
}

void remove_unfinished_if_free() {
  if (!registry().mutex.try_lock()) return;
  for (const auto& [unfinished, removal] : registry().all) remove(removal);
}

}  // namespace orrery
