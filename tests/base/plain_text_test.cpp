#include "core/terminal/plain_text.hpp"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(PlainText, OfOneLineStaysAsItIs) {
  for (const char* text : {"", "a b", "größer → 2 µs", "グラフ", "\U0001F680", "\u00a0"}) {
    EXPECT_EQ(one_line(text), text);
    EXPECT_FALSE(has_control_characters(text)) << text;
  }
}

TEST(PlainText, ShowsControlCharactersAsDigits) {
  EXPECT_EQ(one_line("a\nb\r\x1b[31m\x7f"), "a\\nb\\x0d\\x1b[31m\\x7f");
  EXPECT_EQ(one_line("\xc2\x9b"
                     "31m"),
            "\\xc2\\x9b31m");
  EXPECT_EQ(one_line(std::string_view("a\0b", 3)), "a\\x00b");
  for (const char* text : {"a\nb", "\x1b", "\x7f", "\t", "\xc2\x9b"})
    EXPECT_TRUE(has_control_characters(text)) << one_line(text);
}

/// RFC 3629: cut, overlong, surrogates, above U+10FFFF.
TEST(PlainText, ShowsBytesThatAreNoUtf8AsDigits) {
  EXPECT_EQ(one_line("a\xff"), "a\\xff");
  for (const char* text : {"a\xff", "\xe2\x82", "\xc0\xaf", "r\xe9s"}) EXPECT_FALSE(is_utf8(text));
  for (const char* text : {"", "größer", "\U0001F680", "a\n"}) EXPECT_TRUE(is_utf8(text));
  EXPECT_EQ(one_line("\xe2\x82"), "\\xe2\\x82");
  EXPECT_EQ(one_line("\xc0\xaf"), "\\xc0\\xaf");
  EXPECT_EQ(one_line("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");
  EXPECT_EQ(one_line("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(one_line("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(PlainText, IsCutWhereItIsLong) {
  const std::string line = one_line(std::string(10000, 'x'));

  EXPECT_EQ(line, std::string(4000, 'x') + "... (6000 bytes more)");
}

}  // namespace
}  // namespace orrery
