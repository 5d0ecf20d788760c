#include "core/runtime/ledger.hpp"

#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery {

std::string_view tensor_class(std::string_view name) { return name.substr(0, name.find('/')); }

void Ledger::take(Space space, std::int64_t bytes, std::string_view name) {
  Account& account = accounts_[orrery::at(space)];
  const std::int64_t capacity = capacities_.bytes[orrery::at(space)];
  if (bytes > capacity - account.in_use)
    throw OutOfMemory(std::string(name), bytes, account.in_use, capacity,
                      std::string(name_of(space)));
  account.in_use += bytes;
  account.by_class[std::string(tensor_class(name))] += bytes;
  if (account.in_use > account.peak) {
    account.peak = account.in_use;
    account.peak_by_class = account.by_class;
  }
}

void Ledger::give(Space space, std::int64_t bytes, std::string_view name) {
  Account& account = accounts_[orrery::at(space)];
  account.in_use -= bytes;
  account.by_class[std::string(tensor_class(name))] -= bytes;
  ORRERY_ASSERT(account.in_use >= 0);
}

}  // namespace orrery
