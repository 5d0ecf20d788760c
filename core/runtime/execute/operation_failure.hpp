// Failures in the words of whoever asked for the work.
#pragma once

#include <fmt/core.h>

#include <new>

#include "core/base/error.hpp"
#include "core/runtime/runtime.hpp"

namespace orrery {

/// Does `work`, which is that of an operation in a phase; what it throws says so.
template <class Work>
void as_operation(std::string_view kind, const Phase& phase, const Work& work) {
  try {
    work();
  } catch (const Aborted&) {
    throw;
  } catch (Error& error) {
    error.add_context(fmt::format("in {}, {}", kind, to_string(phase)));
    throw;
  } catch (const std::bad_alloc&) {
    throw Error(
        fmt::format("no memory is left for the work space of {} ({})", kind, to_string(phase)));
  }
}

}  // namespace orrery
