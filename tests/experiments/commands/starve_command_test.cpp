// `orrery starve --svg`: what it draws, and which pictures it refuses before it works.
#include <gmock/gmock.h>

#include "tests/experiments/commands/started_program.hpp"

namespace orrery {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class StarveCommand : public testing::StartedProgram {
 protected:
  std::string sampled(const std::string& more) const {
    return experiment(R"(, "strategy": {"type": "mini_batch", "batch": 60, "fanouts": [5, 3]},
        )" + more);
  }
  std::string simulated() const {
    return sampled(R"("cluster": {"file": "a6000-1x2-nvlink", "gpus": 2}, "backend": "sim")");
  }
};

TEST_F(StarveCommand, DrawsASimulationWithWhatWouldBeEnough) {
  ASSERT_EQ(orrery(fmt::format("starve {} --epochs 2 --svg {}", simulated(), in("s.svg").string())),
            0)
      << read("err");

  EXPECT_THAT(read("out"), HasSubstr("limits"));
  EXPECT_THAT(read("err"), HasSubstr("drew "));
  EXPECT_THAT(read("s.svg"), AllOf(HasSubstr("</svg>"), HasSubstr("simulated"),
                                   HasSubstr("Enough capacities"), HasSubstr("Enough cache")));
}

TEST_F(StarveCommand, DrawsAMeasurementBesideItsJson) {
  const std::string file = sampled(R"("cluster": {"ranks": 2}, "backend": "threads")");
  ASSERT_EQ(
      orrery(fmt::format("starve {} --epochs 2 --now --json --svg {}", file, in("m.svg").string())),
      0)
      << read("err");

  EXPECT_TRUE(json("out")["measured"].get<bool>());
  EXPECT_THAT(read("m.svg"), AllOf(HasSubstr("</svg>"), HasSubstr("measured")));
}

/// The unknown strategy would be the first error of the work.
TEST_F(StarveCommand, RefusesAPictureThatCannotBeWrittenBeforeItWorks) {
  const std::string file = experiment(R"(, "strategy": {"type": "no such strategy"})");
  std::ofstream(in("plain")) << "text";
  const auto refused = [&](const std::string& svg, const std::string& why) {
    EXPECT_NE(orrery(fmt::format("starve {} --svg {}", file, svg)), 0) << svg;
    EXPECT_THAT(read("err"), AllOf(HasSubstr(svg + ": cannot be written: " + why),
                                   Not(HasSubstr("no such strategy"))));
  };

  refused(in("missing/s.svg").string(), "No such file or directory");
  refused(in("plain/s.svg").string(), "Not a directory");
  refused(folder_.string(), "Is a directory");
}

TEST_F(StarveCommand, RefusesAPictureWithoutAPythonBeforeItWorks) {
  const std::string file = experiment(R"(, "strategy": {"type": "no such strategy"})");

  EXPECT_NE(orrery(fmt::format("starve {} --svg {}", file, in("s.svg").string()),
                   "ORRERY_PYTHON=/no/python"),
            0);

  EXPECT_THAT(read("err"),
              AllOf(HasSubstr("python3 is missing"), Not(HasSubstr("no such strategy"))));
}

}  // namespace
}  // namespace orrery
