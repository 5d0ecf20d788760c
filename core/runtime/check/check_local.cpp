// Races, lifetimes and leaks within one rank, by vector clocks over its lanes and its host.
#include <fmt/core.h>

#include <map>
#include <utility>

#include "core/base/index.hpp"
#include "core/runtime/check/check.hpp"
#include "core/runtime/check/check_stores.hpp"
#include "core/runtime/check/lane_clocks.hpp"

namespace orrery {
namespace {

struct Use {
  Lane lane;
  std::uint32_t item;  ///< 1-based position in the lane
  Tensor window;
  bool writes;
  std::size_t step;
};

/// A tensor allocation or a sparse pattern.
struct Resource {
  std::string name;
  std::size_t made_at;
  bool alive = true;
  std::vector<Use> uses;  ///< accesses that a later one could still race with
};

class LocalCheck {
 public:
  explicit LocalCheck(const Program& program) : program_(program) {}

  std::vector<Finding> run() {
    for (at_ = 0; at_ < program_.steps.size(); ++at_)
      std::visit([this](const auto& s) { take(s); }, program_.steps[at_]);
    for (const auto* resources : {&tensors_, &patterns_})
      for (const auto& [id, r] : *resources)
        if (r.alive)
          findings_.push_back(
              {program_.rank, r.made_at, fmt::format("leak: '{}' is never released", r.name)});
    return std::move(findings_);
  }

 private:
  void take(const AllocStep& s) { tensors_[s.tensor.id] = {s.name, at_, true, {}}; }
  void take(const ReleaseStep& s) { release(tensors_, s.tensor.id); }
  void take(const ReleaseSparseStep& s) { release(patterns_, s.sparse.id); }
  void take(const DeclareStep& s) {
    patterns_[s.sparse.id] = {s.name, at_, true, {}};
    const Clock before = clocks_.begin_item(s.lane);
    use(patterns_, s.sparse.id, {s.lane, before[at(s.lane)] + 1, {}, true, at_}, before);
  }
  void take(const SubmitStep& s) {
    const Clock before = clocks_.begin_item(s.lane);
    const std::uint32_t item = before[at(s.lane)] + 1;
    for (const SparseOperand& a : sparse_of(s.op))
      use(patterns_, a.sparse.id, {s.lane, item, {}, a.access != Access::read, at_}, before);
    for (const Operand& o : operands_of(s.op))
      use(tensors_, o.tensor.id, {s.lane, item, o.tensor, o.access != Access::read, at_}, before);
  }
  void take(const WaitStep& s) {
    if (!clocks_.wait(s.lane, s.event)) never_reached(s.event);
  }
  void take(const SyncStep& s) {
    if (!clocks_.sync(s.event)) never_reached(s.event);
  }
  void take(const HostStep& s) {
    clocks_.begin_item(s.lane);
    tasks_[s.task.id] = {s.lane, clocks_.items(s.lane)};
  }
  void take(const JoinStep& s) { take(SyncStep{tasks_[s.task.id]}); }
  void take(const ScalarStep& s) {
    take(SyncStep{{s.lane, clocks_.items(s.lane)}});
    Resource& r = tensors_[s.tensor.id];
    if (!r.alive) return found(fmt::format("'{}' is read after its release", r.name));
    const Tensor first = s.tensor.reshaped({1, 1});
    for (const Use& u : r.uses)
      if (u.writes && overlap(u.window, first) && clocks_.host()[at(u.lane)] < u.item)
        found(fmt::format("race: the host reads '{}' while step {} on {} writes it", r.name, u.step,
                          name_of(u.lane)));
  }
  void take(const PhaseStep&) {}
  void take(const ProductStep&) {}

  void never_reached(const Event& event) {
    found(fmt::format("waits for {}#{}, which is never reached", name_of(event.lane),
                      event.position));
  }

  void use(std::map<std::uint32_t, Resource>& resources, std::uint32_t id, const Use& now,
           const Clock& before) {
    Resource& r = resources[id];
    if (!r.alive) return found(fmt::format("'{}' is used after its release", r.name));
    const bool sparse = &resources == &patterns_;
    const auto ordered = [&](const Use& u) { return before[at(u.lane)] >= u.item; };
    for (const Use& u : r.uses)
      if ((u.writes || now.writes) && u.step != now.step && !ordered(u) &&
          (sparse || overlap(u.window, now.window)))
        found(fmt::format("race: '{}' is {} on {} while step {} on {} {} it", r.name,
                          now.writes ? "written" : "read", name_of(now.lane), u.step,
                          name_of(u.lane), u.writes ? "writes" : "reads"));
    // If an earlier access to the same window happened before this one, it can race only if this
    // one does, too.
    std::erase_if(r.uses, [&](const Use& u) {
      return ordered(u) && u.window == now.window &&
             (now.writes || (!u.writes && u.lane == now.lane));
    });
    r.uses.push_back(now);
  }

  void release(std::map<std::uint32_t, Resource>& resources, std::uint32_t id) {
    Resource& r = resources[id];
    if (!r.alive) found(fmt::format("'{}' is released twice", r.name));
    r.alive = false;
    r.uses.clear();
  }

  void found(std::string problem) { findings_.push_back({program_.rank, at_, std::move(problem)}); }

  const Program& program_;
  std::size_t at_ = 0;
  LaneClocks clocks_;
  std::map<std::uint32_t, Resource> tensors_, patterns_;
  std::map<std::uint32_t, Event> tasks_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> find_local_problems(const Program& program) {
  std::vector<Finding> findings = LocalCheck(program).run();
  for (Finding& finding : find_store_problems(program)) findings.push_back(std::move(finding));
  return findings;
}

}  // namespace orrery
