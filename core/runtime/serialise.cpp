#include "core/runtime/serialise.hpp"

#include <mutex>
#include <set>

#include "core/base/error.hpp"

namespace orrery {

void Reader::expect(std::size_t count, std::size_t bytes_each) const {
  if (count > left_.size() / bytes_each)
    throw Error("a message from another process ends too early");
}

std::string_view interned(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> all;
  const std::lock_guard lock(mutex);
  return *all.insert(text).first;
}

}  // namespace orrery
