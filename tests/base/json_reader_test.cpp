// JSON that may hold anything is answered with one line, or read as it is.
#include "core/base/json_reader.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"

namespace orrery {
namespace {

template <class Call>
std::string problem(const Call& call) {
  try {
    call();
  } catch (const DataError& error) {
    return error.what();
  }
  return "none";
}

std::string parse_problem(const std::string& text, const std::string& place = "") {
  return problem([&] { JsonReader(text, "f", place); });
}

TEST(JsonReading, GivesWhatStandsUnderPathsOfKeys) {
  const JsonReader file(
      R"({"a": {"b": 3, "c": null}, "list": [1, 2], "on": true, "x": 1, "t": "u"})", "f");

  EXPECT_EQ(file.count("a/b"), 3);
  EXPECT_FALSE(file.has("a/c"));
  EXPECT_FALSE(file.has("q/r"));
  EXPECT_EQ(file.get<int>("a/c", 9), 9);
  EXPECT_EQ(file.count("q", 5), 5);
  EXPECT_EQ(file.counts("list"), (std::vector<std::int64_t>{1, 2}));
  EXPECT_TRUE(file.get<bool>("on"));
  EXPECT_EQ(file.get<double>("x"), 1.0);
  EXPECT_EQ(file.get<std::string>("t"), "u");
  EXPECT_EQ(file.object("a").size(), 2U);
}

TEST(JsonReading, TellsFileKeyExpectedAndFound) {
  const JsonReader file(
      R"({"a": {"b": 3.5}, "s": "t", "n": -2, "big": 18446744073709551615, "l": [1, "x"]})", "f",
      "line 3");

  EXPECT_EQ(problem([&] { file.count("a/b"); }), "f:line 3, key a/b: expected a count, found 3.5");
  EXPECT_EQ(problem([&] { file.get<int>("a/b"); }),
            "f:line 3, key a/b: expected a whole number, found 3.5");
  EXPECT_EQ(problem([&] { file.get<bool>("n"); }),
            "f:line 3, key n: expected true or false, found -2");
  EXPECT_EQ(problem([&] { file.get<double>("none"); }),
            "f:line 3, key none: expected a number, found none");
  EXPECT_EQ(problem([&] { file.get<std::string>("n"); }),
            "f:line 3, key n: expected a text, found -2");
  EXPECT_EQ(problem([&] { file.count("n"); }), "f:line 3, key n: expected a count, found -2");
  EXPECT_EQ(problem([&] { file.count("big"); }),
            "f:line 3, key big: expected a count, found 18446744073709551615");
  EXPECT_EQ(problem([&] { file.counts("l"); }),
            "f:line 3, key l: expected a list, each of it a whole number, found [1,\"x\"]");
  EXPECT_EQ(problem([&] { file.get<int>("s/t"); }),
            "f:line 3, key s: expected an object, found \"t\"");
  EXPECT_EQ(problem([&] { file.object("s"); }), "f:line 3, key s: expected an object, found \"t\"");
}

TEST(JsonReading, RefusesWhatIsNoObject) {
  EXPECT_NE(parse_problem("{\"a\": 1,").find("f:byte 9: expected JSON, found"), std::string::npos)
      << parse_problem("{\"a\": 1,");
  EXPECT_NE(parse_problem("", "line 2").find("f:line 2, byte 1: expected JSON"), std::string::npos);
  EXPECT_NE(parse_problem("{\"a\": \"\xff\"}").find("expected JSON"), std::string::npos);
  EXPECT_EQ(parse_problem("5"), "f:byte 0: expected a JSON object, found 5");
}

TEST(JsonReading, TellsTheByteAndKeyOfANumberBeyondAllOthers) {
  const std::string problem = ": expected a number of 64 bits (up to 1.8e308), found ";

  EXPECT_EQ(parse_problem("{\"a\": 1e999}"), "f:byte 7, key a" + problem + "1e999");
  EXPECT_EQ(parse_problem("{\"a\": -1e999}", "line 2"),
            "f:line 2, byte 7, key a" + problem + "-1e999");
  EXPECT_EQ(parse_problem(R"({"1e999 \" 1e999": {"b": 1}, "c": {"d": [{"e": 2}, 1e999]}})"),
            "f:byte 52, key c/d" + problem + "1e999");
  EXPECT_EQ(parse_problem("[1e999]"), "f:byte 2" + problem + "1e999");
}

TEST(JsonReading, NamesTheKeyThatIsSpeltAlmostLikeTheOneThatIsMissing) {
  const JsonReader file(R"({"relation": [], "wide": 1, "in": {"num_node": 3}, "num_edges": 4})",
                        "f");

  EXPECT_EQ(
      problem([&] { file.counts("relations"); }),
      "f:key relations: expected a list, each of it a whole number, found none; \"relation\" is "
      "there: did you mean \"relations\"?");
  EXPECT_EQ(file.misspelt("in/num_nodes"), "; \"num_node\" is there: did you mean \"num_nodes\"?");
  EXPECT_EQ(file.misspelt("inn/q"), "; \"in\" is there: did you mean \"inn\"?");
  EXPECT_EQ(file.misspelt("num_nodes"), "") << "num_edges is another key";
  EXPECT_EQ(file.misspelt("width"), "") << "two letters of five";
  EXPECT_EQ(file.misspelt("num_edges/q"), "");
}

TEST(JsonReading, DoesNotFollowListsWithoutEnd) {
  const std::string deep(200'000, '[');

  EXPECT_EQ(parse_problem("{\"a\": " + deep), "f: expected JSON at most 100 deep, found it deeper");
  EXPECT_EQ(parse_problem("{\"a\": " + deep + std::string(deep.size(), ']') + "}"),
            "f: expected JSON at most 100 deep, found it deeper");
}

TEST(JsonReading, ShowsLongValuesCut) {
  EXPECT_LT(parse_problem("{\"a\": \"" + std::string(10'000, 'x')).size(), 300U);
  EXPECT_LT(parse_problem("{\"a\": 1" + std::string(10'000, '0') + "}").size(), 300U);
  const JsonReader file("{\"a\": \"" + std::string(10'000, 'x') + "\"}", "f");

  EXPECT_LT(problem([&] { file.count("a"); }).size(), 200U);
}

}  // namespace
}  // namespace orrery
