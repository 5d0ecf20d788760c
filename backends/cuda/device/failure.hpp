// How the library fails: by exceptions inside, by codes and last_error() outside.
#pragma once

#include <exception>
#include <string>

#include "backends/cuda/interface.h"

namespace orrery::cuda {

/// The failure, for the caller on the other side of the C interface.
struct Failure {
  int code = kOrreryFailed;
  std::string text;
};

/// The text of the calling thread's last failure.
const char* last_error();
void set_last_error(const std::string& text);

/// Runs one call of the C table: no exception leaves it.
template <class Work>
int guarded(Work&& work) noexcept {
  try {
    work();
    return kOrreryOk;
  } catch (const Failure& failure) {
    set_last_error(failure.text);
    return failure.code;
  } catch (const std::exception& error) {
    set_last_error(error.what());
    return kOrreryFailed;
  }
}

/// Throws if a requirement on the arguments of a call does not hold.
inline void require(bool holds, const char* what) {
  if (!holds) throw Failure{kOrreryFailed, what};
}

}  // namespace orrery::cuda
