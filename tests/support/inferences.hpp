// Small inferences, and the results that they must have.
#pragma once

#include <mutex>
#include <vector>

#include "core/inference/inference_body.hpp"
#include "experiments/execute/execute.hpp"
#include "tests/support/forward_body.hpp"
#include "tests/support/problems.hpp"

namespace orrery::testing {

/// Keeps the rows that ranks put away, by vertex.
class KeptRows final : public EmbeddingSink {
 public:
  explicit KeptRows(std::int64_t vertices) : rows(at(vertices)) {}
  void put(int /*rank*/, const Share& vertices, std::int64_t columns,
           std::span<const float> values) override {
    const std::lock_guard lock(mutex_);
    for (std::int64_t i = 0; i < vertices.count; ++i) {
      EXPECT_TRUE(rows[at(vertices.first + i)].empty()) << "put away twice";
      rows[at(vertices.first + i)].assign(values.begin() + i * columns,
                                          values.begin() + (i + 1) * columns);
    }
  }
  Logits rows;

 private:
  std::mutex mutex_;
};

inline InferenceProblem make_inference(const std::shared_ptr<const Dataset>& data,
                                       const ModelConfig& model, const InferenceConfig& config) {
  InferenceProblem problem;
  problem.data = inference_data(*data);
  problem.model = model;
  problem.train_seed = kSeed;
  problem.config = config;
  problem.config.seed = kSeed;
  problem.graphs = make_graphs(problem);
  return problem;
}

inline ExecuteOptions on_reference_kernels() {
  ExecuteOptions options;
  options.kernels = "reference";
  options.guard_bytes = 64;
  return options;
}

inline Logits infer(const InferenceProblem& problem) {
  KeptRows kept(problem.data->vertices());
  const InferenceBody body(problem, &kept);
  execute_on_threads(body, on_reference_kernels(), {});
  return kept.rows;
}

/// The forward pass of the training program on one rank.
inline Logits trained_forward(std::shared_ptr<const Dataset> data, const ModelConfig& model) {
  Problem problem = make_problem(std::move(data), 1, "full_graph");
  problem.model = model;
  problem.train.epochs = 1;
  Logits logits(at(problem.data->vertices()));
  const auto strategy = make_strategy(problem);
  execute_on_threads(ForwardBody(*strategy, problem, ModelUse::inference, &logits),
                     on_reference_kernels(), {});
  return logits;
}

/// The largest difference of two lists of rows, whose rows are alike in number and length, over the
/// largest number of the second one.
inline double largest_difference(const Logits& a, const Logits& b) {
  double largest = 0, size = 0;
  EXPECT_EQ(a.size(), b.size());
  for (std::size_t v = 0; v < a.size() && v < b.size(); ++v) {
    EXPECT_EQ(a[v].size(), b[v].size()) << "vertex " << v;
    for (std::size_t c = 0; c < a[v].size() && c < b[v].size(); ++c) {
      largest = std::max(largest, std::abs(static_cast<double>(a[v][c]) - b[v][c]));
      size = std::max(size, std::abs(static_cast<double>(b[v][c])));
    }
  }
  return largest / size;
}

}  // namespace orrery::testing
