#include "experiments/infer/stage_costs.hpp"

#include <algorithm>
#include <map>
#include <variant>

#include "core/base/index.hpp"

namespace orrery {
namespace {

/// Walks through the steps of a program.
class Counter {
 public:
  Counter(int rank, int epochs) : rank_(rank), stages_(at(epochs) + 1) {}

  void take(const AllocStep& s) { hold(tensors_[s.tensor.id] = s.tensor.bytes()); }
  void take(const ReleaseStep& s) { hold(-tensors_[s.tensor.id]); }
  void take(const DeclareStep& s) { hold(patterns_[s.sparse.id] = s.sparse.bytes()); }
  void take(const ReleaseSparseStep& s) { hold(-patterns_[s.sparse.id]); }
  void take(const SubmitStep& s) {
    received_bytes(s.op, rank_, [&](int, double bytes) { stage().received_bytes += bytes; });
  }
  void take(const PhaseStep& s) {
    now_ = at(s.phase.epoch + 1);
    hold(0);
  }
  template <class Other>
  void take(const Other&) {}

  std::vector<StageCost> stages() const { return stages_; }

 private:
  StageCost& stage() { return stages_[now_]; }
  void hold(std::int64_t bytes) {
    held_ += bytes;
    stage().peak_bytes = std::max(stage().peak_bytes, held_);
  }

  int rank_;
  std::vector<StageCost> stages_;
  std::size_t now_ = 0;
  std::int64_t held_ = 0;
  std::map<std::uint32_t, std::int64_t> tensors_, patterns_;
};

}  // namespace

std::vector<StageCost> stage_costs(const Program& program, int epochs) {
  Counter counter(program.rank, epochs);
  for (const Step& step : program.steps) std::visit([&](const auto& s) { counter.take(s); }, step);
  return counter.stages();
}

nlohmann::ordered_json to_json(const std::vector<StageCost>& stages) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const StageCost& stage : stages) list.push_back({stage.received_bytes, stage.peak_bytes});
  return list;
}

std::vector<StageCost> stage_costs_from(const nlohmann::ordered_json& json) {
  std::vector<StageCost> stages;
  for (const auto& pair : json)
    stages.push_back({pair[0].get<double>(), pair[1].get<std::int64_t>()});
  return stages;
}

}  // namespace orrery
