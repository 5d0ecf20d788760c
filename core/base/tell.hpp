// Words for whoever watches a run.
#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <string>
#include <utility>

namespace orrery {

/// Writes to standard error. A watcher that is gone (a closed terminal, a full disk) is no reason
/// to stop, so failures are ignored.
template <class... Values>
void tell(fmt::format_string<Values...> format, Values&&... values) {
  const std::string text = fmt::format(format, std::forward<Values>(values)...);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace orrery
