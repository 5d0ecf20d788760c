// Backward passes against central differences of the loss, through a whole model on one rank.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "backends/comm_threads/comm_threads.hpp"
#include "backends/reference/reference.hpp"
#include "core/model/network/network.hpp"
#include "core/runtime/execute/executor.hpp"
#include "core/strategy/make_strategy.hpp"
#include "tests/support/problems.hpp"

namespace orrery::testing {

/// A model on one rank whose weights can be moved.
class GradientBench {
 public:
  GradientBench(Executor& rt, const Problem& problem)
      : rt_(rt),
        problem_(problem),
        plan_(make_strategy(problem)),
        session_(plan_->open(rt)),
        strategy_(session_->load(plan_->prepare(rt.rank()))) {
    const Dataset& data = *problem.data;
    const auto n = data.vertices();
    features_ = Buffer(rt, {n, data.features->width()}, DType::f32, "features");
    labels_ = Buffer(rt, {n, data.labels.columns()}, DType::i32, "labels");
    targets_ = Buffer(rt, {n / 2, 1}, DType::i32, "targets");
    loss_ = Buffer(rt, {1, 1}, DType::f64, "loss");
    auto half = std::make_shared<std::vector<Vertex>>();
    for (Vertex v = 0; v < n / 2; ++v) half->push_back(2 * v);
    rt.submit(Lane::compute, Load{strategy_->data().features(0), features_.tensor()});
    rt.submit(Lane::compute, Load{strategy_->data().labels(n), labels_.tensor()});
    rt.submit(Lane::compute, Load{IndexArray{half}, targets_.tensor()});
    model_ = make_network(rt, problem.model, problem.train, problem.strategy.first_layer,
                          data.features->width(), data.labels.classes);
    model_->attach(*strategy_, features_.tensor());
  }

  /// Biases of exactly zero would put rows without any kept input on the kink of the ReLU.
  void move_all_weights() {
    rt_.sync(rt_.record(Lane::compute));
    Sequence draws(kSeed, Purpose::weights, 99);
    for (std::int64_t i = 0; i < size(); ++i)
      weight(i) += static_cast<float>(0.2 * draws.uniform() - 0.1);
  }

  double loss() {
    const Tensor logits = model_->forward(features_.tensor(), Stage::forward, 0, 7);
    rt_.submit(Lane::compute, Loss{problem_.train.loss, logits, labels_.tensor(), targets_.tensor(),
                                   model_->logits_gradient(), loss_.tensor(), 0.1});
    return *rt_.scalar(Lane::compute, loss_.tensor());
  }
  void backward() {
    loss();
    model_->backward(features_.tensor(), 0, [](int) {});
    rt_.sync(rt_.record(Lane::compute));
  }
  float& weight(std::int64_t i) {
    const Tensor first = model_->parameters().weight(0);
    return rt_.memory().data<float>(first)[i];
  }
  float gradient(std::int64_t i) {
    return rt_.memory().data<float>(model_->parameters().gradients())[i];
  }
  std::int64_t size() const { return model_->parameters().gradients().cols(); }

 private:
  Executor& rt_;
  const Problem& problem_;
  std::unique_ptr<Strategy> plan_;
  std::unique_ptr<RankSession> session_;
  std::unique_ptr<RankProducts> strategy_;
  Buffer features_, labels_, targets_, loss_;
  std::unique_ptr<Network> model_;
};

/// `Bench` is made of a runtime and a problem, and has what GradientBench has.
template <class Bench = GradientBench>
void expect_gradient_of_differences(const Problem& problem) {
  ThreadWorld(1).run([&](int, Communicator& communicator) {
    Executor rt({}, make_reference_kernels, communicator);
    Bench bench(rt, problem);
    bench.move_all_weights();
    bench.backward();
    std::vector<float> gradients;
    for (std::int64_t i = 0; i < bench.size(); ++i) gradients.push_back(bench.gradient(i));

    // A ReLU whose kink lies within the step shows as one-sided slopes that differ; such weights
    // are left out.
    constexpr float kStep = 1e-3F;
    const double middle = bench.loss();
    double squared_error = 0, squared_norm = 0;
    int compared = 0, left_out = 0;
    for (std::int64_t i = 0; i < bench.size(); i += 3) {
      float& w = bench.weight(i);
      const float before = w;
      w = before + kStep;
      const double right = (bench.loss() - middle) / kStep;
      w = before - kStep;
      const double left = (middle - bench.loss()) / kStep;
      w = before;
      const double slope = (right + left) / 2;
      if (std::abs(right - left) > 0.05 * std::abs(slope) + 2e-3) {
        ++left_out;
        continue;
      }
      const double error = slope - gradients[static_cast<std::size_t>(i)];
      squared_error += error * error;
      squared_norm += slope * slope;
      ++compared;
    }

    EXPECT_LT(left_out, compared / 5);
    EXPECT_GT(squared_norm, 1e-6);
    EXPECT_LT(std::sqrt(squared_error / squared_norm), 0.01);
  });
}

}  // namespace orrery::testing
