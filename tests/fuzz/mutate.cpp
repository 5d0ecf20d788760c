#include "tests/fuzz/mutate.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace orrery::fuzz {
namespace {

constexpr std::array<std::string_view, 28> kNumbers{"0",
                                                    "1",
                                                    "-1",
                                                    "2",
                                                    "3",
                                                    "255",
                                                    "256",
                                                    "65536",
                                                    "1000001",
                                                    "2147483646",
                                                    "2147483647",
                                                    "2147483648",
                                                    "-2147483648",
                                                    "4294967295",
                                                    "4294967296",
                                                    "9223372036854775807",
                                                    "9223372036854775808",
                                                    "-9223372036854775808",
                                                    "18446744073709551615",
                                                    "18446744073709551616",
                                                    "0.5",
                                                    "-0.5",
                                                    "1e-320",
                                                    "1e300",
                                                    "1e999",
                                                    "NaN",
                                                    "inf",
                                                    "00"};
constexpr std::array<std::string_view, 18> kValues{"null",
                                                   "true",
                                                   "false",
                                                   "-1",
                                                   "1.5",
                                                   "1e300",
                                                   "9223372036854775808",
                                                   "\"\"",
                                                   "\"x\"",
                                                   "\"\\u0000\\n\\u001b\"",
                                                   "\"../..\"",
                                                   "[]",
                                                   "{}",
                                                   "[[]]",
                                                   "[1, \"b\", {}]",
                                                   "{\"a\": 1}",
                                                   "[1, 2, 3]",
                                                   "[null]"};

std::size_t below(Dice& dice, std::size_t n) { return n == 0 ? 0 : dice() % n; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Replaces the number that is at or behind a random place.
void change_number(std::string& s, Dice& dice) {
  const std::size_t from = below(dice, s.size());
  auto begin = std::find_if(s.begin() + static_cast<std::ptrdiff_t>(from), s.end(), is_digit);
  if (begin == s.end()) return;
  while (begin != s.begin() && is_digit(*(begin - 1))) --begin;
  const auto end = std::find_if_not(begin, s.end(), is_digit);
  s.replace(begin, end, kNumbers[below(dice, kNumbers.size())]);
}

/// Replaces what stands behind a colon, up to the next comma or end of an object or line.
void change_value(std::string& s, Dice& dice) {
  const std::size_t colon = s.find(':', below(dice, s.size()));
  if (colon == std::string::npos) return;
  const std::size_t end = std::min(s.find_first_of(",}]\n", colon + 1), s.size());
  s.replace(colon + 1, end - colon - 1, kValues[below(dice, kValues.size())]);
}

/// Leaves out, doubles or exchanges lines.
void change_lines(std::string& s, Dice& dice) {
  const std::size_t begin = s.find('\n', below(dice, s.size()));
  if (begin == std::string::npos) return;
  const std::size_t end = std::min(s.find('\n', begin + 1), s.size());
  const std::string line = s.substr(begin, end - begin);
  if (dice() % 2 == 0) s.erase(begin, end - begin);
  if (dice() % 2 == 0) s.insert(std::min(s.find('\n', below(dice, s.size())), s.size()), line);
}

/// Sets two, four or eight bytes as a number at the edges.
void set_word(std::string& s, Dice& dice) {
  static constexpr std::array<std::uint64_t, 10> kEdges{0,
                                                        1,
                                                        0x7f,
                                                        0xff,
                                                        0x7fff,
                                                        0xffff,
                                                        0x7fffffff,
                                                        0xffffffff,
                                                        0x7fffffffffffffff,
                                                        0xffffffffffffffff};
  const std::size_t bytes = std::size_t{2} << below(dice, 3);
  if (s.size() < bytes) return;
  const std::uint64_t value = kEdges[below(dice, kEdges.size())] - dice() % 2;
  std::memcpy(s.data() + below(dice, s.size() - bytes + 1), &value, bytes);
}

void change_bytes(std::string& s, Dice& dice) {
  const std::size_t at = below(dice, s.size()), length = 1 + below(dice, 32);
  switch (dice() % 6) {
    case 0:
      s[at] = static_cast<char>(s[at] ^ (1 << dice() % 8));
      break;
    case 1:
      s[at] = static_cast<char>(dice());
      break;
    case 2:
      s.erase(at, length);
      break;
    case 3:
      s.insert(at, s.substr(below(dice, s.size()), length));
      break;
    case 4:
      s.insert(at, length, static_cast<char>(dice() % 3 == 0 ? dice() : s[at]));
      break;
    default:
      s.resize(at);
      break;
  }
}

void change(std::string& s, Dice& dice, const std::vector<std::string>& words,
            const std::vector<std::string>& others) {
  if (s.empty()) s = " ";
  const std::size_t at = below(dice, s.size());
  switch (dice() % 10) {
    case 0:
    case 1:
      return change_number(s, dice);
    case 2:
    case 3:
      return change_value(s, dice);
    case 4:
      return change_lines(s, dice);
    case 5:
      return set_word(s, dice);
    case 6:
      if (words.empty()) return change_bytes(s, dice);
      s.replace(at, dice() % 2 * 8, words[below(dice, words.size())]);
      return;
    case 7: {
      if (others.empty()) return;
      const std::string& other = others[below(dice, others.size())];
      const std::size_t from = below(dice, other.size());
      s.replace(at, below(dice, 64), other.substr(from, below(dice, 256)));
      return;
    }
    default:
      return change_bytes(s, dice);
  }
}

}  // namespace

void mutate(std::string& input, Dice& dice, const std::vector<std::string>& words,
            const std::vector<std::string>& others, std::size_t most_bytes) {
  for (std::size_t changes = 1 + below(dice, 4); changes > 0; --changes)
    change(input, dice, words, others);
  if (input.size() > most_bytes) input.resize(most_bytes);
}

}  // namespace orrery::fuzz
