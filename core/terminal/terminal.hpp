// Facts about the terminal behind a descriptor, for code that draws on it.
#pragma once

#include <string>
#include <string_view>

namespace orrery {

/// Whether lines may be redrawn: a terminal that can erase one (TERM is not "dumb").
bool draws_over(int descriptor);

/// Characters per line: asked from the terminal at each call, 80 if it does not know; 0 if the
/// descriptor is no terminal.
int columns_of(int descriptor);

/// Number of characters (not bytes) of UTF-8.
int width_of(std::string_view text);

/// The first `width` characters; "..." marks a cut.
std::string cut_to(std::string_view text, int width);

/// Breaks lines at blanks so that none is wider than `width`, unless a word is. 0: lines stay
/// unchanged.
std::string wrapped(std::string_view text, int width);

}  // namespace orrery
