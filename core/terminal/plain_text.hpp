// Text that may come from a file or a command line and goes to a terminal, a page or another file.
#pragma once

#include <string>
#include <string_view>

namespace orrery {

/// Whether the text has a line end, a tab, or another character that controls a terminal.
bool has_control_characters(std::string_view text);

/// Whether all of it is UTF-8.
bool is_utf8(std::string_view text);

/// The text in one line of UTF-8: control characters and bytes that are not UTF-8 become "\x1b" and
/// the like, line ends become "\n". A text above 4,000 bytes is shortened, with a remark.
std::string one_line(std::string_view text);

}  // namespace orrery
