#include "core/runtime/program.hpp"

#include <fmt/core.h>

#include "core/base/index.hpp"

namespace orrery {
namespace {

struct StepText {
  std::string operator()(const AllocStep& s) const {
    return fmt::format("alloc    {} {} {} B '{}'", to_string(s.tensor), name_of(s.tensor.space),
                       s.tensor.bytes(), s.name);
  }
  std::string operator()(const ReleaseStep& s) const {
    return fmt::format("release  {}", to_string(s.tensor));
  }
  std::string operator()(const DeclareStep& s) const {
    return fmt::format("declare  {} {} {} B '{}'", name_of(s.lane), to_string(s.sparse),
                       s.sparse.bytes(), s.name);
  }
  std::string operator()(const ReleaseSparseStep& s) const {
    return fmt::format("release  {}", to_string(s.sparse));
  }
  std::string operator()(const SubmitStep& s) const {
    return fmt::format("{:<8} {}", name_of(s.lane), to_string(s.op));
  }
  std::string operator()(const WaitStep& s) const {
    return fmt::format("{:<8} wait {}#{}", name_of(s.lane), name_of(s.event.lane),
                       s.event.position);
  }
  std::string operator()(const SyncStep& s) const {
    return fmt::format("sync     {}#{}", name_of(s.event.lane), s.event.position);
  }
  std::string operator()(const HostStep& s) const {
    const auto words = [](const HostWork& work) {
      return fmt::format("{} items={} bytes={} threads={}", work.kind, work.items, work.bytes,
                         work.threads);
    };
    std::string text = fmt::format("{:<8} task {} {}", name_of(s.lane), s.task.id, words(s.work));
    for (const HostWork& more : s.work.more) text += ", " + words(more);
    return text;
  }
  std::string operator()(const JoinStep& s) const { return fmt::format("join     {}", s.task.id); }
  std::string operator()(const ScalarStep& s) const {
    return fmt::format("scalar   {} {}", name_of(s.lane), to_string(s.tensor));
  }
  std::string operator()(const PhaseStep& s) const {
    return fmt::format("phase    {}", to_string(s.phase));
  }
  std::string operator()(const ProductStep& s) const {
    if (s.mark.at == ProductMark::At::end) return "product  end";
    if (s.mark.at == ProductMark::At::stage) return fmt::format("product  stage {}", s.mark.stage);
    return fmt::format("product  begin width={}{}", s.mark.width, s.mark.sums ? " sums" : "");
  }
};

}  // namespace

std::string_view name_of(Stage stage) {
  constexpr std::string_view names[] = {"setup",    "load",        "sample", "forward",
                                        "backward", "synchronise", "update", "evaluate"};
  return names[at(stage)];
}

std::string to_string(const Phase& phase) {
  std::string text = phase.epoch < 0 ? "" : fmt::format("epoch {} ", phase.epoch);
  text += name_of(phase.stage);
  return phase.layer < 0 ? text : text + fmt::format(" layer {}", phase.layer);
}

std::string to_string(const Step& step) { return std::visit(StepText{}, step); }

std::string to_string(const Program& program) {
  std::string text = fmt::format("rank {} of {}\n", program.rank, program.size);
  for (const Step& step : program.steps) text += to_string(step) + "\n";
  return text + fmt::format("peak     device {} B\n", program.peak_bytes[0]);
}

}  // namespace orrery
