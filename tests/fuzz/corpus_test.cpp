// Every reader, with valid inputs and with all that broke one once.
#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "tests/fuzz/corpus.hpp"
#include "tests/fuzz/folder_input.hpp"
#include "tests/fuzz/judge.hpp"
#include "tests/fuzz/mutate.hpp"

namespace orrery::fuzz {
namespace {

std::string shown(const std::string& input) { return input.substr(0, 1000); }

class Fuzzed : public ::testing::TestWithParam<Target> {};

TEST_P(Fuzzed, SeedsAreReadWithoutError) {
  const auto seeds = GetParam().seeds();
  ASSERT_FALSE(seeds.empty());

  for (const std::string& seed : seeds) EXPECT_NO_THROW(GetParam().read(seed)) << shown(seed);
}

TEST_P(Fuzzed, KeptInputsEndAsTheyShould) {
  for (const std::string& input : kept_inputs(GetParam().name))
    EXPECT_EQ(judge(GetParam(), input), "") << shown(input);
}

TEST_P(Fuzzed, ChangedSeedsEndAsTheyShould) {
  const auto seeds = GetParam().seeds();
  Dice dice(1);

  for (int i = 0; i < 100; ++i) {
    std::string input = seeds[dice() % seeds.size()];
    mutate(input, dice, GetParam().words, seeds, 1 << 16);
    EXPECT_EQ(judge(GetParam(), input), "") << shown(input);
  }
}

INSTANTIATE_TEST_SUITE_P(, Fuzzed, ::testing::ValuesIn(targets()),
                         [](const auto& target) { return target.param.name; });

TEST(FolderInput, ComesBackAsItWasPacked) {
  const Files files{{"a.txt", "1\n2"}, {"sub/b", std::string("\0\n@", 3)}, {"empty", ""}};

  EXPECT_EQ(unpack(pack(files)), files);
}

TEST(FolderInput, NamesStayInTheFolder) {
  for (const char* name : {"../x", "/etc/x", "a/b/c/d/e", "a/../../x", "", "a b"})
    EXPECT_TRUE(unpack(pack({{name, "x"}})).empty()) << name;
}

/// Faults that a judge must see: it would prove nothing otherwise.
TEST(Judge, TellsWhatNoReaderMayDo) {
  const auto fault = [](const std::function<void()>& read) {
    return judge({"made up", [&](std::string_view) { read(); }, {}}, "x stod");
  };

  EXPECT_NE(fault([] { throw std::bad_alloc(); }), "");
  EXPECT_NE(fault([] { throw 5; }), "");
  EXPECT_NE(fault([] { throw Error("[json.exception.type_error.302] x"); }), "");
  EXPECT_NE(fault([] { throw Error("std::bad_alloc"); }), "");
  EXPECT_EQ(fault([] { throw Error("f.npy:byte 3: expected 5, found 6"); }), "");
  EXPECT_EQ(fault([] { throw Error("expected a number, found stod"); }), "") << "is the input's";
#ifdef __SANITIZE_ADDRESS__
  EXPECT_NE(fault([] { std::vector<char> much(100 << 20); }), "");
#endif
}

}  // namespace
}  // namespace orrery::fuzz
