// A body that is not training: forward passes over the whole graph, on every rank.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/base/index.hpp"
#include "core/model/network/network.hpp"
#include "core/runtime/body.hpp"
#include "core/strategy/train/step_data.hpp"

namespace orrery::testing {

/// Logits by global vertex; ranks write different ones.
using Logits = std::vector<std::vector<float>>;

/// Passes over the whole graph, one for each epoch of the problem.
class ForwardBody final : public Body {
 public:
  ForwardBody(const Strategy& strategy, const Problem& problem, ModelUse use,
              Logits* logits = nullptr)
      : strategy_(strategy), problem_(problem), use_(use), logits_(logits) {}

  int ranks() const override { return problem_.ranks(); }
  int epochs() const override { return problem_.train.epochs; }
  void run(Runtime& rt, RunObserver& observer, const RunControl& control = {}) const override {
    rt.phase({Stage::setup});
    const DataFacts facts = problem_.facts();
    StepData data(rt, strategy_.load(rt, strategy_.prepare(rt.rank())), problem_.model, facts);
    rt.wait(Lane::compute, rt.record(Lane::copy));
    const auto network = make_network(rt, problem_.model, problem_.train, FirstLayer::exact,
                                      facts.features, facts.classes, use_);
    network->attach(data.products(), data.features());
    rt.sync(rt.record(Lane::compute));
    for (int pass = 0; pass < control.epochs.value_or(epochs()); ++pass) {
      const Tensor out = network->forward(data.features(), Stage::forward, pass, std::nullopt);
      const auto saved = std::make_shared<std::vector<float>>();
      rt.wait(Lane::copy, rt.record(Lane::compute));
      rt.submit(Lane::copy, Save{out, saved});
      rt.phase({Stage::evaluate, pass});
      rt.sync(rt.record(Lane::copy));
      keep(*saved, data.products().vertices());
      const EpochReport report{pass, std::nullopt, std::nullopt, 0};
      if (!observer.epochs_done({&report, 1})) break;
    }
  }

 private:
  void keep(const std::vector<float>& values, const IndexList& vertices) const {
    if (logits_ == nullptr || values.empty()) return;
    const auto& rows = *vertices.numbers();
    const std::size_t width = values.size() / rows.size();
    for (std::size_t i = 0; i < rows.size(); ++i)
      (*logits_)[orrery::at(rows[i])].assign(values.begin() + static_cast<long>(i * width),
                                             values.begin() + static_cast<long>((i + 1) * width));
  }

  const Strategy& strategy_;
  const Problem& problem_;
  ModelUse use_;
  Logits* logits_;
};

}  // namespace orrery::testing
