// `orrery dataset sample-check` on samples of other programs.
#include <random>

#include "core/graph/files/npy.hpp"
#include "tests/experiments/commands/started_program.hpp"

namespace orrery {
namespace {

class OfSamples : public testing::StartedProgram {
 protected:
  /// A wheel: vertex v aggregates the four on its left and the four on its right. Its samples: two of
  /// each row's eight places, drawn so often with the generator's remainder of `divisor`.
  void write_wheel_and_samples(std::int64_t draws, std::uint64_t divisor) {
    constexpr std::int64_t kVertices = 40;
    std::filesystem::create_directories(in("wheel"));
    std::ofstream edges(in("wheel") / "edges.txt");
    std::vector<std::int64_t> lines;
    const auto left_or_right = [](std::int64_t place) { return place < 4 ? place - 4 : place - 3; };
    for (std::int64_t v = 0; v < kVertices; ++v)
      for (std::int64_t place = 0; place < 8; ++place)
        edges << (v + left_or_right(place) + kVertices) % kVertices << "\t" << v << "\n";
    std::mt19937_64 random(3);
    for (std::int64_t draw = 0; draw < draws; ++draw)
      for (std::int64_t v = 0; v < kVertices; ++v) {
        const auto first = static_cast<std::int64_t>(random() % divisor % 8);
        const auto second = (first + 1 + static_cast<std::int64_t>(random() % 7)) % 8;
        for (const std::int64_t place : {first, second})
          lines.insert(lines.end(), {draw, v, (v + left_or_right(place) + kVertices) % kVertices});
      }
    auto file = NpyWriter::create<std::int64_t>(in("samples.npy"), {std::ssize(lines) / 3, 3});
    file.append(std::span<const std::int64_t>(lines));
    file.close();
  }
  int check(const std::string& arguments) {
    return orrery("dataset sample-check " + in("samples.npy").string() + " --graph " +
                  in("wheel").string() + "/edges.txt " + arguments);
  }
};

TEST_F(OfSamples, RightOnesAreTold) {
  write_wheel_and_samples(1000, 1ULL << 40U);
  EXPECT_EQ(check("--fanout 2"), 0) << read("out") << read("err");
  EXPECT_NE(read("out").find("40,000 draws of 40 rows, 2 neighbours without replacement"),
            std::string::npos)
      << read("out");
  EXPECT_NE(read("out").find("These samples follow their rule"), std::string::npos) << read("out");
  EXPECT_EQ(check("--fanout 2 --json"), 0);
  EXPECT_EQ(json("out").at("each").at("tested"), 40);
  EXPECT_EQ(json("out").at("right"), true);
}

TEST_F(OfSamples, WrongOnesAreAFailure) {
  write_wheel_and_samples(1000, 9);  // the first place comes twice as often
  EXPECT_EQ(check("--fanout 2"), 1);
  EXPECT_NE(read("out").find("each equally often    NO, below 0.0001"), std::string::npos)
      << read("out");
  EXPECT_EQ(check("--fanout 3"), 1);
  EXPECT_NE(read("out").find("right number          NO: 40,000 times"), std::string::npos)
      << read("out");
}

TEST_F(OfSamples, FewOnesAreNotEnough) {
  write_wheel_and_samples(3, 1ULL << 40U);
  EXPECT_EQ(check("--fanout 2"), 1);
  EXPECT_NE(read("out").find("Too few draws to decide"), std::string::npos) << read("out");
}

TEST_F(OfSamples, OtherFilesAreErrors) {
  write_wheel_and_samples(3, 9);
  auto file = NpyWriter::create<float>(in("samples.npy"), {1, 3});
  file.append(std::span<const float>(std::vector<float>{0, 1, 2}));
  file.close();
  EXPECT_EQ(check("--fanout 2"), 1);
  EXPECT_NE(read("err").find("samples.npy"), std::string::npos) << read("err");
  EXPECT_EQ(check("--fanout 0"), 2);
}

}  // namespace
}  // namespace orrery
