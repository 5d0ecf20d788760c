// The rules for readers of arbitrary bytes.
#pragma once

#include <string>
#include <string_view>

#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

/// Reads the input once. What is wrong with how that ended, or nothing: an exception that is no
/// orrery::Error, a message with words of a library ("std::bad_alloc",
/// "[json.exception"), more memory at a time than 64 MB and four times the input (where the build
/// counts it: with the address sanitizer).
///
/// Crashes end the process; so does an input that takes more than ten seconds, by SIGALRM.
std::string judge(const Target& target, std::string_view input);

}  // namespace orrery::fuzz
