// The forward pass of a model on one rank, for tests that compute it a second time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/support/problems.hpp"

namespace orrery::testing {

using Matrix = std::vector<std::vector<double>>;

/// Parameters and logits of a network, taken out of the run.
struct Taken {
  std::map<std::string, Matrix> parameters;
  Matrix logits;
};

inline Taken run_forward(const Problem& problem) {
  Taken taken;
  ThreadWorld(1).run([&](int, Communicator& communicator) {
    Executor rt({}, make_reference_kernels, communicator);
    const auto plan = make_strategy(problem);
    const auto session = plan->open(rt);
    const auto products = session->load(plan->prepare(0));
    const Dataset& data = *problem.data;
    const Buffer features(rt, {data.vertices(), data.features->width()}, DType::f32, "features");
    rt.submit(Lane::compute, Load{products->data().features(0), features.tensor()});
    const auto network = make_network(rt, problem.model, problem.train, FirstLayer::recompute,
                                      data.features->width(), data.labels.classes);
    network->attach(*products, features.tensor());
    const Tensor logits = network->forward(features.tensor(), Stage::evaluate, 0, std::nullopt);
    rt.sync(rt.record(Lane::compute));
    const auto matrix = [&](const Tensor& t) {
      Matrix values;
      for (std::int64_t i = 0; i < t.rows(); ++i) {
        const float* row = rt.memory().data<float>(t) + i * t.ld;
        values.emplace_back(row, row + t.cols());
      }
      return values;
    };
    const Parameters& parameters = network->parameters();
    for (int p = 0; p < parameters.count(); ++p)
      taken.parameters[parameters.name_of(p)] = matrix(parameters.weight(p));
    taken.logits = matrix(logits);
  });
  return taken;
}

inline Matrix features_of(const Dataset& data) {
  const std::int64_t width = data.features->width();
  Matrix x;
  for (Vertex v = 0; v < data.vertices(); ++v) {
    std::vector<float> row(at(width));
    data.features->read({&v, 1}, 0, width, row.data(), width);
    x.emplace_back(row.begin(), row.end());
  }
  return x;
}

}  // namespace orrery::testing
