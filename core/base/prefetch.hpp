// Memory that will be needed soon.
#pragma once

namespace orrery {

/// Asks for the line of the cache at an address, which need not exist. Changes nothing but time.
inline void prefetch(const void* address) {
#if defined(__GNUC__)
  __builtin_prefetch(address, 1);
#else
  static_cast<void>(address);
#endif
}

}  // namespace orrery
