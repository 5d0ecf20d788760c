// Messages for whoever watches a run.
#pragma once

#include <fmt/core.h>

#include <string_view>
#include <utility>

namespace orrery {

/// Writes to standard error. If the line of the present activity (activity.hpp) is shown, the text
/// replaces it. A watcher that is gone (a closed terminal, a full disk) is no reason to stop, so
/// failures are ignored.
void tell_text(std::string_view text);

/// Writes "note: TEXT" where activities are told (activity.hpp), once in a process however often it
/// is said. Before it is known whether they are, notes wait for that.
void tell_note(std::string_view text);

/// The same as tell_text() for formatted text.
template <class... Values>
void tell(fmt::format_string<Values...> format, Values&&... values) {
  tell_text(fmt::format(format, std::forward<Values>(values)...));
}

}  // namespace orrery
