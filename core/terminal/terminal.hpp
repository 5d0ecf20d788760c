// What a descriptor leads to, for those who draw on it.
#pragma once

#include <string>
#include <string_view>

namespace orrery {

/// Whether lines may be drawn over: a terminal that knows how to erase one (TERM is not "dumb").
bool draws_over(int descriptor);

/// How many characters a line has now: asked from the terminal at each call, 80 where it does not
/// know; 0 where the descriptor is no terminal.
int columns_of(int descriptor);

/// How many characters (not bytes) of UTF-8 there are.
int width_of(std::string_view text);

/// The first so many characters; "..." ends what was cut.
std::string cut_to(std::string_view text, int width);

/// Breaks lines at blanks so that none is wider (but for words that are). 0: lines stay as they are.
std::string wrapped(std::string_view text, int width);

}  // namespace orrery
