// The command line as a person meets it: overview, help, version, mistakes, completion, manual page.
#include <gmock/gmock.h>

#include "tests/experiments/commands/started_program.hpp"

namespace orrery {
namespace {

using ::testing::HasSubstr;

class CommandLine : public testing::StartedProgram {
 protected:
  /// What the program prints on both outputs.
  std::string said(const std::string& arguments, int wanted_status) const {
    EXPECT_EQ(orrery(arguments), wanted_status) << arguments << "\n" << read("err");
    return read("out") + read("err");
  }
  static bool there(const char* program) {
    return std::system(fmt::format("command -v {} >/dev/null", program).c_str()) == 0;
  }
  /// What bash offers for the last of these words.
  std::string completed(const std::string& words) const {
    EXPECT_EQ(orrery("completion bash"), 0);
    std::filesystem::copy_file(in("out"), in("complete.bash"),
                               std::filesystem::copy_options::overwrite_existing);
    std::ofstream(in("try.bash")) << fmt::format(
        "source '{}'\nCOMP_WORDS=(orrery {})\nCOMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n_orrery\n"
        "printf '%s ' \"${{COMPREPLY[@]}}\"\n",
        in("complete.bash").string(), words);
    EXPECT_EQ(shell(fmt::format("bash -u '{}'", in("try.bash").string())), 0) << read("err");
    EXPECT_EQ(read("err"), "");
    return read("out");
  }
};

TEST_F(CommandLine, SaysItsVersionAndItsLibraries) {
  const std::string text = said("--version", 0);

  EXPECT_THAT(text, ::testing::ContainsRegex("^orrery [0-9.]+ \\(revision [^)]+\\), compiled by"));
  for (const char* library : {"MPI", "SimGrid", "oneDNN", "METIS", "CUDA library", "plugins"})
    EXPECT_THAT(text, HasSubstr(library));
  EXPECT_EQ(said("version", 0), text);
  EXPECT_EQ(said("-V", 0), text);
}

TEST_F(CommandLine, GivesAnOverviewToWhoAsksForNothing) {
  const std::string overview = said("", 2);

  for (const char* command : {"run ", "sweep ", "plan ", "validate ", "report ", "figure ",
                              "dataset ", "partition ", "cluster ", "calibrate ", "help "})
    EXPECT_THAT(overview, HasSubstr(std::string("  ") + command));
  EXPECT_EQ(said("help", 0), overview);
  EXPECT_EQ(said("--help", 0), overview);
}

TEST_F(CommandLine, HelpsInLinesOfAtMostAHundredColumns) {
  for (const char* command : {"",
                              "run",
                              "sweep",
                              "infer",
                              "predict",
                              "watch",
                              "plan",
                              "advise",
                              "caches",
                              "starve",
                              "breakdown",
                              "validate",
                              "report",
                              "figure",
                              "equations",
                              "dataset",
                              "dataset info",
                              "dataset generate",
                              "dataset convert",
                              "dataset get",
                              "dataset sample-check",
                              "dataset sharing",
                              "partition",
                              "cluster",
                              "cluster show",
                              "calibrate",
                              "help",
                              "completion",
                              "man"}) {
    const std::string help = said(fmt::format("help {}", command), 0);
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(line.size(), 100U) << command << ": " << line;
    EXPECT_EQ(said(fmt::format("{} --help", command), 0), help) << command;
    EXPECT_THAT(help, ::testing::Not(HasSubstr("\x1b"))) << "no colours";
  }
}

TEST_F(CommandLine, TellsWhatAMistakeShouldHaveBeen) {
  const std::string file = experiment(R"(, "strategy": {"type": "full_graph"})");
  const auto advised = [&](const std::string& arguments, const std::string& advice) {
    const std::string text = said(arguments, 2);
    EXPECT_THAT(text, HasSubstr(advice)) << arguments;
    EXPECT_THAT(text, ::testing::StartsWith("orrery: error: ")) << arguments;
  };

  advised("run " + file + " --epochs 5", "--set 'train.epochs=5'");
  advised("run " + file + " --lr=0.1", "--set 'train.learning_rate=0.1'");
  advised("run " + file + " --hidden 8", "--set 'model.hidden=8'");
  advised("run " + file + " --batch 8", "--set 'strategy.batch=8'");
  advised("run " + file + " --batchs 8", "--set 'strategy.batches=8'");
  advised("run " + file + " --seed 3", "--set 'seed=3'");
  advised("run " + file + " --cuda", "--set 'kernels=cuda'");
  advised("run " + file + " --cores 2", "--set 'cluster.ranks=2'");
  advised("run " + file + " --ouy x", "Did you mean --out?");
  advised("run " + file + " --set train.epochs = 5", "without spaces beside the =");
  advised("run " + file + " train.epochs=5", "--set train.epochs=5");
  advised("run", "FILE is required; orrery run --help");
  advised("trian " + file, "Did you mean \"run\"?");
  advised("simulate " + file, "Did you mean \"run\"?");
  advised("help swep", "Did you mean \"sweep\"?");
  advised("run " + file + " --backend gpu", "Did you mean \"nccl\"? kernels=cuda is a setting");
  advised("run " + file + " --set kernels=gpu", "Did you mean \"cuda\"?");
  advised("run " + file + " --set dataset.features=0 --out " + in("a").string(),
          "has no features; set it to the width of generated ones, such as 64");
  advised("run " + file + " --set epochs=5",
          "Did you mean \"train.epochs\" or \"simulation.epochs\" or \"timeline.epochs\" or "
          "\"train.schedule.epochs\"?");
  advised("run " + file + " --set train.epochs=1e1", "write 10");
  advised("run " + file + " --set model.bias=True", "write true");
  advised("run " + file + " --set lr=5", "Did you mean \"train.learning_rate\"?");
  advised("run " + file + " --set cluster.cores=2", "Did you mean \"ranks\"?");
}

TEST_F(CommandLine, NamesTheNearestDataSet) {
  std::filesystem::create_directories(in("sets/coracle"));

  EXPECT_EQ(orrery("dataset info coracel", fmt::format("ORRERY_DATA='{}'", in("sets").string())),
            2);

  EXPECT_THAT(read("err"), HasSubstr("did you mean 'coracle'?"));
}

TEST_F(CommandLine, ReadsAnExperimentFromStandardInput) {
  const std::string file = experiment(R"(, "strategy": {"type": "full_graph"})");

  EXPECT_EQ(std::system(fmt::format("'{}' plan - --json <'{}' >'{}'", ORRERY_BINARY, file,
                                    in("piped").string())
                            .c_str()),
            0);
  EXPECT_EQ(orrery("plan " + file + " --json"), 0);

  EXPECT_EQ(read("piped"), read("out"));
}

TEST_F(CommandLine, IsQuietWhenAskedToBe) {
  const std::string file = experiment(R"(, "strategy": {"type": "full_graph"})");

  EXPECT_EQ(said("run " + file + " --set train.epochs=2 --quiet --out " + in("q").string(), 0), "");

  EXPECT_EQ(json("q/result.json")["epochs"], 2);
}

TEST_F(CommandLine, IsCompletedByBash) {
  EXPECT_EQ(completed("ru"), "run ");
  EXPECT_EQ(completed("dataset i"), "info ");
  EXPECT_EQ(completed("run e.json --pri"), "--print-job ");
  EXPECT_EQ(completed("run --backend m"), "model mpi ");
  EXPECT_EQ(completed("run --set train.epo"), "train.epochs= ");
  EXPECT_EQ(completed("run --set kernels = cu"), "cuda ");  // bash takes key=value apart
  EXPECT_EQ(completed("cluster show dgx-a"), "dgx-a100 ");
  EXPECT_EQ(completed("help val"), "validate ");
  EXPECT_EQ(completed("nothing x"), " ");
}

TEST_F(CommandLine, IsCompletedByZsh) {
  if (!there("zsh")) GTEST_SKIP() << "zsh is missing: apt-get install zsh";
  ASSERT_EQ(orrery("completion zsh"), 0);
  std::filesystem::copy_file(in("out"), in("_orrery"));
  // An interactive zsh in a terminal of its own, in which somebody presses the tabulator.
  std::ofstream(in("try.zsh")) << fmt::format(R"(zmodload zsh/zpty
zpty z 'TERM=dumb zsh -f -i'
zpty -w z "PS1=; fpath=('{}' \$fpath); autoload -U compinit; compinit -u -D; zstyle ':completion:*' list-colors ''"
zpty -w z 'echo rea''dy'
zpty -r z all '*ready*'
zpty -n -w z $'orrery calib\t--qui\t'
zpty -r z all '*--quick*'
print -r -- "$all"
)",
                                              in("").string());

  EXPECT_EQ(shell(fmt::format("zsh -n '{0}' && timeout 20 zsh -f '{1}'", in("_orrery").string(),
                              in("try.zsh").string())),
            0)
      << read("err");

  EXPECT_THAT(read("out"), ::testing::ContainsRegex("orrery calibrate .*--quick"));
}

TEST_F(CommandLine, IsCompletedByFish) {
  if (!there("fish")) GTEST_SKIP() << "fish is missing: apt-get install fish";
  ASSERT_EQ(orrery("completion fish"), 0);
  std::filesystem::copy_file(in("out"), in("orrery.fish"));

  const auto offered = [&](const std::string& line) {
    EXPECT_EQ(shell(fmt::format("HOME='{}' fish --no-config -c \"source '{}'; complete -C '{}'\"",
                                in("").string(), in("orrery.fish").string(), line)),
              0)
        << read("err");
    return read("out");
  };

  EXPECT_THAT(offered("orrery dataset i"), ::testing::StartsWith("info\t"));
  EXPECT_THAT(offered("orrery run --set kern"), ::testing::StartsWith("kernels="));
  EXPECT_THAT(offered("orrery run --qu"), ::testing::StartsWith("--quiet\t"));
}

TEST_F(CommandLine, HasAManualPageThatGroffSetsWithoutAWarning) {
  if (!there("groff")) GTEST_SKIP() << "groff is missing: apt-get install groff-base";
  ASSERT_EQ(orrery("man"), 0);
  std::filesystem::copy_file(in("out"), in("orrery.1"));

  EXPECT_EQ(shell(fmt::format("groff -man -ww -Tascii -P-cbou '{}'", in("orrery.1").string())), 0);

  EXPECT_EQ(read("err"), "");
  for (const char* title : {"NAME", "SYNOPSIS", "COMMANDS", "ENVIRONMENT", "EXIT STATUS"})
    EXPECT_THAT(read("out"), HasSubstr(fmt::format("\n{}\n", title)));
  EXPECT_THAT(read("out"), HasSubstr("--print-job slurm"));
}

}  // namespace
}  // namespace orrery
