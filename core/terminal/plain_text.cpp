#include "core/terminal/plain_text.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace orrery {
namespace {

constexpr std::size_t kMostBytes = 4000;

std::uint8_t byte(std::string_view text, std::size_t i) {
  return i < text.size() ? static_cast<std::uint8_t>(text[i]) : std::uint8_t{0};
}

bool continues(std::string_view text, std::size_t i) { return (byte(text, i) & 0xC0U) == 0x80U; }

/// Bytes of the character at i; 0 if it is not UTF-8.
///
/// Source    RFC 3629, section 4 (overlong forms and surrogates are invalid)
std::size_t length_of(std::string_view text, std::size_t i) {
  const std::uint8_t first = byte(text, i), second = byte(text, i + 1);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4 || !continues(text, i + 1)) return 0;
  if (first < 0xE0) return 2;
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F)) return 0;
  if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) return 0;
  if (!continues(text, i + 2)) return 0;
  if (first < 0xF0) return 3;
  return continues(text, i + 3) ? 4 : 0;
}

/// A control character in ASCII, or in two bytes of UTF-8 (U+0080 to U+009F).
bool is_control(std::string_view text, std::size_t i) {
  const std::uint8_t c = byte(text, i);
  return c < 0x20 || c == 0x7F || (c == 0xC2 && byte(text, i + 1) < 0xA0 && continues(text, i + 1));
}

}  // namespace

bool has_control_characters(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (is_control(text, i)) return true;
  return false;
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0, length = 0; i < text.size(); i += length)
    if ((length = length_of(text, i)) == 0) return false;
  return true;
}

std::string one_line(std::string_view text) {
  std::string line;
  line.reserve(std::min(text.size(), kMostBytes));
  for (std::size_t i = 0; i < text.size();) {
    if (line.size() >= kMostBytes)
      return line + fmt::format("... ({} bytes more)", text.size() - i);
    const std::size_t length = length_of(text, i);
    if (text[i] == '\n') {
      line += "\\n";
    } else if (length == 0 || is_control(text, i)) {
      for (std::size_t k = 0; k < std::max<std::size_t>(length, 1); ++k)
        line += fmt::format("\\x{:02x}", byte(text, i + k));
    } else {
      line.append(text.substr(i, length));
    }
    i += std::max<std::size_t>(length, 1);
  }
  return line;
}

}  // namespace orrery
