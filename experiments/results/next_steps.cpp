#include "experiments/results/next_steps.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>

namespace orrery {
namespace {

namespace fs = std::filesystem;

/// As a shell takes it: in quotes where it has to be.
std::string word(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::strchr("./_-=+,:@%", c) != nullptr;
  });
  if (plain) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

class Advice {
 public:
  void add(const std::string& command, const std::string& what) {
    lines_ += fmt::format("  {}\n      {}\n", command, what);
  }
  std::string text() const { return lines_.empty() ? "" : "Try next:\n" + lines_; }

 private:
  std::string lines_;
};

bool was_interrupted(const FinishedRun& run) { return run.result["interrupted"].get<bool>(); }

}  // namespace

std::string next_steps(const std::vector<FinishedRun>& runs, const std::string& folder,
                       const AskedRuns& asked, const Unfinished& unfinished) {
  const FinishedRun& first = runs.front();
  const Experiment& experiment = first.experiment;
  Advice steps;
  const bool interrupted =
      unfinished.missing > 0 || std::any_of(runs.begin(), runs.end(), was_interrupted);
  if (interrupted && asked.sweep)
    steps.add("the same command again", "continues with the combinations that are not done");
  else if (interrupted && fs::exists(fs::path(folder) / "checkpoint.bin"))
    steps.add(fmt::format("the same command with --out {} --resume", word(folder)),
              "continues from the checkpoint");
  else if (interrupted && experiment.label.empty() && experiment.trains())
    steps.add("--set train.checkpoint_every=N",
              "keeps a checkpoint every N epochs, from which --resume continues");
  const bool fits = std::any_of(runs.begin(), runs.end(), [](const FinishedRun& run) {
    return !run.result.contains("out_of_memory");
  });
  if (fits)
    steps.add(fmt::format("{} report {}", word(asked.program), word(folder)),
              "a page of what took the time and the memory, and what limited it");
  // What is read from a pipe is not there a second time.
  if (interrupted || runs.size() > 1 || !fs::is_regular_file(asked.file)) return steps.text();
  std::string settings;
  for (const std::string& assignment : asked.overrides) settings += " --set " + word(assignment);
  const std::string file = word(asked.file) + settings;
  steps.add(fmt::format("{} plan {}", word(asked.program), file),
            "what each rank computes, moves and holds");
  if (experiment.backend == "threads" && !experiment.cluster && experiment.ranks() == 1)
    steps.add(fmt::format("{} run {} --set cluster.ranks=2", word(asked.program), file),
              "the same on two ranks");
  return steps.text();
}

}  // namespace orrery
