#include "core/terminal/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace orrery {
namespace {

constexpr int kUsualColumns = 80;

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

}  // namespace

bool draws_over(int descriptor) {
  const char* name = std::getenv("TERM");
  return ::isatty(descriptor) == 1 && name != nullptr && std::string_view(name) != "dumb";
}

int columns_of(int descriptor) {
  if (::isatty(descriptor) != 1) return 0;
  winsize size{};
  const bool told = ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return told ? size.ws_col : kUsualColumns;
}

int width_of(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string cut_to(std::string_view text, int width) {
  if (width_of(text) <= width) return std::string(text);
  const std::string_view end = std::string_view("...").substr(0, static_cast<std::size_t>(width));
  int left = width - static_cast<int>(end.size());
  std::size_t bytes = 0;
  while (bytes < text.size() && (left > 0 || !begins_character(text[bytes])))
    if (begins_character(text[bytes++])) --left;
  while (bytes < text.size() && !begins_character(text[bytes])) ++bytes;
  return std::string(text.substr(0, bytes)).append(end);
}

std::string wrapped(std::string_view text, int width) {
  if (width <= 0) return std::string(text);
  std::string out;
  int used = 0;  // width of the line that is being written
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\n') {
      out += '\n';
      used = 0;
      ++at;
      continue;
    }
    const std::size_t word = std::min(text.find_first_not_of(' ', at), text.size());
    const std::size_t end = std::min(text.find_first_of(" \n", word), text.size());
    const std::string_view blanks = text.substr(at, word - at),
                           letters = text.substr(word, end - word);
    const int wide = static_cast<int>(blanks.size()) + width_of(letters);
    if (used > 0 && used + wide > width) {
      out += '\n';
      out += letters;
      used = width_of(letters);
    } else {
      out += blanks;
      out += letters;
      used += wide;
    }
    at = end;
  }
  return out;
}

}  // namespace orrery
